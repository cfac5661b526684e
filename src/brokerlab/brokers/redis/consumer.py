"""Receiving: XREADGROUP kept open on reading connections; XACK, XAUTOCLAIM and questions on a control connection of
each node, because a connection that waits in XREADGROUP executes nothing else."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from typing import Any

import hiredis

from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.brokers.kit.wire import wait_any
from brokerlab.brokers.redis.connection import PATH, Connection, ServerError, readable
from brokerlab.brokers.redis.control import Control
from brokerlab.brokers.redis.entries import Chunk, deliveries_of, pairs
from brokerlab.brokers.redis.keys import find_placement, keys_of
from brokerlab.brokers.redis.names import is_clustered
from brokerlab.brokers.redis.reading import Membership, Reading
from brokerlab.brokers.redis.settings import client_number
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, no_deliveries
from brokerlab.model.plan import AgentPlan

RECONNECT_EVERY_S = 0.25
RECONNECT_S = 1.0
GIVEN_BACK_IDLE_MS = 86_400_000  # so long idle that any consumer of the group may claim it at once
ENOUGH_CHUNKS = 64  # read and not yet handed out: more stays with the server
_IDS_AT_ONCE = 1000
_HEALS = ("MOVED", "ASK", "UNBLOCKED", "LOADING", "CLUSTERDOWN", "READONLY", "MASTERDOWN", "TRYAGAIN")


class RedisConsumer:
    """See brokers.contract.Consumer. After a lost connection what is pending for this consumer is read again."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.consumers is not None
        assert plan.group is not None
        self._endpoint, self._clustered = plan.endpoint, is_clustered(plan.broker)
        self._name = f"{plan.agent}-{number}"
        self._keys = keys_of(plan.destinations, plan.partitions)
        self._member = Membership(
            group=plan.group,
            consumer=f"consumer-{number}",
            automatic=plan.consumers.acknowledge == "automatic",
            read_messages=client_number(plan.client_settings, "read_messages"),
        )
        self._claim_idle_ms = client_number(plan.client_settings, "claim_idle_ms")
        self._arrived: deque[Chunk] = deque()
        self._readings: list[Reading] = []
        self._controls: list[Control] = []  # one for each node
        self._control: dict[str, Control] = {}  # the same by stream
        self._lost = ""
        # The first time at once: who closed in order has given back. What is read automatically is never pending.
        self._next_claim_ns = 1 << 62 if self._member.automatic else 0
        try:
            self._connect(10.0)
        except OSError as e:
            self._drop()
            raise BrokerError(f"the connection was lost at once: {e}") from e
        except BaseException:
            self._drop()
            raise

    def _connect(self, connect_s: float) -> None:
        """Raises BrokerError, OSError."""
        placement = find_placement(self._endpoint, self._clustered, connect_s)
        lots: dict[str, list[str]] = {}
        for key in self._keys:
            lots.setdefault(placement.address_of(key), []).append(key)
        for address, keys in lots.items():
            connection = Connection(address, self._endpoint.security, f"{self._name}-control", connect_s)
            control = Control(connection, keys, self._member.group, self._member.consumer)
            self._controls.append(control)
            self._control |= dict.fromkeys(keys, control)
            _ensure_groups(connection, keys, self._member.group)
        # A command may not span slots, so in a cluster every stream has a reading connection of its own.
        for keys in [[key] for key in self._keys] if self._clustered else [self._keys]:
            connection = Connection(placement.address_of(keys[0]), self._endpoint.security, self._name, connect_s)
            self._readings.append(Reading(connection, keys, self._member))

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        while True:
            if self._lost:
                self._heal(deadline_mono_ns)
            else:
                try:
                    self._step()
                    if not self._arrived:
                        self._claim_if_due()
                    if not self._arrived and time.monotonic_ns() < deadline_mono_ns:
                        self._wait(min(deadline_mono_ns, max(self._next_claim_ns, time.monotonic_ns() + 1_000_000)))
                except (OSError, ServerError, hiredis.HiredisError) as e:
                    self._on_error(e)
            if self._arrived:
                return self._hand_out(most)
            if time.monotonic_ns() >= deadline_mono_ns:
                return no_deliveries(time.monotonic_ns())

    def _wait(self, until_mono_ns: int) -> None:
        controls = [control.connection for control in self._controls]
        readings = [reading.connection for reading in self._readings]
        wait_any([*readings, *controls], seconds_until(until_mono_ns))

    def _step(self) -> None:
        for control in self._controls:
            claimed = control.step()
            if claimed:
                self._arrived.extend(claimed)
                self._next_claim_ns = 0  # there may be more
        for reading in self._ready() if len(self._arrived) < ENOUGH_CHUNKS else ():
            self._arrived.extend(reading.take() or ())
            for key, gone in reading.gone:
                self._control[key].acknowledge(key, [gone])
            reading.gone.clear()

    def _ready(self) -> list[Reading]:
        """Those with something to read: a cluster's streams are many, and a vain read costs as much as a good one."""
        if len(self._readings) == 1:
            return self._readings
        there = readable([reading.connection for reading in self._readings])
        return [r for r in self._readings if r.connection.fileno() in there or r.connection.unsent_bytes]

    def _hand_out(self, most: int) -> Deliveries:
        """At most `most` messages that arrived at the same time."""
        chunks: list[Chunk] = []
        while self._arrived and most > 0:
            first = self._arrived[0]
            if chunks and first.arrived_mono_ns != chunks[0].arrived_mono_ns:
                break
            self._arrived.popleft()
            if len(first.ids) > most:
                first, rest = first.split(most)
                self._arrived.appendleft(rest)
            chunks.append(first)
            most -= len(first.ids)
        return deliveries_of(chunks)

    def _claim_if_due(self) -> None:
        """Take over what other consumers of the group have held for too long: they may be gone."""
        now_ns = time.monotonic_ns()
        if now_ns < self._next_claim_ns or any(reading.catching_up for reading in self._readings):
            return  # what is pending for this consumer itself must not come twice
        self._next_claim_ns = now_ns + max(100, self._claim_idle_ms // 6) * 1_000_000
        for control in self._controls:
            if not control.claiming:
                control.claim(self._claim_idle_ms)

    def acknowledge(self, deliveries: Deliveries) -> None:
        if len(deliveries) == 0 or self._member.automatic or self._lost:
            return
        try:
            for key, ids in deliveries.token:  # type: ignore[attr-defined]
                self._control[key].acknowledge(key, ids)
        except OSError as e:
            self._on_error(e)  # what was not acknowledged comes again

    def remaining(self) -> int | None:
        if self._lost:
            return None
        left = 0
        try:
            self._step()
            if self._member.automatic:
                left += sum(len(chunk.ids) for chunk in self._arrived)  # no longer known to the server
            for control in self._controls:
                for groups in control.ask([("XINFO", "GROUPS", key) for key in control.keys]):
                    mine = _group_named(groups, self._member.group)
                    if mine is None or mine[b"lag"] is None:
                        return None
                    left += mine[b"lag"] + mine[b"pending"]
        except (OSError, ServerError) as e:
            self._on_error(e)
            return None
        return left

    def _on_error(self, error: Exception) -> None:
        """Lost connections and moved slots are mended by connecting again; anything else is raised."""
        if isinstance(error, ServerError) and error.word not in _HEALS:
            raise BrokerError(f"the group {self._member.group} cannot be read: {error.message}") from error
        self._lost = str(error) or type(error).__name__
        self._drop()

    def _heal(self, deadline_mono_ns: int) -> None:
        """One attempt to connect again, then a short rest."""
        try:
            self._connect(RECONNECT_S)
        except (BrokerError, OSError) as e:
            self._drop()
            if isinstance(e, ServerError) and e.word not in _HEALS:
                raise
            time.sleep(min(RECONNECT_EVERY_S, seconds_until(deadline_mono_ns)))
        else:
            self._lost = ""
            if not self._member.automatic:
                # What the old connections read and did not acknowledge is pending, and comes again from there.
                self._arrived.clear()

    def _drop(self) -> None:
        for connection in [c.connection for c in self._controls] + [r.connection for r in self._readings]:
            connection.close()
        self._controls, self._readings, self._control = [], [], {}

    def close(self, deadline_mono_ns: int) -> None:
        """Give back what was not acknowledged, so that others need not wait for `claim_idle_ms`."""
        if not self._lost and self._control:
            with contextlib.suppress(OSError, BrokerError, hiredis.HiredisError):
                self._end_reading(deadline_mono_ns)
                if not self._member.automatic:
                    self._give_back(deadline_mono_ns)
        self._drop()
        self._arrived.clear()

    def _end_reading(self, deadline_mono_ns: int) -> None:
        """End the open commands and take what they still bring: a closed connection would leave it half delivered."""
        for reading in self._readings:
            control = self._control[reading.keys[0]]
            while reading.take(ask_again=False) is None and time.monotonic_ns() < deadline_mono_ns:
                control.ask([("CLIENT", "UNBLOCK", reading.client_id)], seconds_until(deadline_mono_ns, 0.1))
                reading.connection.wait(min(seconds_until(deadline_mono_ns), 0.05))

    def _give_back(self, deadline_mono_ns: int) -> None:
        """Make what is pending for this consumer look long idle: Redis has no negative acknowledgement."""
        group, consumer = self._member.group, self._member.consumer
        for key, control in self._control.items():
            start = b"-"
            while time.monotonic_ns() < deadline_mono_ns:
                question = ("XPENDING", key, group, start, "+", _IDS_AT_ONCE, consumer)
                (pending,) = control.ask([question], seconds_until(deadline_mono_ns, 0.1))
                assert isinstance(pending, list)
                if not pending:
                    break
                ids = [entry[0] for entry in pending]
                idle = ("XCLAIM", key, group, consumer, 0, *ids, "IDLE", GIVEN_BACK_IDLE_MS, "JUSTID")
                control.ask([idle], seconds_until(deadline_mono_ns, 0.1))
                start = b"(" + ids[-1]


def _ensure_groups(control: Connection, keys: list[str], group: str) -> None:
    """A group that does not exist is made and begins with the oldest message. Raises ServerError, OSError."""
    for reply in control.call_many([("XGROUP", "CREATE", key, group, "0", "MKSTREAM") for key in keys]):
        if isinstance(reply, hiredis.ReplyError) and not str(reply).startswith("BUSYGROUP"):
            raise ServerError("XGROUP CREATE", reply)


def _group_named(groups: object, name: str) -> dict[bytes, Any] | None:
    assert isinstance(groups, list)
    return next((told for told in map(pairs, groups) if told[b"name"] == name.encode()), None)
