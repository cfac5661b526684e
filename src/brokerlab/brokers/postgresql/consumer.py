"""Receiving: a batch is one statement that leases rows, a batch's acknowledgement one that deletes them."""

from __future__ import annotations

import struct
import time
from typing import cast

import numpy as np

from brokerlab.brokers.kit.arrived import Arrived, readable, starts_of
from brokerlab.brokers.kit.database_settings import LeaseSettings
from brokerlab.brokers.postgresql.arrays import int8_array, read_int4_array, read_int8_array
from brokerlab.brokers.postgresql.connection import PATH, connected, conninfo, ensure_group
from brokerlab.brokers.postgresql.link import Link, Work
from brokerlab.brokers.postgresql.tables import (
    acknowledge_statement,
    count_statement,
    give_back_statement,
    remove_statement,
    take_statement,
)
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, Int64s, no_deliveries
from brokerlab.model.plan import AgentPlan

FIRST_PAUSE_US = 200
BATCH_BYTES = 64 << 20
ANSWER_NS = 20_000_000_000
# A queue's table is empty when its statements are planned; these keep the plan on the index as it fills.
_PLANS = "-c enable_seqscan=off -c enable_bitmapscan=off -c enable_hashjoin=off -c enable_mergejoin=off"


class PostgresqlConsumer:
    """See brokers.contract.Consumer. Rows leased over a connection that was lost come again after their lease."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.consumers is not None
        assert plan.group is not None
        self._settings = LeaseSettings.of(plan.client_settings)
        self._automatic = plan.consumers.acknowledge == "automatic"
        where = ", ".join(plan.endpoint.addresses)
        name = f"{plan.agent}-{number}"
        with connected(conninfo(plan.endpoint, name), where) as connection:
            groups = [ensure_group(connection, destination, plan.group) for destination in plan.destinations]
        self._groups = [struct.pack(">i", group) for group in groups]
        statements = {}
        for i, destination in enumerate(plan.destinations):
            statements[f"take{i}"] = (remove_statement if self._automatic else take_statement)(destination)
            statements[f"acknowledge{i}"] = acknowledge_statement(destination)
            statements[f"back{i}"] = give_back_statement(destination)
            statements[f"count{i}"] = count_statement(destination)
        self._link = Link(conninfo(plan.endpoint, name, settings=_PLANS), where, statements)
        self._turn = 0  # the destination to ask next
        self._taking = False
        self._empty_turns = 0  # destinations found empty in a row
        self._pause_us = 0
        self._ask_at_ns = 0
        self._largest_bytes = 1 << 20  # until we know better
        self._arrived: Arrived | None = None
        self._arrived_from = 0  # the destination of that
        self._counted: int | None = None
        self._unacknowledged: list[dict[int, None]] = [{} for _ in self._groups]

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        while True:
            self._step()
            if self._arrived is not None:
                return self._hand_out(most)
            now = time.monotonic_ns()
            if self._link.ready and not self._taking and now >= self._ask_at_ns:
                self._take(most)
                continue
            if now >= deadline_mono_ns:
                return no_deliveries(now)
            if self._taking or not self._link.ready:
                self._link.wait(deadline_mono_ns)
            else:
                time.sleep((min(deadline_mono_ns, self._ask_at_ns) - now) / 1e9)

    def _take(self, most: int) -> None:
        limit = min(most, max(1, BATCH_BYTES // self._largest_bytes))
        lease = struct.pack(">q", self._settings.visibility_ns // 1000)
        i, self._turn = self._turn, (self._turn + 1) % len(self._groups)
        self._taking = True
        self._link.submit(("take", i), [(f"take{i}", [self._groups[i], struct.pack(">i", limit), lease])])

    def _step(self) -> None:
        for work in self._link.step():
            self._end(work)

    def _end(self, work: Work) -> None:
        kind, destination = cast("tuple[str, int]", work.what)
        if kind == "take":
            self._taking = False
        if work.failed and work.severity == "ERROR":
            raise BrokerError(f"PostgreSQL refused to {kind}: {work.sqlstate} {work.said}")
        if work.lost or work.failed:
            return
        if kind == "take":
            self._end_take(work, destination)
        elif kind == "count":
            self._counted = sum(struct.unpack(">q", result.get_value(0, 0))[0] for result in work.results)  # type: ignore[arg-type]

    def _end_take(self, work: Work, destination: int) -> None:
        ids, deliveries, lengths, payloads = (work.results[0].get_value(0, column) for column in range(4))
        if ids is None or deliveries is None or lengths is None or payloads is None:
            self._empty_turns += 1
            if self._empty_turns >= len(self._groups):
                self._empty_turns = 0
                self._pause_us = min(self._settings.poll_ns // 1000, max(FIRST_PAUSE_US, 2 * self._pause_us))
                self._ask_at_ns = time.monotonic_ns() + 1000 * self._pause_us
            return
        self._empty_turns = self._pause_us = 0
        positions, sizes = read_int8_array(ids), read_int4_array(lengths)
        again = (read_int4_array(deliveries) > 1).astype(np.uint8)
        now_ns = time.monotonic_ns()
        self._arrived = Arrived(readable(payloads), starts_of(sizes), sizes, positions, again, positions, now_ns)
        self._arrived_from = destination
        self._largest_bytes = max(int(self._arrived.lengths.max()), 1)

    def _hand_out(self, most: int) -> Deliveries:
        assert self._arrived is not None
        some, self._arrived = self._arrived.split(most)
        if not self._automatic:
            self._hold(some)
        return some.deliveries((self._arrived_from, some.numbers))

    def _hold(self, some: Arrived) -> None:
        self._unacknowledged[self._arrived_from].update(dict.fromkeys(some.numbers.tolist()))

    def acknowledge(self, deliveries: Deliveries) -> None:
        if len(deliveries) == 0 or self._automatic:
            return
        destination, ids = cast("tuple[int, Int64s]", deliveries.token)
        held = self._unacknowledged[destination]
        for number in ids.tolist():
            held.pop(number, None)
        self._step()
        if self._link.ready:  # else it comes again: PostgreSQL never heard of the acknowledgement
            command = (f"acknowledge{destination}", [self._groups[destination], int8_array(ids)])
            self._link.submit(("acknowledge", destination), [command])

    def remaining(self) -> int | None:
        """Rows of the group, leased or not; the count stands behind all acknowledgements on the same connection."""
        self._step()
        if not self._link.ready:
            return None
        self._counted = None
        self._link.submit(("count", -1), [(f"count{i}", [group]) for i, group in enumerate(self._groups)])
        until = time.monotonic_ns() + ANSWER_NS
        while self._counted is None and self._link.ready and time.monotonic_ns() < until:
            self._link.wait(until)
            self._step()
        if self._counted is None:
            return None
        gone = len(self._arrived) if self._automatic and self._arrived is not None else 0
        return self._counted + gone

    def close(self, deadline_mono_ns: int) -> None:
        """Give back what was not acknowledged, so that others need not wait for its lease to end."""
        try:
            self._finish(deadline_mono_ns)
            if self._arrived is not None and not self._automatic:
                self._hold(self._arrived)
            for i, held in enumerate(self._unacknowledged):
                if held and self._link.ready:
                    ids = int8_array(np.fromiter(held, np.int64, len(held)))
                    self._link.submit(("give back", i), [(f"back{i}", [self._groups[i], ids])])
            self._finish(deadline_mono_ns)
        except BrokerError:
            pass  # the destination is gone already; there is nothing to give back to
        finally:
            self._link.close()

    def _finish(self, deadline_mono_ns: int) -> None:
        """Until everything submitted was answered, or the deadline."""
        self._step()
        while not self._link.idle() and time.monotonic_ns() < deadline_mono_ns:
            self._link.wait(deadline_mono_ns)
            self._step()
