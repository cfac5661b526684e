"""The once-a-second work of an agent: evidence rows, the live line."""

from __future__ import annotations

from brokerlab.agent.control import Control
from brokerlab.agent.notes import EvidenceNotes
from brokerlab.agent.pulse import Pulse
from brokerlab.model.plan import PhasesPlan

SECOND_NS = 1_000_000_000


class Seconds:
    """Knows when a second of the UNIX clock ends and which phase it belongs to."""

    def __init__(self, phases: PhasesPlan, start_ns: int, unix_minus_mono_ns: int, now_ns: int) -> None:
        self._unix_minus_mono_ns = unix_minus_mono_ns
        self._measure_from_ns = start_ns + round(phases.warm_up_s * 1e9)
        self._end_ns = self._measure_from_ns + round(phases.measure_s * 1e9)
        self._since_ns = now_ns
        self._before: dict[str, int] = {}
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

    def close(
        self, now_ns: int, totals: dict[str, int], levels: dict[str, int], notes: EvidenceNotes
    ) -> dict[str, object]:
        """Write the activity row of the second that ended (or was cut short) and return its live line.

        `totals` only grow and are written as differences; `levels` are written as they are.
        """
        counts = {name: value - self._before.get(name, 0) for name, value in totals.items()}
        self._before = dict(totals)
        second = (self._since_ns + self._unix_minus_mono_ns) // SECOND_NS
        phase = self.phase(self._since_ns)
        pause = {"longest_pause_ns": self._pulse.take()}
        cores = notes.activity(second, phase, now_ns - self._since_ns, {**counts, **levels, **pause})
        self._since_ns = now_ns
        self.next_ns = self._following(now_ns)
        return {
            "second": second,
            "phase": phase,
            **counts,
            **levels,
            "p99_ns": dict(notes.latest_p99_ns),
            "cpu_cores": round(cores, 3),
        }


def say_live(control: Control, line: dict[str, object]) -> None:
    control.say("live", **line)
