"""For brokers that only users run: a server in a test stands where a cluster of ours would, and every test of the suite
that needs no more than drivers and an admin is run on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import test_contract
import test_contract_wire

from brokerlab.brokers.contract import NodeInfo
from brokerlab.model.plan import Endpoint

# Nodes are known only to clusters of ours; settings of servers are not ours to give.
_NEEDS_NODES = ("test_the_probe_reads_figures_of_every_node",)
_WIRED = (
    "test_a_cut_wire_makes_open_messages_unknown_and_all_goes_on_when_it_is_healed",
    "test_a_stalled_wire_hangs_nothing_and_gives_everything_when_it_moves_again",
)


def contract_checks() -> list[Callable[[Any], None]]:
    named = {n: f for n, f in vars(test_contract).items() if n.startswith("test_") and n not in _NEEDS_NODES}
    return list(named.values())


def wire_checks() -> list[Callable[[Any], None]]:
    return [getattr(test_contract_wire, name) for name in _WIRED]


class EndpointCluster:
    """Of a cluster, what tests of drivers ask for."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def endpoint(self) -> Endpoint:
        return self._endpoint

    def nodes(self) -> tuple[NodeInfo, ...]:
        return ()
