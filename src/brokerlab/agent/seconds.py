"""The once-a-second work of an agent: evidence rows, the live line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from brokerlab.agent.control import Control
from brokerlab.agent.notes import EvidenceNotes
from brokerlab.agent.pulse import Pulse
from brokerlab.model.plan import PhasesPlan

SECOND_NS = 1_000_000_000
Of = tuple[EvidenceNotes, dict[str, int]]  # the notes of a group, or of producers, and their totals


class Seconds:
    """Knows when a second of the UNIX clock ends and which phase it belongs to."""

    def __init__(self, phases: PhasesPlan, start_ns: int, unix_minus_mono_ns: int, now_ns: int) -> None:
        self._unix_minus_mono_ns = unix_minus_mono_ns
        self._measure_from_ns = start_ns + round(phases.warm_up_s * 1e9)
        self._end_ns = self._measure_from_ns + round(phases.measure_s * 1e9)
        self._since_ns = now_ns
        self._before: list[dict[str, int]] = []
        self._pulse = Pulse()
        self.next_ns = self._following(now_ns)

    def _following(self, now_ns: int) -> int:
        """The monotonic time at which the current UNIX second ends."""
        unix_ns = now_ns + self._unix_minus_mono_ns
        return (unix_ns // SECOND_NS + 1) * SECOND_NS - self._unix_minus_mono_ns

    def end_measure(self, mono_ns: int) -> None:
        """The measure phase ended then, before its time: the number of messages was reached."""
        self._end_ns = min(self._end_ns, max(mono_ns, self._measure_from_ns))

    def phase(self, mono_ns: int) -> str:
        if mono_ns < self._measure_from_ns:
            return "warm_up"
        return "measure" if mono_ns < self._end_ns else "drain"

    def close(self, now_ns: int, totals: Sequence[Of], levels: dict[str, int]) -> dict[str, object]:
        """Write the activity rows of the second that ended (or was cut short), one of each group, and return its live line.

        `totals` only grow and are written as differences; `levels` are written as they are.
        """
        rows = [{name: n - before.get(name, 0) for name, n in of.items()} for (_, of), before in self._paired(totals)]
        self._before = [dict(of) for _, of in totals]
        counts = {name: sum(row.get(name, 0) for row in rows) for name in rows[0]}
        second = (self._since_ns + self._unix_minus_mono_ns) // SECOND_NS
        phase = self.phase(self._since_ns)
        pause = {"longest_pause_ns": self._pulse.take()}
        elapsed_ns, cpu_ns, n = now_ns - self._since_ns, totals[0][0].take_cpu_ns(), len(rows)
        for (notes, _), row in zip(totals, rows, strict=True):
            part = (cpu_ns[0] // n, cpu_ns[1] // n)
            notes.activity(second, phase, max(elapsed_ns // n, 1), {**row, **levels, **pause}, part)
        self._since_ns = now_ns
        self.next_ns = self._following(now_ns)
        return {
            "second": second,
            "phase": phase,
            **counts,
            **levels,
            "p99_ns": _largest([notes.latest_p99_ns for notes, _ in totals]),
            "cpu_cores": round(sum(cpu_ns) / max(elapsed_ns, 1), 3),
        }

    def _paired(self, totals: Sequence[Of]) -> Iterable[tuple[Of, dict[str, int]]]:
        """With what they were a second before."""
        return zip(totals, self._before or [{}] * len(totals), strict=True)


def _largest(of: Sequence[dict[str, int]]) -> dict[str, int]:
    return {name: max(one.get(name, 0) for one in of) for known in of for name in known}


def say_live(control: Control, line: dict[str, object]) -> None:
    control.say("live", **line)
