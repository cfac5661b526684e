"""Proof that a Pulsar cluster is ready: an acknowledged write with the wanted quorums, and the syncs it caused."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pulsar

from brokerlab.brokers.kit.http_reader import read_text
from brokerlab.brokers.kit.wire import option_list
from brokerlab.brokers.pulsar.admin import PulsarAdmin
from brokerlab.brokers.pulsar.client import connect, partition_topic
from brokerlab.brokers.pulsar.probe import sync_count
from brokerlab.brokers.pulsar.rest import Rest, RestError
from brokerlab.brokers.pulsar.settings import settings_of
from brokerlab.errors import BrokerDiedError, BrokerError
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.processes.process import ServerProcess

READY = "brokerlab-ready"
_ASK_S = 15.0


class Readiness:
    """The stages, in their order; each raises NotReadyError or BrokerDiedError."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan, until: Callable[[str, Callable[[], bool]], None]) -> None:
        """`until` waits for a condition, which is described in words."""
        self._endpoint = endpoint
        self._cell = cell
        self._until = until
        self._web = option_list(endpoint, "web")
        self._bookies = option_list(endpoint, "bookies")

    def metadata(self, setup: ServerProcess) -> None:
        """Until the one-off program that writes the cluster's metadata has done so."""

        def done() -> bool:
            code = setup.exit_code()
            if code:
                raise BrokerDiedError(f"the cluster's metadata could not be written:\n{setup.log_tail(30)}")
            return code == 0

        self._until("the cluster's metadata", done)

    def bookies(self) -> None:
        self._until(
            "every bookie answers",
            lambda: all(read_text(f"{url}/api/v1/bookie/is_ready", _ASK_S) is not None for url in self._bookies),
        )

    def brokers(self) -> None:
        self._until("every broker is healthy", lambda: all(map(self._healthy, self._web)))

    def _healthy(self, address: str) -> bool:
        own = {**self._endpoint.options, "web": address}
        rest = Rest(self._endpoint.model_copy(update={"options": own}), _ASK_S)
        try:
            rest.get("/admin/v2/brokers/health")
            rest.get("/admin/v2/namespaces/public/default")
        except RestError as e:
            if e.status == 401:
                raise  # no time will heal a password
            raise OSError(e.message) from e
        except BrokerError as e:
            raise OSError(e.message) from e
        return True

    def acknowledged_write(self) -> None:
        syncs_wanted = settings_of(self._cell).syncs
        before = self._syncs() if syncs_wanted else 0
        self._until("an acknowledged write with the wanted quorums", self._writes)
        if syncs_wanted:
            self._until("the bookies to count the write's syncs", lambda: self._syncs() > before)

    def _syncs(self) -> int:
        return sum(map(sync_count, self._bookies))

    def _writes(self) -> bool:
        admin = PulsarAdmin(self._endpoint, self._cell)
        client = connect(self._endpoint, int(_ASK_S))
        try:
            with contextlib.suppress(RestError):  # an attempt before this one may have made it
                admin.create((READY,), 1, ())
            topic = partition_topic(READY, 0, self._cell.durability)
            client.create_producer(topic, send_timeout_millis=int(_ASK_S * 1000)).send(b"?")
        except (pulsar.PulsarException, BrokerError) as e:
            raise OSError(f"{type(e).__name__}: {e}") from e
        finally:
            with contextlib.suppress(pulsar.PulsarException):
                client.close()
        admin.delete((READY,), ())
        return True
