"""For client libraries that block: what must not wait is handed to a thread, a batch at a time."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from brokerlab.brokers.kit.deadlines import seconds_until
from brokerlab.brokers.kit.settling import Settling
from brokerlab.model.blocks import UNKNOWN, Block, Int64s, Settlements

Result = TypeVar("Result")


class Worker:
    """One thread that does what it is given, in order. It never keeps a process from ending."""

    def __init__(self, name: str) -> None:
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        future: Future[Result] = Future()
        self._work.put((future, work))
        return future

    def end(self) -> None:
        """After what it has been given; does not wait for that."""
        self._work.put(None)

    def _run(self) -> None:
        while (given := self._work.get()) is not None:
            future, work = given
            try:
                future.set_result(work())
            except BaseException as e:
                future.set_exception(e)


@dataclass
class Batch:
    """Messages that are published together, in their order."""

    payloads: list[bytes] = field(default_factory=list)
    partitions: list[int] = field(default_factory=list)  # cell-wide numbers
    indices: list[Int64s] = field(default_factory=list)
    message_bytes: int = 0

    def __len__(self) -> int:
        return len(self.payloads)

    def add(self, block: Block) -> None:
        """Copies the bytes."""
        self.payloads += block.payloads()
        self.partitions += block.partitions.tolist()
        self.indices.append(np.arange(block.first_index, block.first_index + len(block), dtype=np.int64))
        self.message_bytes += int(block.lengths.sum())

    def numbers(self) -> Int64s:
        """The messages' numbers, one for each payload."""
        return np.concatenate(self.indices)

    def told(self, outcome: int, error: str | None = None) -> Told:
        """The same of all."""
        return Told(self.numbers(), outcome, error)

    def by(self, partitions: int) -> dict[int, Batch]:
        """Its parts by the numbers of their destinations, which have so many `partitions` each; 1: by partition."""
        of, numbers = np.array(self.partitions, np.int32) // partitions, self.numbers()
        found = {}
        for destination in np.unique(of).tolist():
            mine = np.flatnonzero(of == destination)
            payloads = [self.payloads[i] for i in mine.tolist()]
            places = [self.partitions[i] for i in mine.tolist()]
            found[destination] = Batch(payloads, places, [numbers[mine]], sum(map(len, payloads)))
        return found


@dataclass(frozen=True)
class Told:
    """What became of some messages of a batch. `error` is its kind where they were not acknowledged."""

    numbers: Int64s
    outcome: int
    error: str | None = None


class BlockingProducer(ABC):
    """See brokers.contract.Producer. What is offered while a batch is on its way goes into the next one; one batch at a
    time, so that every lane keeps its order."""

    def __init__(self, name: str, batch_messages: int, batch_bytes: int, partitions: int) -> None:
        """`partitions` in a row are published together: those of a destination, or 1. Call it last: the thread begins."""
        self._partitions = partitions
        self._batch_messages = batch_messages
        self._batch_bytes = batch_bytes
        self._changed = threading.Condition()  # guards the three below
        self._next = Batch()
        self._publishing = False
        self._closed = False
        self._told: deque[tuple[int, list[Told]]] = deque()  # with the time of each
        self._settling = Settling()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @abstractmethod
    def _publish(self, number: int, batch: Batch) -> list[Told]:
        """Those of one destination or partition, in the thread; may block. Names every message at most once. What is
        raised makes them all unknown."""

    @abstractmethod
    def _disconnect(self) -> None:
        """In the thread, after the last batch."""

    def send(self, block: Block) -> int:
        with self._changed:
            room = self._batch_messages - len(self._next)
            room_bytes = self._batch_bytes - self._next.message_bytes
            if len(block) == 0 or room <= 0 or room_bytes <= 0 or self._closed:
                return 0
            some = block.first(room)
            fits = some.fitting(room_bytes)
            if fits == 1 and len(self._next) and int(some.lengths[0]) > room_bytes:
                return 0  # a message above the limit goes alone
            some = some.first(fits)
            self._next.add(some)
            self._changed.notify()
            return len(some)

    def settled(self) -> Settlements:
        while self._told:
            at_ns, told = self._told.popleft()
            for one in told:
                self._settling.add(one.numbers, one.outcome, one.error, at_ns)
        return self._settling.take()

    def watched(self) -> list[tuple[int, bool]]:
        """Nothing: the thread notes the times."""
        return []

    def _run(self) -> None:
        while (batch := self._taken()) is not None:
            for number, part in batch.by(self._partitions).items():
                try:
                    told = self._publish(number, part)
                except Exception as e:
                    told = [part.told(UNKNOWN, f"{type(e).__name__}: {e}"[:200])]
                self._told.append((time.monotonic_ns(), told))
        with contextlib.suppress(Exception):
            self._disconnect()

    def _taken(self) -> Batch | None:
        """The next batch, once there is one; None after `close`."""
        with self._changed:
            self._publishing = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._closed or len(self._next) > 0)
            if self._closed:
                return None
            batch, self._next = self._next, Batch()
            self._publishing = True
            return batch

    def close(self, deadline_mono_ns: int) -> None:
        """Lets what was taken end, as long as there is time."""
        with self._changed:
            self._changed.wait_for(
                lambda: not self._publishing and len(self._next) == 0, seconds_until(deadline_mono_ns)
            )
            self._closed = True
            self._changed.notify_all()
