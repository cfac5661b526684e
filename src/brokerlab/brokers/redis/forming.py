"""Making a cluster of 3 x (1 + n) from nodes that do not know each other yet."""

from __future__ import annotations

from collections.abc import Sequence

from brokerlab.brokers.redis.connection import Connection, ServerError
from brokerlab.brokers.redis.entries import parse_info
from brokerlab.brokers.redis.keys import SLOTS
from brokerlab.brokers.redis.names import MASTERS


class Forming:
    """The first three nodes become masters with a third of the slots each; the others follow them in turn.

    `step` is called until it says that the cluster is complete. Each stage is entered when all nodes are past the one
    before, because gossip takes its time.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._met = self._following = False

    def step(self, connections: list[Connection], bus_ports: Sequence[int]) -> bool:
        """Closes the connections. Raises OSError for "not yet"."""
        try:
            return self._step(connections, bus_ports)
        except ServerError as e:
            raise OSError(e.message) from e
        finally:
            for connection in connections:
                connection.close()

    def _step(self, connections: list[Connection], bus_ports: Sequence[int]) -> bool:
        if not self._met:
            self._give_slots(connections[:MASTERS])
            for connection, bus_port in zip(connections[1:], bus_ports[1:], strict=True):
                host, _, port = connection.address.rpartition(":")
                connections[0].call("CLUSTER", "MEET", host, port, bus_port)
            self._met = True
        told = [_info(connection) for connection in connections]
        if any(int(info["cluster_known_nodes"]) < self._nodes for info in told):
            return False
        if not self._following:
            self._follow(connections)
            self._following = True
        return all(
            info["cluster_state"] == "ok"
            and int(info["cluster_slots_ok"]) == SLOTS
            and _masters_known(connection) == MASTERS
            for info, connection in zip(told, connections, strict=True)
        )

    def _give_slots(self, masters: list[Connection]) -> None:
        for i, connection in enumerate(masters):
            first, last = i * SLOTS // MASTERS, (i + 1) * SLOTS // MASTERS - 1
            connection.call("CLUSTER", "ADDSLOTSRANGE", first, last)
            # Different epochs from the start: otherwise masters first have to argue about them.
            connection.call("CLUSTER", "SET-CONFIG-EPOCH", i + 1)

    def _follow(self, connections: list[Connection]) -> None:
        names = [connection.call("CLUSTER", "MYID") for connection in connections[:MASTERS]]
        for i, connection in enumerate(connections[MASTERS:]):
            master = names[i % MASTERS]
            assert isinstance(master, bytes)
            connection.call("CLUSTER", "REPLICATE", master)


def _info(connection: Connection) -> dict[str, str]:
    return parse_info(connection.call("CLUSTER", "INFO"))


def _masters_known(connection: Connection) -> int:
    """How many masters this node believes there are: each follower counts as one until the news has spread."""
    told = connection.call("CLUSTER", "NODES")
    assert isinstance(told, bytes)
    return sum("master" in line.split()[2].split(",") for line in told.decode().splitlines())
