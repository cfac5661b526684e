"""What ActiveMQ's management beans tell and do."""

from __future__ import annotations

from collections.abc import Sequence

from brokerlab.brokers.activemq.metrics import BROKER, FIGURES, LAG, OWN, QUEUE
from brokerlab.brokers.activemq.settings import SERVER
from brokerlab.brokers.kit.jolokia import Jolokia, Values, asking_beans, jolokia_probe
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import beans_of
from brokerlab.model.watched_here import JVM

_DESTINATION = "org.apache.activemq:brokerName=*,destinationName={},destinationType={},type=Broker"
# ActiveMQ has no bean that tells how KahaDB is set: broker.xml exports the store itself under this name.
STORE = "brokerlab:type=KahaDB"
_STORE = f"{STORE},*"
_OF_BROKER = ("BrokerName", "BrokerVersion", "Persistent", "MemoryLimit", "StoreLimit", "TempLimit")
_OF_STORE = tuple(name[0].upper() + name[1:] for name in SERVER)
_OF_QUEUE = ("Name", "QueueSize", "MemoryLimit", "ProducerFlowControl", "UseCache", "MaxPageSize")
_REMOVALS = {"Queue": "removeQueue", "Topic": "removeTopic"}
# What the agent in one of our servers permits; nothing else.
READABLE = {
    **beans_of(JVM.values()),
    BROKER: (*_OF_BROKER, *beans_of(OWN)[BROKER]),
    _STORE: _OF_STORE,
    # One entry for each kind: of two that fit a bean only one counts.
    QUEUE: tuple(dict.fromkeys((*_OF_QUEUE, *beans_of(LAG)[QUEUE]))),
    _DESTINATION.format("*", "Topic"): _OF_QUEUE,
}
CALLABLE = {BROKER: tuple(_REMOVALS.values())}


probe = jolokia_probe(FIGURES)


class Beans:
    """Of the broker that has this endpoint. What is asked raises BrokerError where no answer comes, and finds nothing
    where the endpoint names no Jolokia."""

    def __init__(self, endpoint: Endpoint) -> None:
        url = endpoint.options.get("jolokia")
        self._jolokia = None if url is None else Jolokia(url, endpoint.security)
        self.known = url is not None

    def _read(self, pattern: str, attributes: Sequence[str]) -> dict[str, Values]:
        if self._jolokia is None:
            return {}
        with asking_beans("ActiveMQ"):
            return self._jolokia.read(pattern, attributes)

    def broker(self) -> Values:
        return next(iter(self._read(BROKER, _OF_BROKER).values()), {})

    def store(self) -> Values:
        """Nothing for a broker that a user has configured: it does not export its store."""
        return next(iter(self._read(_STORE, _OF_STORE).values()), {})

    def of(self, destination: str, kind: str = "Queue") -> dict[str, Values]:
        """A destination's queues, or topics, by their names."""
        found = self._read(_DESTINATION.format(f"*VirtualTopic.{destination}.*", kind), _OF_QUEUE)
        return {d["Name"]: d for d in found.values() if _belongs(d["Name"], destination)}

    def waiting(self, group: str, queues: Sequence[str]) -> int | None:
        """Messages in these queues that no consumer has acknowledged; None where the broker does not report all of them."""
        found = self._read(_DESTINATION.format(f"Consumer.{group}.*", "Queue"), ("Name", "QueueSize"))
        sizes = {d["Name"]: int(d["QueueSize"]) for d in found.values()}
        return sum(sizes[q] for q in queues) if sizes.keys() >= set(queues) else None

    def remove(self, destination: str) -> None:
        """A destination's queues and topics, whatever is in them."""
        if self._jolokia is None:
            hint = "give --endpoint activemq.jolokia=..., or delete its queues in the web console"
            raise BrokerError(f"{destination} cannot be deleted over STOMP", hint=hint)
        (broker,) = self._read(BROKER, _OF_BROKER)
        for kind, removal in _REMOVALS.items():
            for name in self.of(destination, kind):
                with asking_beans("ActiveMQ"):
                    self._jolokia.call(broker, removal, name)


def _belongs(name: str, destination: str) -> bool:
    """Whether a queue or topic is one of this destination's partitions."""
    before, _, rest = name.partition("VirtualTopic.")
    return (before == "" or before.startswith("Consumer.")) and rest.rpartition(".")[0] == destination
