"""Checks of the C code. `make check` runs the first, `make check-native` all of them.

    python tools/check_native.py warnings                  # the compiler's, as errors
    python tools/check_native.py tests                     # its unit tests under the address and undefined sanitizers
    python tools/check_native.py fuzz                      # a million damaged inputs for every parser, under the same
    python tools/check_native.py fuzz --inputs 1000 fetch  # fewer, of one parser
    python tools/check_native.py all

The inputs follow from the seed (`--seed`, 1 unless given) and their number (from `--first` on, 0 unless given): a failure
prints the command that repeats it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from brokerlab.native.build import compiler

ROOT = Path(__file__).parents[1]
TARGETS = (
    "batch",
    "message",
    "fetch",
    "produce",
    "nats_producer",
    "nats_consumer",
    "pulsar_producer",
    "pulsar_consumer",
)
INPUTS = 1_000_000
WARNINGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wmissing-prototypes")
SANITIZED = (
    "-std=gnu11", "-O1", "-g", "-U_FORTIFY_SOURCE", "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
)  # fmt: skip
WRAPPED = ("recv", "send", "sendmsg", "close", "ppoll", "clock_gettime")  # by native/fuzz/wire.c
SMALL_READS = "-DBL_READ_BYTES=512"
TESTS = (
    "tests/unit/agent/test_ledger_counts.py",
    "tests/unit/agent/test_ledgers_agree.py",
    "tests/unit/agent/test_native_ticks.py",
    "tests/unit/agent/test_senders_agree.py",
    "tests/unit/agent/test_slow_clients.py",
    "tests/unit/agent/test_stamp.py",
    "tests/unit/brokers/test_nats_native.py",
    "tests/unit/brokers/kafka/test_kafka_fetch_batches.py",
    "tests/unit/brokers/kafka/test_kafka_fetch_wire.py",
    "tests/unit/brokers/kafka/test_kafka_produce_unanswered.py",
    "tests/unit/brokers/kafka/test_kafka_produce_wire.py",
    "tests/unit/brokers/pulsar/test_pulsar_consume_wire.py",
    "tests/unit/brokers/pulsar/test_pulsar_produce_wire.py",
    "tests/unit/test_native_border.py",
    "tests/unit/test_native_library.py",
)


def sources(*directories: str) -> list[str]:
    return sorted(str(p) for directory in directories for p in (ROOT / directory).glob("*.c"))


def run(*command: str, **environment: str) -> None:
    """Raises SystemExit with the command's own code when it fails."""
    code = subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=False).returncode
    if code:
        sys.exit(code)


def check_warnings(cc: str) -> None:
    for source in sources("native", "native/fuzz"):
        run(cc, *WARNINGS, "-c", "-o", os.devnull, source)


def check_tests(cc: str, directory: Path) -> None:
    library = directory / "brokerlab-sanitized.so"
    run(cc, *SANITIZED, "-shared", "-fPIC", "-fvisibility=hidden", "-o", str(library), *sources("native"), "-ldl")
    runtime = subprocess.run([cc, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    run(
        sys.executable, "-m", "pytest", "-q", "--capture=no", "-p", "no:cacheprovider", *TESTS,
        BROKERLAB_NATIVE=str(library),
        LD_PRELOAD=runtime.stdout.strip(),  # a sanitized library in a plain python needs its runtime first
        ASAN_OPTIONS="detect_leaks=0",  # python itself leaves memory behind at its end
    )  # fmt: skip


def check_parsers(cc: str, directory: Path, targets: list[str], inputs: int, seed: int, first: int) -> None:
    program = directory / "fuzz"
    wraps = "-Wl," + ",".join(f"--wrap={name}" for name in WRAPPED)
    run(cc, *SANITIZED, SMALL_READS, "-o", str(program), *sources("native", "native/fuzz"), wraps, "-ldl")
    for target in targets:
        run(str(program), target, str(inputs), str(seed), str(first))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=("warnings", "tests", "fuzz", "all"))
    parser.add_argument("targets", nargs="*", metavar="parser", help=f"of {', '.join(TARGETS)}; all when none is given")
    parser.add_argument("--inputs", type=int, default=INPUTS, help=f"for each parser (default {INPUTS:,})")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first input (default 0)")
    given = parser.parse_intermixed_args()
    if wrong := [t for t in given.targets if t not in TARGETS]:
        parser.error(f"no such parser: {', '.join(wrong)}; there are {', '.join(TARGETS)}")
    cc = compiler()
    if cc is None:
        sys.exit("no C compiler on PATH: apt-get install gcc libc6-dev, or set CC")
    with tempfile.TemporaryDirectory(prefix="brokerlab-check-") as name:
        if given.check in ("warnings", "all"):
            check_warnings(cc)
        if given.check in ("tests", "all"):
            check_tests(cc, Path(name))
        if given.check in ("fuzz", "all"):
            check_parsers(cc, Path(name), given.targets or list(TARGETS), given.inputs, given.seed, given.first)


if __name__ == "__main__":
    main()
