"""The probe process: one JSON plan line in, `reading` segments out, until standard input closes or SIGTERM comes. Lines
after the plan name nodes whose process was started again.

Prints {"event": "ready"} once it samples, and at the end one line with the number of samples and what failed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from brokerlab.errors import BrokerlabError, ExitCode
from brokerlab.evidence.anchor import held, hold
from brokerlab.evidence.background import give_way
from brokerlab.probes.plan import ProbePlan, RestartedNode

SEGMENT_SAMPLES = 2  # a crash loses about two seconds of readings


def _end_of_work() -> list[int]:
    """File descriptors that become readable when it is time to end: standard input, and a pipe that SIGTERM fills."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGTERM, lambda *_: os.write(writer, b"x"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the runner's to answer: it closes our input
    return [sys.stdin.fileno(), reader]


class _Input:
    """Lines of standard input, unbuffered: what is not read yet stays visible to poll."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._rest = b""

    def lines(self) -> list[bytes] | None:
        """The whole lines that one read completes; None at the end of the input."""
        some = os.read(self._number, 4096)
        *whole, self._rest = (self._rest + some).split(b"\n")
        return whole if some else None


def _wait(until_mono_ns: int, ends: list[int], typed: _Input, tell: Callable[[bytes], None]) -> bool:
    """Wait for the time, True; or for the end of the work, False. `tell` gets every line that is typed meanwhile."""
    poll = select.poll()  # not select(): file numbers may be above 1023
    for end in ends:
        poll.register(end, select.POLLIN)
    while True:
        remaining_ms = (until_mono_ns - time.monotonic_ns()) / 1e6
        if remaining_ms <= 0:
            return True
        ready = [number for number, _ in poll.poll(remaining_ms)]
        if ends[1] in ready:
            return False
        if ends[0] in ready:
            lines = typed.lines()
            if lines is None:
                return False
            for line in lines:
                tell(line)


def watch(plan: ProbePlan, ends: list[int]) -> dict[str, object]:
    """Sample until the end; returns how many samples were taken and what failed how often."""
    directory = held(hold(Path(plan.directory)))
    from brokerlab.brokers.registry import broker_named
    from brokerlab.evidence.tables import READING
    from brokerlab.evidence.writer import SegmentWriter
    from brokerlab.probes.sampler import BrokerProbeThread, LocalProbes, next_due_ns, reading_columns

    writer = SegmentWriter(directory, "probe", READING, plan.attempt)
    local = LocalProbes(plan, os.getppid())
    failures = local.failures
    try:
        probe = broker_named(plan.broker).probe(plan.endpoint, tuple(n.info() for n in plan.nodes))
    except Exception as e:  # a broker folder's own code: without its figures the host's are still worth having
        failures[f"broker: {type(e).__name__}: {e}"] = 1
        probe = None
    thread = BrokerProbeThread(probe, plan.interval_s) if probe is not None else None
    if thread is not None:
        thread.start()
    interval_ns = int(plan.interval_s * 1e9)
    samples = 0
    # Rates need a sample before the first; writing it now also pays for what Arrow does the first time, before the load starts.
    writer.add(reading_columns(plan, [local.read(time.monotonic_ns())]))
    writer.flush()
    print(json.dumps({"event": "ready"}), flush=True)

    def tell(line: bytes) -> None:
        try:
            local.follow(RestartedNode.model_validate_json(line))
        except ValueError:  # readings of the others are worth more than an end over it
            failures["a line that names no node"] = failures.get("a line that names no node", 0) + 1

    typed = _Input(ends[0])
    while _wait(next_due_ns(time.monotonic_ns(), interval_ns, plan.clock), ends, typed, tell):
        samples += 1
        taken = [local.read(time.monotonic_ns()), *(thread.take() if thread is not None else [])]
        writer.add(reading_columns(plan, taken))
        if samples % SEGMENT_SAMPLES == 0:
            writer.flush()
    writer.add(reading_columns(plan, [local.last(time.monotonic_ns())]))
    if thread is not None:
        thread.end()
        writer.add(reading_columns(plan, thread.take()))
        failures |= thread.failures
    writer.close()
    return {"event": "done", "samples": samples, "failures": failures}


class _WithoutPandas:
    """Arrow imports pandas (half a second of CPU, 50 MB) only to see whether our lists are not Series. Not here."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:  # noqa: ARG004
        if name == "pandas":
            raise ModuleNotFoundError("the probe process does without pandas", name=name)


def main() -> int:
    give_way()
    sys.meta_path.insert(0, _WithoutPandas)
    ends = _end_of_work()
    line = b""
    while not line.endswith(b"\n"):  # unbuffered: what follows the plan must stay visible to poll
        byte = os.read(ends[0], 1)
        if not byte:
            break
        line += byte
    try:
        said = watch(ProbePlan.model_validate_json(line), ends)
    except (BrokerlabError, OSError, ValueError) as e:
        print(f"probe: {e}", file=sys.stderr)
        return int(e.exit_code if isinstance(e, BrokerlabError) else ExitCode.MACHINE)
    print(json.dumps(said), flush=True)
    return int(ExitCode.OK)


if __name__ == "__main__":
    sys.exit(main())
