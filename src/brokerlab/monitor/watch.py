"""Reads every target on an interval and writes readings and events into a run directory, until it is asked to end.

Each target is read in a thread of its own: one that hangs delays no other. A target that goes away is said, journalled, and
read again when it is back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from brokerlab.brokers.contract import Reading
from brokerlab.evidence.tables import READING
from brokerlab.evidence.writer import SegmentWriter
from brokerlab.model.environment import ClockPair
from brokerlab.model.events import Event, TargetBack, TargetGone
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.listener import RunListener
from brokerlab.model.plan import RunPlan, TargetPlan
from brokerlab.monitor.readers import AbsentError, Reader, TellsWhatIsMissing
from brokerlab.probes.sampler import Sample, next_due_ns, second_unix_s

SEGMENT_SAMPLES = 2  # a crash loses about two seconds of readings
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Change:
    """A target went or came back; `why` is empty for the latter. `part` is given where it is not the whole target."""

    target: TargetPlan
    why: str
    after_s: float = 0.0
    part: str = ""


class TargetThread(threading.Thread):
    """Reads one target on the middle of every interval, puts samples and changes where the writer finds them."""

    def __init__(self, target: TargetPlan, reader: Reader, interval_ns: int, clock: ClockPair) -> None:
        super().__init__(name=f"watch-{target.name}", daemon=True)
        self.target = target
        self.samples: SimpleQueue[Sample] = SimpleQueue()
        self.changes: SimpleQueue[Change] = SimpleQueue()
        self._reader, self._interval_ns, self._clock = reader, interval_ns, clock
        self._ended = threading.Event()
        self._gone_since_s: float | None = None
        self._missing_since_s: dict[str, float] = {}
        self.ever = False  # there was a reading

    def run(self) -> None:
        self._read()  # rates need a reading before the first
        while True:
            due_ns = next_due_ns(time.monotonic_ns(), self._interval_ns, self._clock)
            if self._ended.wait(max(due_ns - time.monotonic_ns(), 0) / 1e9):
                return
            self._read()

    def end(self) -> None:
        """Not waited for: its target may never answer."""
        self._ended.set()

    def _read(self) -> None:
        asked_ns = time.monotonic_ns()
        try:
            readings = self._reader.read()
        except AbsentError as error:
            self._note_gone(str(error))
            return
        except Exception as error:  # a reader stands on others' code: whatever it raises, the others go on
            self._note_gone(f"{type(error).__name__}: {error}")
            return
        if self._gone_since_s is not None:
            self.changes.put(Change(self.target, "", time.monotonic() - self._gone_since_s))
            self._gone_since_s = None
        self._note_missing(self._reader.missing() if isinstance(self._reader, TellsWhatIsMissing) else {})
        self.ever = self.ever or bool(readings)
        self.samples.put(Sample(asked_ns, readings))

    def _note_missing(self, missing: Mapping[str, str]) -> None:
        now_s = time.monotonic()
        for part in self._missing_since_s.keys() - missing.keys():
            self.changes.put(Change(self.target, "", now_s - self._missing_since_s.pop(part), part))
        for part, why in missing.items():
            if part not in self._missing_since_s:
                self._missing_since_s[part] = now_s
                self.changes.put(Change(self.target, " ".join(why.split()), part=part))

    def _note_gone(self, why: str) -> None:
        if self._gone_since_s is None:
            self._gone_since_s = time.monotonic()
            self.changes.put(Change(self.target, " ".join(why.split())))


@dataclass
class Latest:
    """What the live line says: the newest value of every series, and the counters before."""

    now: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)
    before: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)

    def take(self, sample: Sample) -> None:
        for r in sample.readings:
            key = r.subject, r.metric
            if key in self.now:
                self.before[key] = self.now[key]
            self.now[key] = sample.at_mono_ns, r.value

    def text(self) -> str:
        """Busy processors, what destinations take in, the largest lag."""
        parts = []
        busy = self.now.get(("host", "cpu_busy_cores"))
        if busy is not None:
            parts.append(f"{busy[1]:.1f} cores busy")
        rates = [
            (value - self.before[key][1]) / (at - self.before[key][0]) * _SECOND_NS
            for key, (at, value) in self.now.items()
            if key[1] == "messages_in_total" and key[0].startswith("destination:") and key in self.before
        ]
        if rates:
            parts.append(f"{sum(max(r, 0.0) for r in rates):,.0f}/s in")
        lags = [value for (subject, metric), (_, value) in self.now.items() if metric == "lag_messages"]
        if lags:
            parts.append(f"lag {sum(lags):,.0f}")
        return ", ".join(parts) or f"{len(self.now)} series"


class Watch:
    """Of one run of kind `monitor`."""

    def __init__(
        self,
        plan: RunPlan,
        readers: Mapping[str, Reader],
        directory: Path,
        clock: ClockPair,
        journal: Callable[[Event], None],
        say: RunListener,
    ) -> None:
        (self._execution,) = plan.order
        self._plan, self._clock, self._journal, self._say = plan, clock, journal, say
        self._writer = SegmentWriter(directory, "monitor", READING)
        interval_ns = round(plan.interval_s * 1e9)
        self._threads = [TargetThread(t, readers[t.name], interval_ns, clock) for t in plan.targets]
        self._latest = Latest()

    def run(self, ended: threading.Event, for_s: float | None) -> list[str]:
        """Until `ended` is set, or for so long. Returns the names of targets that never gave a reading."""
        begun = time.monotonic()
        for thread in self._threads:
            thread.start()
        turns = 0
        while True:
            left = None if for_s is None else begun + for_s - time.monotonic()
            wait_s = self._plan.interval_s if left is None else min(self._plan.interval_s, max(left, 0.0))
            over = ended.wait(wait_s) or (left is not None and left <= wait_s)
            self._collect()
            turns += 1
            if over or turns % SEGMENT_SAMPLES == 0:
                self._writer.flush()
            spent = time.monotonic() - begun
            self._say.progress(0.0 if for_s is None else min(spent / for_s, 1.0), self._latest.text())
            if over:
                break
        for thread in self._threads:
            thread.end()
        return [thread.target.name for thread in self._threads if not thread.ever]

    def _collect(self) -> None:
        for thread in self._threads:
            for change in _taken(thread.changes):
                self._note(change)
            for sample in _taken(thread.samples):
                self._latest.take(sample)
                if sample.readings:
                    self._writer.add(reading_columns(self._plan.run, self._execution, self._clock, sample))

    def _note(self, change: Change) -> None:
        part = f", {change.part}" if change.part else ""
        name, words = f"{change.target.name}{part}", f"{change.target.name} ({change.target.words()}){part}"
        if change.why:
            self._journal(TargetGone(target=name, why=change.why))
            self._say.note(f"{words} is gone: {change.why}; it is read again when it is back")
        else:
            self._journal(TargetBack(target=name, after_s=round(change.after_s, 3)))
            self._say.note(f"{words} is back after {change.after_s:.0f} s")


def _taken(queue: SimpleQueue[Any]) -> list[Any]:
    taken = []
    while True:
        try:
            taken.append(queue.get_nowait())
        except Empty:
            return taken


def reading_columns(run: str, execution: ExecutionId, clock: ClockPair, sample: Sample) -> dict[str, list[Any]]:
    """One sample as columns of the `reading` table."""
    rows: list[Reading] = sample.readings
    n = len(rows)
    return {
        "run": [run] * n,
        "cell": [execution.cell] * n,
        "repeat": [execution.repeat] * n,
        "at_mono_ns": [sample.at_mono_ns] * n,
        "second_unix_s": [second_unix_s(sample.at_mono_ns, clock)] * n,
        "subject": [r.subject for r in rows],
        "metric": [r.metric for r in rows],
        "value": [float(r.value) for r in rows],
        "unit": [r.unit for r in rows],
    }
