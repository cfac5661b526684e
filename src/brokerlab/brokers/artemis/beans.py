"""What Artemis' management beans tell and do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from brokerlab.brokers.artemis.metrics import ADDRESS, BROKER, FIGURES, LAG, OWN, QUEUE
from brokerlab.brokers.artemis.settings import DATASYNC, KIND, SYNC, QueueName
from brokerlab.brokers.kit.jolokia import Jolokia, Values, asking_beans, jolokia_probe
from brokerlab.brokers.kit.names import belongs
from brokerlab.brokers.kit.spread import parts_of, shared_out
from brokerlab.brokers.kit.wire import option_list
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import beans_of
from brokerlab.model.watched_here import JVM

_RUNTIME = "java.lang:type=Runtime"
_OF_BROKER = (
    *("Name", "Version", "Active", "HAPolicy", "ReplicaSync", "PersistenceEnabled", "SecurityEnabled", "GlobalMaxSize"),
    *("JournalType", "JournalSyncNonTransactional", "JournalBufferTimeout", "JournalBufferSize", "JournalFileSize"),
    *("JournalMinFiles", "JournalPoolFiles", "JournalMaxIO", "MaxDiskUsage"),
)
_OF_QUEUE = ("Name", "Address", "MessageCount", "RoutingType", "Durable", "MaxConsumers")
_CREATE = "createQueue(java.lang.String,boolean)"
_DELETE = "deleteAddress(java.lang.String,boolean)"
# Artemis reports nowhere whether its journal fsyncs. As an option of Java's, from which Artemis takes it, the JVM reports it.
DATASYNC_OPTION = "-Dbrokerconfig.journalDatasync="
# What the agent in one of our servers permits; nothing else.
READABLE = {
    **beans_of(JVM.values()),
    _RUNTIME: ("InputArguments",),
    BROKER: (*_OF_BROKER, *beans_of(OWN)[BROKER]),
    ADDRESS: ("Address", *beans_of(LAG)[ADDRESS]),
    QUEUE: _OF_QUEUE,
}
CALLABLE = {BROKER: (_CREATE, _DELETE)}


probe = jolokia_probe(FIGURES)


def pairs_of(endpoint: Endpoint) -> list[Endpoint]:
    """A pair is one server, or a primary with its backup."""
    return parts_of(endpoint, "pairs", "jolokia")


def by_pair(endpoint: Endpoint, names: Sequence[QueueName]) -> list[tuple[Endpoint, list[QueueName]]]:
    """The pairs that have some of these queues, and which."""
    return shared_out(names, pairs_of(endpoint), QueueName.pair)


@dataclass(frozen=True)
class Active:
    """The node of a pair that serves clients: its beans, and what that of the broker says."""

    jolokia: Jolokia
    bean: str
    values: Values
    replicated: bool  # it and its backup both say that the backup has everything

    def journal(self) -> dict[str, str]:
        """How the journal really runs: where libaio is missing ASYNCIO has become NIO, and this tells it."""
        with asking_beans("Artemis"):
            (runtime,) = self.jolokia.read(f"{_RUNTIME},*", ("InputArguments",)).values()
        given = [option for option in runtime["InputArguments"] if option.startswith(DATASYNC_OPTION)]
        sync = self.values["JournalSyncNonTransactional"] and self.values["PersistenceEnabled"]
        return {
            KIND: str(self.values["JournalType"]),
            DATASYNC: given[-1].removeprefix(DATASYNC_OPTION) if given else "unknown; counted as false",
            SYNC: "true" if sync else "false",
        }


class Beans:
    """Of one pair. Every method raises BrokerError where no good answer comes."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._nodes = [Jolokia(url, endpoint.security) for url in option_list(endpoint, "jolokia")]

    def active(self) -> Active:
        said, found, copies, denied = [], [], 0, False
        for jolokia in self._nodes:
            try:
                for bean, values in jolokia.read(BROKER, _OF_BROKER).items():
                    copies += bool(values.get("ReplicaSync"))
                    found += [(jolokia, bean, values)] if values.get("Active") else []
            except OSError as e:
                denied |= isinstance(e, PermissionError)
                said.append(str(e))
        if len(found) == 1:
            return Active(*found[0], replicated=copies > 1)
        hint = "check user and password" if denied else "is it running, and is --endpoint artemis.jolokia right?"
        raise BrokerError(f"{len(found)} nodes say that they are active {'; '.join(said)}".rstrip(), hint=hint)

    def make(self, names: Sequence[QueueName]) -> None:
        """Queues with their addresses; those that exist are no error."""
        kind = {"routing-type": "MULTICAST", "durable": True, "auto-create-address": True}
        self._call(_CREATE, [json.dumps({"name": n.queue, "address": n.address, **kind}) for n in names])

    def remove(self, destination: str) -> None:
        """A destination's addresses with their queues, whatever is in them."""
        self._call(_DELETE, self.addresses(destination))

    def _call(self, operation: str, given: Sequence[str]) -> None:
        """`True`: also where the queue exists, or the address has queues."""
        active = self.active()
        with asking_beans("Artemis"):
            active.jolokia.call_each(active.bean, operation, [(one, True) for one in given])

    def addresses(self, destination: str) -> list[str]:
        found = [bean["Address"] for bean in self._read(ADDRESS, ("Address",))]
        return [address for address in found if belongs(address, destination)]

    def queues(self, destination: str) -> list[Values]:
        found = self._read(QUEUE.replace("address=*", f'address="{destination}.*"'), _OF_QUEUE)
        return [queue for queue in found if belongs(queue["Address"], destination)]

    def waiting(self, names: Sequence[QueueName]) -> int | None:
        """Messages in these queues of one group that no consumer has acknowledged; None where it does not tell all."""
        found = self._read(QUEUE.replace("queue=*", f'queue="{names[0].group}.*"'), _OF_QUEUE)
        counts = {queue["Name"]: int(queue["MessageCount"]) for queue in found}
        wanted = [name.queue for name in names]
        return sum(counts[queue] for queue in wanted) if counts.keys() >= set(wanted) else None

    def _read(self, pattern: str, attributes: Sequence[str]) -> list[Values]:
        jolokia = self.active().jolokia
        with asking_beans("Artemis"):
            return list(jolokia.read(pattern, attributes).values())
