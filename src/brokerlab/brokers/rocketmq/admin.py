"""Topics and groups on every master, the durability that follows from what the masters report, and their figures."""

from __future__ import annotations

import json
from collections.abc import Mapping

from brokerlab.brokers.contract import ComputedDurability, Reading
from brokerlab.brokers.kit.asking import json_object
from brokerlab.brokers.kit.http_reader import as_text
from brokerlab.brokers.kit.placing import count_at, endpoint_at
from brokerlab.brokers.kit.probing import NodeByNodeProbe, readings_of
from brokerlab.brokers.rocketmq import remoting
from brokerlab.brokers.rocketmq.metrics import BROKER, TOPICS
from brokerlab.brokers.rocketmq.remoting import RemotingLink
from brokerlab.brokers.rocketmq.settings import NUMBERS, READ_BACK, client_settings, durability_of
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.model.watched import fields_of

_READ_AND_WRITE = {"perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}


class RocketAdmin:
    """See brokers.contract.Admin. Connects for each request."""

    def __init__(self, endpoint: Endpoint, cell: CellPlan) -> None:
        self._clients = client_settings(cell.client_settings)
        self._masters = [endpoint_at(endpoint, address) for address in endpoint.addresses]

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:
        for number, master in enumerate(self._masters):
            with RemotingLink.session(master) as link:
                for group in groups:
                    link.call(remoting.CREATE_GROUP, {}, json.dumps({"groupName": group}).encode())
                for name in destinations:
                    if queues := count_at(number, name, partitions, len(self._masters)):
                        size = {"readQueueNums": str(queues), "writeQueueNums": str(queues), "defaultTopic": "TBW102"}
                        link.call(remoting.CREATE_TOPIC, {"topic": name} | size | _READ_AND_WRITE)

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:
        """On the name servers too, which the masters name: they keep the route of a topic that no broker has any more."""
        name_servers: set[str] = set()
        for master in self._masters:
            with RemotingLink.session(master) as link:
                name_servers |= set(filter(None, broker_config(link).get("namesrvAddr", "").split(";")))
                for name in destinations:
                    link.call(remoting.DELETE_TOPIC, {"topic": name})
                for group in groups:
                    link.call(remoting.DELETE_GROUP, {"groupName": group, "cleanOffset": "true"})
        for address in name_servers:
            with RemotingLink.session(endpoint_at(self._masters[0], address)) as link:
                for name in destinations:
                    link.call(remoting.FORGET_TOPIC, {"topic": name})

    def effective_settings(self, destinations: tuple[str, ...]) -> dict[str, dict[str, str]]:
        found = {"clients": self._clients}
        for master in self._masters:
            with RemotingLink.session(master) as link:
                config = broker_config(link)
                broker = config.get("brokerName", master.addresses[0])
                found[f"broker:{broker}"] = {n: config[n] for n in (*READ_BACK, *sorted(NUMBERS)) if n in config}
                for name in destinations:
                    answer = link.call(remoting.TOPIC_CONFIG, {"topic": name}, b"", remoting.NO_TOPIC)
                    if answer.code == remoting.SUCCESS:
                        found[f"topic:{name}@{broker}"] = {n: as_text(v) for n, v in json_object(answer.body).items()}
        return found

    def durability(self, destinations: tuple[str, ...]) -> ComputedDurability:
        """That of the weakest master that has a queue of theirs."""
        settings = self.effective_settings(destinations)
        having = {subject.rpartition("@")[2] for subject in settings if subject.startswith("topic:")}
        if not having:
            raise BrokerError(f"no topic is called {' or '.join(destinations)}", hint="create it first")
        return max((durability_of(settings[f"broker:{name}"]) for name in having), key=lambda found: found.level)

    def close(self) -> None:
        """Nothing stays open between requests."""


def broker_config(link: RemotingLink) -> dict[str, str]:
    """A broker's settings as it runs."""
    lines = link.call(remoting.BROKER_CONFIG, {}).body.decode(errors="replace").splitlines()
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


class RocketProbe(NodeByNodeProbe):
    """A name server only says how many topics it knows."""

    def _of(self, subject: str, urls: Mapping[str, str]) -> list[Reading]:
        with RemotingLink.session(endpoint_at(self._endpoint, urls["remoting"])) as link:
            answer = link.call(remoting.RUNTIME_INFO, {}, b"", remoting.NOT_SUPPORTED)
            if answer.code == remoting.SUCCESS:
                return readings_of(subject, json_object(answer.body).get("table", {}), fields_of(BROKER))
            topics = json_object(link.call(remoting.TOPIC_LIST, {}).body).get("topicList", [])
            return [Reading.of(TOPICS, subject, len(topics))]
