"""Connecting with pulsar-client, and the names its topics have."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from importlib.metadata import version

import _pulsar  # type: ignore[import-not-found]  # compiled, without types
import pulsar

from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.brokers.pulsar.rest import Rest
from brokerlab.brokers.pulsar.settings import namespace_of
from brokerlab.errors import BrokerError
from brokerlab.model.patience import patience_s
from brokerlab.model.plan import AgentPlan, Durability, Endpoint
from brokerlab.secrets import secret

OPERATION_TIMEOUT_S = 60  # and more where many partitions are opened at once
_PERHAPS_REFUSED = (pulsar.AuthenticationError, pulsar.AuthorizationError, pulsar.ConnectError, pulsar.Timeout)


def path() -> str:
    return f"python (pulsar-client {version('pulsar-client')})"


def connect_for(plan: AgentPlan) -> pulsar.Client:
    """A client of a load process, which opens every partition."""
    return connect(plan.endpoint, int(patience_s(OPERATION_TIMEOUT_S, len(plan.destinations) * plan.partitions)))


def connect(endpoint: Endpoint, operation_timeout_s: int = OPERATION_TIMEOUT_S) -> pulsar.Client:
    """A client; it connects when its first producer or consumer is made. It starts threads: never fork afterwards.

    Raises BrokerError for a login that is refused.
    """
    security = endpoint.security
    if security is not None:
        # The library tries again after a refused login until its time is over, and then says "timeout".
        Rest(endpoint).get("/admin/v2/clusters")
    tls = security is not None and security.tls
    login = None
    if security is not None and security.user is not None and security.password is not None:
        login = pulsar.AuthenticationBasic(security.user, secret(security.password))
    scheme = "pulsar+ssl" if tls else "pulsar"
    return pulsar.Client(
        f"{scheme}://{','.join(endpoint.addresses)}",
        authentication=login,
        operation_timeout_seconds=operation_timeout_s,
        tls_trust_certs_file_path=security.ca_file if security is not None and tls else None,
        tls_validate_hostname=tls,
        # What goes wrong is raised or settled; the library would write to our standard output.
        logger=pulsar.FileLogger(_pulsar.LoggerLevel.Error, os.devnull),
    )


def partition_topic(destination: str, partition: int, level: Durability) -> str:
    """A partition addressed by its own name: what we call partition p is p in Pulsar too."""
    return f"persistent://{namespace_of(level)}/{destination}-partition-{partition}"


def topics_of(plan: AgentPlan) -> list[str]:
    """By cell-wide partition number."""
    return [partition_topic(d, p, plan.durability) for d in plan.destinations for p in range(plan.partitions)]


def explained(what: str, error: Exception) -> BrokerError:
    """A library's exception as an error for people."""
    hint = "check the address, TLS, the user and the password" if isinstance(error, _PERHAPS_REFUSED) else None
    return BrokerError(f"{what}: {type(error).__name__}: {error}", hint=hint)


def close_in_time(client: pulsar.Client, deadline_mono_ns: int) -> None:
    """The library waits for what is open, as long as its timeouts: so it closes in a thread of its own, and is ended at
    the deadline."""
    closing = threading.Thread(target=_quietly, args=(client.close,), daemon=True)
    closing.start()
    closing.join(seconds_until(deadline_mono_ns, 0.1))
    if closing.is_alive():
        _quietly(client.shutdown)


def _quietly(close: Callable[[], None]) -> None:
    with contextlib.suppress(
        pulsar.PulsarException
    ):  # closed already, or no server there: in either case there is nothing left to close
        close()
