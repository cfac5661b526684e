"""Publishing: what is offered while transactions are on their way goes into the next one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from brokerlab.brokers.kit.database_settings import LeaseSettings
from brokerlab.brokers.kit.settling import Settling
from brokerlab.brokers.postgresql.arrays import BYTEA, INT4, array, bytea_elements, int4_elements
from brokerlab.brokers.postgresql.connection import PATH, conninfo
from brokerlab.brokers.postgresql.link import Link, Work
from brokerlab.brokers.postgresql.outcomes import outcome_of
from brokerlab.brokers.postgresql.settings import transactions_in_flight
from brokerlab.brokers.postgresql.tables import publish_statement
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN, Block, Settlements
from brokerlab.model.plan import AgentPlan


@dataclass
class Batch:
    """Messages of the next transaction, encoded; by destination."""

    parts: list[list[tuple[int, bytes, bytes]]]  # count, partitions, payloads
    indices: list[tuple[int, int]] = field(default_factory=list)  # first, count
    messages: int = 0
    message_bytes: int = 0

    def add(self, destination: int, block: Block, partitions: int) -> None:
        local = block.partitions - np.int32(destination * partitions)
        self.parts[destination].append((len(block), int4_elements(local), bytea_elements(block)))

    def commands(self) -> list[tuple[str, list[bytes]]]:
        commands = []
        for destination, parts in enumerate(self.parts):
            if parts:
                count = sum(n for n, _, _ in parts)
                partitions = array(INT4, count, b"".join(p for _, p, _ in parts))
                payloads = array(BYTEA, count, b"".join(b for _, _, b in parts))
                commands.append((f"publish{destination}", [partitions, payloads]))
        return commands


class PostgresqlProducer:
    """See brokers.contract.Producer."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        self._settings = LeaseSettings.of(plan.client_settings)
        self._most_in_flight = transactions_in_flight(plan.client_settings)
        self._partitions = plan.partitions
        self._destinations = len(plan.destinations)
        self._next = self._empty()
        self._in_flight = 0
        self._settling = Settling()
        self._link = Link(
            conninfo(plan.endpoint, f"{plan.agent}-{number}"),
            ", ".join(plan.endpoint.addresses),
            {f"publish{i}": publish_statement(d) for i, d in enumerate(plan.destinations)},
        )

    def _empty(self) -> Batch:
        return Batch([[] for _ in range(self._destinations)])

    def send(self, block: Block) -> int:
        self._step()
        room = self._settings.batch_messages - self._next.messages
        if len(block) == 0 or room <= 0 or not self._link.ready:
            return 0
        sizes = np.cumsum(block.lengths[:room], dtype=np.int64)
        fits = int(np.searchsorted(sizes, self._settings.batch_bytes - self._next.message_bytes, side="right"))
        count = fits or (1 if self._next.messages == 0 else 0)  # a message above the limit goes alone
        if count == 0:
            return 0
        self._add(block.first(count))
        self._next.messages += count
        self._next.message_bytes += int(sizes[count - 1])
        self._next.indices.append((block.first_index, count))
        self._step()
        return count

    def _add(self, block: Block) -> None:
        if self._destinations == 1:
            self._next.add(0, block, self._partitions)
            return
        numbers = block.partitions // self._partitions
        for destination in np.unique(numbers).tolist():
            self._next.add(destination, block.part(numbers == destination), self._partitions)

    def _step(self) -> None:
        """Read what has ended, then begin the next transaction if there may be one more."""
        for work in self._link.step():
            self._in_flight -= 1
            self._settle(work)
        if not self._link.ready:
            if self._next.messages:  # taken, though never sent; a new connection begins with nothing
                self._note(self._next, UNKNOWN, "connection lost")
                self._next = self._empty()
        elif self._next.messages and self._in_flight < self._most_in_flight:
            self._in_flight += 1
            batch, self._next = self._next, self._empty()
            self._link.submit(batch, batch.commands())

    def _settle(self, work: Work) -> None:
        assert isinstance(work.what, Batch)
        if work.lost:
            self._note(work.what, UNKNOWN, "connection lost")
        elif work.failed:
            self._note(work.what, outcome_of(work.sqlstate, work.severity), f"{work.sqlstate} {work.said}")
        elif work.warned:
            self._note(work.what, UNKNOWN, work.said)
        else:
            self._note(work.what, ACKNOWLEDGED, None)

    def _note(self, batch: Batch, outcome: int, error: str | None) -> None:
        for first, count in batch.indices:
            self._settling.add(np.arange(first, first + count, dtype=np.int64), outcome, error)

    def settled(self) -> Settlements:
        self._step()
        return self._settling.take()

    def watched(self) -> list[tuple[int, bool]]:
        return self._link.watched()

    def close(self, deadline_mono_ns: int) -> None:
        """Let what was taken end, as long as there is time."""
        while (self._in_flight or self._next.messages) and self._link.ready and time.monotonic_ns() < deadline_mono_ns:
            self._step()
            self._link.wait(min(deadline_mono_ns, time.monotonic_ns() + 50_000_000))
        self._link.close()
