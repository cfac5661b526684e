"""What topics take in and how far groups are behind, from the masters' offsets: one question for the positions of all groups,
and one for the end of each queue, all sent together."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.asking import json_object, number_in
from brokerlab.brokers.kit.http_reader import MISREAD
from brokerlab.brokers.kit.lag import Listing, destination_readings, lag_reading
from brokerlab.brokers.kit.placing import endpoint_at
from brokerlab.brokers.rocketmq import remoting
from brokerlab.brokers.rocketmq.admin import broker_config
from brokerlab.brokers.rocketmq.remoting import RemotingLink
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

_TIMEOUT_S = 2.0
# Topics of RocketMQ itself; a broker and its cluster have one of their own name each besides.
_OWN = re.compile(
    r"%RETRY%.*|%DLQ%.*|rmq_sys_.*|TBW102|SCHEDULE_TOPIC_XXXX|SELF_TEST_TOPIC|OFFSET_MOVED_EVENT|BenchmarkTest", re.I
)
_BARE_KEY = re.compile(rb"([{,])(\d+):")  # keys of the table of positions may be bare numbers, which is no JSON
Queue = tuple[str, int]  # topic, number at one master


class RocketLag:
    """See brokers.contract.WatchedByEndpoint. Addresses are those of masters; their queues are numbered one master after the
    other. One that does not answer costs its own queues, and while it is silent what topics take in."""

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...], name: str) -> None:  # noqa: ARG002 - masters are asked
        self._name = name
        self._masters = [Master(endpoint_at(endpoint, address)) for address in endpoint.addresses]
        self._missing: dict[str, str] = {}

    def missing(self) -> dict[str, str]:
        """What the last reading lacks, and why."""
        return self._missing

    def read(self) -> list[Reading]:
        self._missing = {}
        silent = {}
        for master in self._masters:
            try:
                master.read()
            except (BrokerError, OSError, *MISREAD) as error:
                silent[f"queues at {master.address}"] = str(error)
            self._missing |= master.topics.missing()
        if len(silent) == len(self._masters):
            raise BrokerError("; ".join(silent.values()))
        self._missing |= silent
        return [*self._lags(), *([] if silent else self._destinations())]

    def _destinations(self) -> Iterator[Reading]:
        taken_in: dict[str, int] = defaultdict(int)
        for master in self._masters:
            for (topic, _), end in master.ends.items():
                taken_in[topic] += end
        for topic, count in taken_in.items():
            yield from destination_readings(self._name, topic, taken_in=count)

    def _lags(self) -> Iterator[Reading]:
        before: dict[str, int] = defaultdict(int)  # queues of a topic at the masters before
        for master in self._masters:
            for (group, topic, number), position in master.positions.items():
                if (topic, number) in master.ends:
                    behind = master.ends[topic, number] - position
                    yield lag_reading(self._name, group, topic, behind, before[topic] + number)
            for topic, queues in master.queues.items():
                before[topic] += queues


class Master:
    """What one master told the last time; nothing where it did not answer then."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        (self.address,) = endpoint.addresses
        self.topics = Listing(self._list, "topics")
        self.queues: dict[str, int] = {}  # of each topic
        self.ends: dict[Queue, int] = {}
        self.positions: dict[tuple[str, str, int], int] = {}  # by group, topic and number

    def read(self) -> None:
        """Raises BrokerError, OSError, and what MISREAD names."""
        self.ends, self.positions = {}, {}
        self.queues = dict(self.topics.now())
        with RemotingLink.session(self._endpoint) as link:
            positions = _positions(link.call(remoting.ALL_POSITIONS, {}, seconds=_TIMEOUT_S).body)
            queues = [(topic, number) for topic, count in self.queues.items() for number in range(count)]
            asked = [{"topic": topic, "queueId": str(number)} for topic, number in queues]
            for queue, answer in zip(queues, link.call_each(remoting.MAX_OFFSET, asked, _TIMEOUT_S), strict=True):
                if answer.code == remoting.SUCCESS:
                    self.ends[queue] = number_in(answer.fields, "offset")
                else:  # deleted meanwhile
                    self.topics.forget()
        self.positions = positions

    def _list(self) -> list[tuple[str, int]]:
        with RemotingLink.session(self._endpoint) as link:
            told = json_object(link.call(remoting.ALL_TOPICS, {}, seconds=_TIMEOUT_S).body)["topicConfigTable"]
            settings = broker_config(link)
        own = {settings.get("brokerName"), settings.get("brokerClusterName")}
        topics = [name for name in sorted(told) if name not in own and not _OWN.fullmatch(name)]
        return [(name, int(told[name]["readQueueNums"])) for name in topics]


def _positions(body: bytes) -> dict[tuple[str, str, int], int]:
    table = json.loads(_BARE_KEY.sub(rb'\1"\2":', body))["offsetTable"]
    found = {}
    for key, queues in table.items():
        topic, _, group = key.partition("@")
        for number, position in queues.items():
            found[group, topic, int(number)] = int(position)
    return found
