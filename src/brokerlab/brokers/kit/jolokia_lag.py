"""Destinations and groups that management beans tell, through the Jolokia of every node."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit.http_reader import MISREAD
from brokerlab.brokers.kit.jolokia import Jolokia, Values, requests_for
from brokerlab.brokers.kit.lag import MOST_DESTINATIONS, beyond_most
from brokerlab.brokers.kit.wire import option_list
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import WatchedMetric

_TIMEOUT_S = 2.0
_KEY = re.compile(r'([^,=:]+)=("(?:[^"\\]|\\.)*"|[^,]*)')
_ESCAPED = re.compile(r"\\(.)")


def keys_of(bean: str) -> dict[str, str]:
    """The keys in a bean's name, without the quotes that Java puts around some."""
    return {key: _unquoted(value) for key, value in _KEY.findall(bean.partition(":")[2])}


def _unquoted(value: str) -> str:
    return _ESCAPED.sub(r"\1", value[1:-1]) if value.startswith('"') else value


class BeansLag(ABC):
    """See brokers.contract.WatchedByEndpoint. `rows` say which beans are read. A node that does not answer costs what it has;
    without the address of a Jolokia nothing is known."""

    rows: ClassVar[tuple[WatchedMetric, ...]]

    def __init__(self, endpoint: Endpoint, nodes: tuple[NodeInfo, ...], name: str) -> None:  # noqa: ARG002 - the endpoint says where
        self._name = name
        self._nodes = [(url, Jolokia(url, endpoint.security, _TIMEOUT_S)) for url in option_list(endpoint, "jolokia")]
        self._requests = requests_for(self.rows)
        self._missing: dict[str, str] = {}

    @abstractmethod
    def _of(self, beans: Mapping[str, Mapping[str, Values]]) -> dict[str, list[Reading]]:
        """Readings by destination; `beans` has the values of every bean, by pattern and the bean's name."""

    def missing(self) -> dict[str, str]:
        """What the last reading lacks, and why."""
        return self._missing

    def read(self) -> list[Reading]:
        found: dict[str, list[Reading]] = {}
        silent = {}
        for url, jolokia in self._nodes:
            try:
                found |= self._of(self._beans(jolokia))
            except (OSError, *MISREAD) as error:
                silent[f"destinations at {url}"] = str(error)
        if silent and len(silent) == len(self._nodes):
            raise BrokerError("; ".join(silent.values()))
        self._missing = silent | (beyond_most("destinations") if len(found) > MOST_DESTINATIONS else {})
        return [reading for name in sorted(found)[:MOST_DESTINATIONS] for reading in found[name]]

    def _beans(self, jolokia: Jolokia) -> dict[str, Mapping[str, Any]]:
        """By pattern. No such bean is no error: there is no destination, or this node is a backup."""
        found = {}
        for request, answer in zip(self._requests, jolokia.ask(self._requests), strict=True):
            if answer.get("status") not in (200, 404):
                raise OSError(str(answer.get("error")))
            # Answers have the keys of a pattern in an order of their own.
            found[str(request["mbean"])] = answer["value"] if answer["status"] == 200 else {}
        return found
