"""Consumers of queues that are asked again and again, through a client library that blocks: what is received is leased,
and deleted when it is acknowledged. One thread asks, another deletes."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Hashable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from brokerlab.brokers.kit.blocking import Worker
from brokerlab.brokers.kit.database_settings import LeaseSettings
from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.brokers.kit.refusals import Refusals
from brokerlab.model.blocks import Deliveries, no_deliveries
from brokerlab.model.plan import AgentPlan

FIRST_PAUSE_NS = 200_000
GIVE_UP_S = 30.0
COUNT_S = 15.0


@dataclass(frozen=True)
class Leased:
    """A message, and what it is deleted by."""

    identity: Hashable
    payload: bytes
    redelivered: bool


class LeasingConsumer(ABC):
    """See brokers.contract.Consumer. What was leased over a connection that was lost comes again after its lease.

    Queues are known by their numbers from 0, asked in turn. Methods to write run in one of the threads and may block.
    """

    lost: type[Exception]  # raised by the library for a connection that it makes again when it is asked the next time
    refusals: Refusals  # the library's

    def __init__(self, plan: AgentPlan, number: int, queues: int) -> None:
        """Call it last: the threads begin."""
        assert plan.consumers is not None
        self._endpoint = plan.endpoint
        self._outage_s = plan.outage_s
        self._automatic = plan.consumers.acknowledge == "automatic"
        self._settings = LeaseSettings.of(plan.client_settings)
        self._asking, self._deleting = (Worker(f"{plan.agent}-{number}-{what}") for what in ("ask", "delete"))
        self._taking: Future[tuple[list[Leased], int]] | None = None
        self._held: list[dict[Hashable, None]] = [{} for _ in range(queues)]  # received, not acknowledged
        self._done: list[deque[Hashable]] = [deque() for _ in range(queues)]  # acknowledged, to be deleted
        self._turn = 0  # the queue that is asked
        self._empty = 0  # queues found empty in a row
        self._pause_ns = self._ask_at_ns = 0
        self._failing_since: float | None = None

    @abstractmethod
    def _take(self, queue: int, most: int) -> list[Leased]:
        """Lease the first messages that are due; delete them where `_automatic`. At least one if there is one."""

    @abstractmethod
    def _delete(self, queue: int, identities: Sequence[Hashable]) -> None: ...

    @abstractmethod
    def _count(self, queue: int) -> int:
        """Messages that are not deleted, leased or not."""

    @abstractmethod
    def _give_back(self, queue: int, identities: Sequence[Hashable]) -> None:
        """Due again at once."""

    @abstractmethod
    def _disconnect(self) -> None: ...

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        while True:
            now = time.monotonic_ns()
            if self._taking is None and now < self._ask_at_ns:
                time.sleep(max(0, min(deadline_mono_ns, self._ask_at_ns) - now) / 1e9)
                now = time.monotonic_ns()
            if self._taking is None and now >= self._ask_at_ns:
                self._taking = self._asking.submit(partial(self._timed, self._turn, most))
            found = self._taken(deadline_mono_ns)
            if found is not None:
                return found
            if time.monotonic_ns() >= deadline_mono_ns:
                return no_deliveries(time.monotonic_ns())

    def _timed(self, queue: int, most: int) -> tuple[list[Leased], int]:
        return self._take(queue, most), time.monotonic_ns()

    def _taken(self, deadline_mono_ns: int) -> Deliveries | None:
        """What the thread has found by the deadline. A question that was not answered stays open."""
        if self._taking is None:
            return None
        try:
            found, at_ns = self._taking.result(seconds_until(deadline_mono_ns))
        except NotYetError:
            return None
        except self.lost as e:
            self._fail(e)
            return None
        except Exception as e:
            self._taking = None
            raise self.refusals.explained(e, self._endpoint) from e
        self._taking, self._failing_since = None, None
        queue, self._turn = self._turn, (self._turn + 1) % len(self._held)
        if not found:
            self._found_nothing()
            return None
        self._empty = self._pause_ns = 0
        identities = [one.identity for one in found]
        if not self._automatic:
            self._held[queue].update(dict.fromkeys(identities))
        again = np.array([one.redelivered for one in found], np.uint8)
        payloads = [one.payload for one in found]
        return Deliveries.from_payloads(payloads, at_ns, redelivered=again, token=(queue, identities))

    def _found_nothing(self) -> None:
        self._empty += 1
        if self._empty >= len(self._held):
            self._empty = 0
            self._pause_ns = min(self._settings.poll_ns, max(FIRST_PAUSE_NS, 2 * self._pause_ns))
            self._ask_at_ns = time.monotonic_ns() + self._pause_ns

    def _fail(self, error: Exception) -> None:
        self._taking = None
        self._ask_at_ns = time.monotonic_ns() + self._settings.poll_ns
        self._failing_since = self._failing_since or time.monotonic()
        if time.monotonic() - self._failing_since > GIVE_UP_S + self._outage_s:
            raise self.refusals.explained(error, self._endpoint) from error

    def acknowledge(self, deliveries: Deliveries) -> None:
        """Deleted in the thread, together with what is acknowledged meanwhile."""
        if len(deliveries) == 0 or self._automatic:
            return
        queue, identities = cast("tuple[int, list[Hashable]]", deliveries.token)
        for identity in identities:
            self._held[queue].pop(identity, None)
        self._done[queue].extend(identities)
        self._deleting.submit(self._delete_done)

    def _delete_done(self) -> None:
        """What cannot be deleted comes again."""
        for queue, done in enumerate(self._done):
            identities = [done.popleft() for _ in range(len(done))]
            if identities:
                self._delete(queue, identities)

    def remaining(self) -> int | None:
        """Counted behind all deletions."""
        counting = self._deleting.submit(self._counted)
        try:
            waiting = counting.result(COUNT_S)
        except Exception:
            return None
        taking = self._taking
        if self._automatic and taking is not None and taking.done() and taking.exception() is None:
            waiting += len(taking.result()[0])  # deleted, and not handed out yet
        return waiting

    def _counted(self) -> int:
        self._delete_done()
        return sum(map(self._count, range(len(self._held))))

    def close(self, deadline_mono_ns: int) -> None:
        """Gives back what was not acknowledged, so that others need not wait for its lease to end."""
        try:
            self._taken(deadline_mono_ns)
            self._deleting.submit(self._all_back).result(seconds_until(deadline_mono_ns))
        except Exception:
            pass  # it comes again after its lease
        finally:
            self._asking.end()
            self._deleting.submit(self._disconnect)
            self._deleting.end()

    def _all_back(self) -> None:
        self._delete_done()
        for queue, held in enumerate(self._held):
            if held:
                self._give_back(queue, list(held))
