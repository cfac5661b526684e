"""Publishing: XADD commands of whole blocks, pipelined to the node that takes them; WAIT or WAITAOF behind them."""

from __future__ import annotations

import time
from collections import deque

import hiredis
import numpy as np

from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.brokers.kit.settling import Settling
from brokerlab.brokers.kit.wire import wait_any
from brokerlab.brokers.redis.connection import PATH, Connection, pack
from brokerlab.brokers.redis.keys import find_placement, keys_of
from brokerlab.brokers.redis.names import is_clustered
from brokerlab.brokers.redis.outcomes import confirmed, outcome_of_error
from brokerlab.brokers.redis.settings import Waiting, client_number, waiting_of
from brokerlab.brokers.redis.wire import Commands
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN, Block, Int64s, Settlements
from brokerlab.model.plan import AgentPlan

RECONNECT_EVERY_NS = 250_000_000
RECONNECT_S = 1.0
_MOVED = ("MOVED", "ASK", "CLUSTERDOWN", "READONLY")
_NO_INDICES = np.empty(0, np.int64)


class Lane:
    """One connection to one master, and the messages on their way to it.

    At most one WAIT is open: it covers everything written before it, and the next one follows when it was answered.
    """

    def __init__(self, connection: Connection, waiting: Waiting, settled: Settling) -> None:
        self.connection = connection
        self._settled = settled
        self._replicas = waiting.replicas
        self._wait = pack(*waiting.command_words) if waiting.command_words else b""
        self._open: deque[Int64s | None] = deque()  # indices whose replies are due, in order; None: a WAIT's reply
        self._taken = 0  # replies that have come for the first of `_open`
        self._stored: list[Int64s] = []  # stored on the master, covered by no answered WAIT
        self._sent_since_wait = self._wait_open = False
        self.moved = False  # an answer said that another server has this now

    def send(self, commands: bytes, indices: Int64s) -> None:
        """Raises OSError; the messages are on their way even then."""
        self._open.append(indices)
        self._sent_since_wait = True
        self.connection.write(commands)
        self._ask_to_wait()

    def _ask_to_wait(self) -> None:
        if self._wait and self._sent_since_wait and not self._wait_open:
            self._wait_open, self._sent_since_wait = True, False
            self._open.append(None)
            self.connection.write(self._wait)

    def step(self) -> None:
        """Take what has been answered. Raises OSError."""
        self.connection.flush()
        replies = self.connection.replies()
        at = 0
        while at < len(replies):
            first = self._open[0]
            if first is None:
                self._open.popleft()
                self._on_wait(replies[at])
                at += 1
                continue
            some = replies[at : at + len(first) - self._taken]
            self._on_stored(first[self._taken : self._taken + len(some)], some)
            at += len(some)
            self._taken += len(some)
            if self._taken == len(first):
                self._open.popleft()
                self._taken = 0

    def _on_stored(self, indices: Int64s, replies: list[object]) -> None:
        # Errors can stand anywhere among the replies, so each one is looked at.
        wrong = [i for i, reply in enumerate(replies) if type(reply) is not bytes]
        for i in wrong:
            reply = replies[i]
            if isinstance(reply, hiredis.ReplyError):
                outcome, kind = outcome_of_error(reply)
                self.moved |= kind in _MOVED
            else:
                outcome, kind = UNKNOWN, "unreadable answer"
            self._settled.add(indices[i : i + 1], outcome, kind)
        good = np.delete(indices, wrong) if wrong else indices
        if self._wait:
            self._stored.append(good)
        else:
            self._settled.add(good, ACKNOWLEDGED)

    def _on_wait(self, reply: object) -> None:
        """Replies come in order, so everything in `_stored` was written before this WAIT."""
        stored = np.concatenate(self._stored) if self._stored else _NO_INDICES
        good, said = confirmed(reply, self._replicas)
        self._settled.add(stored, ACKNOWLEDGED if good else UNKNOWN, None if good else said)
        self._stored, self._wait_open = [], False
        self._ask_to_wait()

    def lose(self) -> None:
        """The connection is gone: whatever is open is unknown."""
        self.connection.close()
        rest = [i for i in self._open if i is not None]
        if rest and self._taken:
            rest[0] = rest[0][self._taken :]
        for indices in (*self._stored, *rest):
            self._settled.add(indices, UNKNOWN, "connection lost")


class RedisProducer:
    """See brokers.contract.Producer. A lost connection is made again when the next block is sent."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        self._endpoint, self._clustered = plan.endpoint, is_clustered(plan.broker)
        self._name = f"{plan.agent}-{number}"
        self._waiting = waiting_of(plan.durability, plan.client_settings)
        self._pending_bytes = client_number(plan.client_settings, "pending_bytes")
        self._keys = keys_of(plan.destinations, plan.partitions)
        self._commands = Commands(self._keys)
        self._settled = Settling()
        self._lanes: dict[str, Lane] = {}
        self._owner = np.zeros(len(self._keys), np.int64)  # of each partition: its place in `_masters`
        self._masters: list[str] = []
        self._placed = False
        self._next_attempt_ns = 0
        self._place(10.0)

    def _place(self, connect_s: float) -> None:
        """Learn who takes writes and connect to all of them. Raises BrokerError."""
        placement = find_placement(self._endpoint, self._clustered, connect_s)
        addresses = [placement.address_of(key) for key in self._keys]
        self._masters = list(dict.fromkeys(addresses))
        self._owner = np.array([self._masters.index(a) for a in addresses], np.int64)
        for address in self._masters:
            if address not in self._lanes:
                connection = Connection(address, self._endpoint.security, self._name, connect_s)
                self._lanes[address] = Lane(connection, self._waiting, self._settled)
        self._placed = True

    def send(self, block: Block) -> int:
        if len(block) == 0 or not self._usable():
            return 0
        room = self._pending_bytes - sum(lane.connection.unsent_bytes for lane in self._lanes.values())
        if room <= 0:
            return 0
        places = np.arange(min(block.fitting(room), len(block)), dtype=np.int64)
        owners = self._owner[block.partitions[: len(places)]]
        for number, address in enumerate(self._masters):
            chosen = places if len(self._masters) == 1 else places[owners == number]
            if len(chosen):
                self._send(address, self._commands.of(block, chosen), chosen + block.first_index)
        return len(places)

    def _send(self, address: str, commands: bytes, indices: Int64s) -> None:
        lane = self._lanes.get(address)
        if lane is None:  # lost while an earlier part of the same block was sent
            self._settled.add(indices, UNKNOWN, "connection lost")
            return
        try:
            lane.send(commands, indices)
        except OSError:
            self._lose(address)

    def settled(self) -> Settlements:
        for address, lane in list(self._lanes.items()):
            try:
                lane.step()
            except (OSError, hiredis.HiredisError):
                self._lose(address)
            else:
                if lane.moved:
                    lane.moved = self._placed = False
        return self._settled.take()

    def watched(self) -> list[tuple[int, bool]]:
        return [lane.connection.watched() for lane in self._lanes.values()]

    def _usable(self) -> bool:
        """Whether every master is connected; tries again now and then when one is not."""
        if self._placed:
            return True
        now_ns = time.monotonic_ns()
        if now_ns < self._next_attempt_ns:
            return False
        self._next_attempt_ns = now_ns + RECONNECT_EVERY_NS
        try:
            self._place(RECONNECT_S)
        except BrokerError:
            return False
        return True

    def _lose(self, address: str) -> None:
        self._lanes.pop(address).lose()
        self._placed = False
        self._next_attempt_ns = time.monotonic_ns() + RECONNECT_EVERY_NS

    def close(self, deadline_mono_ns: int) -> None:
        """Write what is buffered, then disconnect."""
        while time.monotonic_ns() < deadline_mono_ns:
            unsent = [lane.connection for lane in self._lanes.values() if lane.connection.unsent_bytes]
            if not unsent:
                break
            wait_any(unsent, seconds_until(deadline_mono_ns))
            self.settled()
        for lane in self._lanes.values():
            lane.connection.close()
        self._lanes.clear()
