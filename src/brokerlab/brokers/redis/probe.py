"""The servers' own figures, from INFO."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.contract import Reading
from brokerlab.brokers.kit.probing import NodeByNodeProbe, readings_of
from brokerlab.brokers.redis.connection import Connection
from brokerlab.brokers.redis.entries import parse_info
from brokerlab.brokers.redis.metrics import METRICS
from brokerlab.errors import BrokerlabError
from brokerlab.model.watched import fields_of


class RedisProbe(NodeByNodeProbe):
    """See brokers.contract.BrokerProbe. Keeps a connection to each node; a lost one is made again."""

    unanswered = (BrokerlabError,)
    _kept: dict[str, Connection]

    def _of(self, subject: str, urls: Mapping[str, str]) -> list[Reading]:
        if subject not in self._kept:
            self._kept[subject] = Connection(urls["redis"], self._endpoint.security, "brokerlab-probe", 1.0)
        try:
            told = self._kept[subject].call("INFO", "everything", seconds=1.0)
        except (BrokerlabError, OSError):
            self._kept.pop(subject).close()
            raise
        return readings_of(subject, parse_info(told), fields_of(METRICS))

    def __del__(self) -> None:
        for connection in self._kept.values():
            connection.close()
