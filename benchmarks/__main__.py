"""`make bench`, or `python -m benchmarks [publish|consume|pacing|probing|accounting ...] [--rounds N] [--quick]`;
`python -m benchmarks differences` (the comparison of cells), `compare` (of runs) and `history` (change points) are simulations,
`pulsar` is beside pulsar-perf, `dashboard` measures what watching costs a run, `pipeline` the analysis, `lake` fills a lake and
asks it, `verdicts` takes an hour: each has flags of its own."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import comparing, dashboard, differences, history, lake, pipeline, pulsar_rounds, verdicts
from benchmarks.accounting import accounting
from benchmarks.kafka import KafkaBench
from benchmarks.machine import machine_line
from benchmarks.pacing import pacing
from benchmarks.probing import probing

SUBJECTS = ("accounting", "pacing", "probing", "publish", "consume")
WITH_OWN_FLAGS = {
    "differences": differences.main,
    "compare": comparing.main,
    "dashboard": dashboard.main,
    "history": history.main,
    "lake": lake.main,
    "pipeline": pipeline.main,
    "pulsar": pulsar_rounds.main,
    "verdicts": verdicts.main,
}


def main() -> None:
    if sys.argv[1:2] and sys.argv[1] in WITH_OWN_FLAGS:
        sys.stdout.write(WITH_OWN_FLAGS[sys.argv[1]](sys.argv[2:]))
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "subjects", nargs="*", metavar="subject", help=f"of {', '.join(SUBJECTS)}; all when none is given"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of publishing, consuming and pacing (default 5)")
    parser.add_argument("--quick", action="store_true", help="far too few records: only to see that it works")
    given = parser.parse_args()
    wrong = [s for s in given.subjects if s not in SUBJECTS]
    if wrong:
        parser.error(f"no such subject: {', '.join(wrong)}; there are {', '.join(SUBJECTS)}")
    subjects = given.subjects or list(SUBJECTS)
    parts = [machine_line()]
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as name:
        directory = Path(name)
        if "accounting" in subjects:
            parts.append(accounting())
        if "pacing" in subjects:
            parts.append(pacing(directory, 1 if given.quick else given.rounds))
        if "probing" in subjects:
            parts.append(probing(directory, 2 if given.quick else 4))
        if {"publish", "consume"} & set(subjects):
            parts += _kafka(directory, subjects, given.rounds, given.quick)
    sys.stdout.write("\n".join(parts))


def _kafka(directory: Path, subjects: list[str], rounds: int, quick: bool) -> list[str]:
    scale = 0.1 if quick else 1.0
    seconds = 3 if quick else 10
    parts = []
    with KafkaBench(directory) as bench:
        if "publish" in subjects:
            for size, records in ((100, 10_000_000), (200, 8_000_000), (1024, 4_000_000)):
                parts.append(bench.publish(size, rounds, int(records * scale), seconds))
        if "consume" in subjects:
            parts.append(bench.consume(200, rounds, int(40_000_000 * scale)))
    return parts


if __name__ == "__main__":
    main()
