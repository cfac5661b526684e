"""Probing: what does it cost a broker to be asked once a second, and what does asking cost?"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.brokers import RunningBroker
from benchmarks.figures import spread
from benchmarks.machine import family, mark, usage
from brokerlab.model.environment import ClockPair
from brokerlab.model.plan import PhasesPlan
from brokerlab.probes.plan import ProbePlan, WatchedNode

BROKERS = ("kafka", "nats", "rabbitmq-quorum", "redis", "postgresql", "pulsar")
SETTLE_S = 20  # a JVM that has just started is busy with itself
PERIOD_S = 15
PHASES = PhasesPlan(warm_up_s=1, measure_s=1, drain_limit_s=0)


def probing(directory: Path, rounds: int, brokers: tuple[str, ...] = BROKERS) -> str:
    """A Markdown table: idle brokers with and without probes, alternately (ABBA)."""
    lines = [
        f"### Probing idle brokers once a second, {rounds} periods of {PERIOD_S} s each way, median [range]",
        "",
        "| broker | its CPU without, % of a core | with | probe process, % of a core | foreign load, cores |",
        "|---|---|---|---|---|",
    ]
    for name in brokers:
        with RunningBroker(name, directory / f"probing-{name}", PHASES) as broker:
            time.sleep(SETTLE_S)
            made = [_round(name, broker, directory / f"probing-{name}" / str(n), n % 2 == 1) for n in range(rounds)]
        columns = [spread(column, 2) for column in zip(*made, strict=True)]
        lines.append(f"| {name} | " + " | ".join(columns) + " |")
    return "\n".join([*lines, ""])


def _round(name: str, broker: RunningBroker, directory: Path, probed_first: bool) -> tuple[float, float, float, float]:
    """(broker without, broker with, probe: percent of a core; cores used by anything else)."""
    pid = broker.node().pid
    if probed_first:
        probed, alone = _probed(name, broker, directory), _period([pid])
    else:
        alone, probed = _period([pid]), _probed(name, broker, directory)
    return alone[0][0], probed[0][0], probed[0][1], max(alone[1], probed[1])


def _period(pids: list[int]) -> tuple[list[float], float]:
    """Percent of a core of each process with its children (PostgreSQL works in those), and cores used by others."""
    families = [family(pid) for pid in pids]
    first = mark([pid for group in families for pid in group])
    time.sleep(PERIOD_S)
    used = usage(first, mark(list(first.by_pid)))
    return [sum(used.cpu_ns[pid] for pid in group) / 1e7 / used.seconds for group in families], used.foreign_cores


def _probed(name: str, broker: RunningBroker, directory: Path) -> tuple[list[float], float]:
    directory.mkdir(parents=True)
    node = broker.node()
    plan = ProbePlan(
        run="bench", cell="bench", repeat=1, broker=name, endpoint=broker.endpoint(), directory=str(directory),
        nodes=(WatchedNode(name=node.name, pid=node.pid, urls=node.urls),),
        clock=ClockPair(mono_ns=time.monotonic_ns(), unix_ns=time.time_ns()),
    )  # fmt: skip
    command = [sys.executable, "-m", "brokerlab.probes"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as probe:
        assert probe.stdin is not None
        assert probe.stdout is not None
        probe.stdin.write(plan.model_dump_json() + "\n")
        probe.stdin.flush()
        probe.stdout.readline()
        time.sleep(2)  # its first samples pay for imports
        found = _period([node.pid, probe.pid])
        probe.stdin.close()
        probe.stdout.read()  # its last output, or it dies of a broken pipe
    return found
