"""A node ends from one instant to the next, as with `kill -9`. It stays dead for the rest of the execution, or its process
is started again after a while, on what it had written."""

from __future__ import annotations

from brokerlab.brokers.contract import CanLoseANode, CanRestartANode, Cluster
from brokerlab.errors import BrokerError, UserError
from brokerlab.faults.fault import Aim
from brokerlab.model.plan import KillPlan

LEADER, FOLLOWER = "leader", "follower"


class KillNode:
    """See faults.fault.Fault."""

    def __init__(self, plan: KillPlan, cluster: Cluster, dead: set[str]) -> None:
        """`dead` is shared by all faults of an execution: a node is in it from the moment before it is killed until its
        process has been started again."""
        if not isinstance(cluster, CanLoseANode):
            raise UserError(
                "this cluster cannot lose a node on purpose", hint="leave `faults` out, or choose another broker"
            )
        if plan.restart_after_s is not None and not isinstance(cluster, CanRestartANode):
            raise UserError("this cluster cannot start a killed node again", hint="leave `restart_after` out")
        self.lasts_s: float | None = plan.restart_after_s
        self._cluster = cluster
        self._names: tuple[str, ...] = tuple(node.name for node in cluster.nodes())
        self._target = plan.target
        self._dead = dead

    def check(self) -> None:
        if len(self._names) == 1 and self.lasts_s is None:
            raise UserError("faults: this cluster cannot lose its only node for good", hint="set `restart_after`")
        if self._target not in (LEADER, FOLLOWER, *self._names):
            raise UserError(
                f"faults: there is no node {self._target!r} to kill",
                hint=f"nodes of this cluster: {', '.join(self._names)}; or use {LEADER} or {FOLLOWER}",
            )

    def aim(self, destination: str) -> Aim:
        leader = self._cluster.leading_node(destination)
        if self._target == LEADER:
            return Aim(leader, leader)
        if self._target == FOLLOWER:
            followers = [name for name in self._names if name != leader and name not in self._dead]
            if not followers:
                raise BrokerError("no follower is left to kill")
            return Aim(followers[0], leader)
        return Aim(self._target, leader)

    def begin(self, aim: Aim) -> None:
        self._dead.add(aim.node)  # first: the watch over the nodes must never take this for an accident
        self._cluster.kill_node(aim.node)

    def end(self, aim: Aim) -> None:
        assert isinstance(self._cluster, CanRestartANode)
        self._cluster.restart_node(aim.node)
        self._dead.discard(aim.node)  # last: until its process runs, the watch over the nodes would see the killed one

    def took_over(self, aim: Aim, destination: str) -> str | None:
        try:
            leader = self._cluster.leading_node(destination)
        except Exception:
            # While nodes elect, a client library may fail in any way it likes: every failure means "no leader yet".
            return None
        return None if leader == aim.node or leader in self._dead else leader
