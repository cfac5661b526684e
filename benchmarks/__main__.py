"""`make bench`, or `python -m benchmarks [publish|consume|pacing|probing|accounting ...] [--rounds N] [--quick]`;
`python -m benchmarks differences` (the comparison of cells) and `compare` (of runs) are simulations, `pipeline`
measures the analysis; these have flags of their own."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import comparing, differences, pipeline
from benchmarks.accounting import accounting
from benchmarks.kafka import KafkaBench
from benchmarks.pacing import pacing
from benchmarks.probing import probing
from benchmarks.verdicts import verdicts

USUAL = ("accounting", "pacing", "probing", "publish", "consume")
SUBJECTS = (*USUAL, "verdicts")  # an hour of its own: only by name


def main() -> None:
    if sys.argv[1:2] == ["differences"]:
        sys.stdout.write(differences.main(sys.argv[2:]))
        return
    if sys.argv[1:2] == ["pipeline"]:
        sys.stdout.write(pipeline.main(sys.argv[2:]))
        return
    if sys.argv[1:2] == ["compare"]:
        sys.stdout.write(comparing.main(sys.argv[2:]))
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "subjects", nargs="*", metavar="subject", help=f"of {', '.join(SUBJECTS)}; all but verdicts when none is given"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of publishing, consuming and pacing (default 5)")
    parser.add_argument("--quick", action="store_true", help="far too few records: only to see that it works")
    given = parser.parse_args()
    wrong = [s for s in given.subjects if s not in SUBJECTS]
    if wrong:
        parser.error(f"no such subject: {', '.join(wrong)}; there are {', '.join(SUBJECTS)}")
    subjects = given.subjects or list(USUAL)
    load = os.getloadavg()[0]
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    parts = [f"{when} UTC, {os.cpu_count()} cores, kernel {platform.release()}, load before {load:.2f}\n"]
    if load > 0.5:
        sys.stderr.write(f"the machine is not idle (load {load:.2f}): read ratios, not rates\n")
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as name:
        directory = Path(name)
        if "accounting" in subjects:
            parts.append(accounting())
        if "pacing" in subjects:
            parts.append(pacing(directory, 1 if given.quick else given.rounds))
        if "probing" in subjects:
            parts.append(probing(directory, 2 if given.quick else 4))
        if "verdicts" in subjects:
            parts.append(verdicts(directory, 1 if given.quick else given.rounds))
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
