"""How to connect, and what the library's errors say."""

from __future__ import annotations

import importlib.metadata
from urllib.parse import quote, urlencode

from grpc import CallCredentials
from kurrentdbclient import KurrentDBClient
from kurrentdbclient.exceptions import KurrentDBClientError

from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.brokers.kit.refusals import Refusals
from brokerlab.brokers.kit.wire import credentials
from brokerlab.model.plan import Endpoint

PATH = f"python (kurrentdbclient {importlib.metadata.version('kurrentdbclient')})"
_DISCOVERIES = 5

# The exceptions of kurrentdbclient.
ERRORS = OutcomeTable(
    rejected="""AccessDeniedError BadRequestError InvalidArgumentError MaximumAppendSizeExceededError
        RecordMaxSizeExceededError StreamIsDeletedError StreamTombstonedError TransactionMaxSizeExceededError
        UnauthenticatedError WrongCurrentVersionError""",
    unknown="""AbortedByServerError AppendDeadlineExceededError CancelledByClientError CancelledError
        DeadlineExceededError DiscoveryFailedError ExceptionIteratingRequestsError ExceptionThrownByHandlerError
        FailedPreconditionError GrpcDeadlineExceededError GrpcError InternalError InvalidTransactionError
        KurrentDBClientError LeaderNotFoundError NodeIsNotLeaderError NotFoundError OperationFailedError ProgrammingError
        ServiceUnavailableError SSLError UnknownError""",
    elsewhere="""AlreadyExistsError ConsistencyChecksFailedError ConsumerTooSlowError FollowerNotFoundError
        InvalidCommitPositionError MaximumSubscriptionsReachedError MultiAppendToSameStreamError
        ReadOnlyReplicaNotFoundError SubscriptionConfirmationError""",
)
_HINT = "is it running, and do TLS, user and password hold?"
REFUSALS = Refusals("KurrentDB", (KurrentDBClientError, ValueError), _HINT, tell_kind=True)


def stream_of(destination: str, partition: int) -> str:
    return f"{destination}-{partition}"


def connect(endpoint: Endpoint, name: str) -> KurrentDBClient:
    """One address: that node. Several: the leader among them. Raises BrokerError."""
    security = endpoint.security
    options = {"ConnectionName": name, "MaxDiscoverAttempts": str(_DISCOVERIES)}
    options["Tls"] = "true" if security is not None and security.tls else "false"
    if security is not None and security.tls and security.ca_file:
        options["TlsCaFile"] = security.ca_file
    user, password = (quote(word, safe="") for word in credentials(security))
    login = f"{user}:{password}@" if user else ""
    with REFUSALS.at(endpoint):
        return KurrentDBClient(f"kurrentdb://{login}{','.join(endpoint.addresses)}?{urlencode(options)}")


def login_of(client: KurrentDBClient, endpoint: Endpoint) -> CallCredentials | None:
    """For calls of the client's services: the client's own methods send again what may have been stored, and wait without
    end for a server that hangs."""
    return client.construct_call_credentials(*credentials(endpoint.security))
