"""How to connect, and what the library's errors say."""

from __future__ import annotations

import importlib.metadata
from contextlib import AbstractContextManager
from urllib.parse import quote, urlencode

from grpc import CallCredentials
from kurrentdbclient import KurrentDBClient
from kurrentdbclient.exceptions import KurrentDBClientError

from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.brokers.kit.refusals import explained_by, words_of
from brokerlab.brokers.kit.wire import credentials
from brokerlab.errors import BrokerError
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
    with refusals(endpoint):
        return KurrentDBClient(f"kurrentdb://{login}{','.join(endpoint.addresses)}?{urlencode(options)}")


def login_of(client: KurrentDBClient, endpoint: Endpoint) -> CallCredentials | None:
    """For calls of the client's services: the client's own methods send again what may have been stored, and wait without
    end for a server that hangs."""
    return client.construct_call_credentials(*credentials(endpoint.security))


def explained(error: Exception, endpoint: Endpoint) -> BrokerError:
    said = f"{type(error).__name__}: {words_of(error)}"
    hint = "is it running, and do TLS, user and password hold?"
    return BrokerError(f"KurrentDB at {', '.join(endpoint.addresses)}: {said}", hint=hint)


def refusals(endpoint: Endpoint) -> AbstractContextManager[None]:
    """Whatever the library raises becomes a BrokerError."""
    return explained_by(lambda e: explained(e, endpoint), KurrentDBClientError, ValueError)
