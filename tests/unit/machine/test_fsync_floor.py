"""Each fsync of a process takes at least the floor; what cannot be preloaded into is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brokerlab.errors import MachineError
from brokerlab.machine.fsync_floor import floored, is_dynamic, is_loaded
from brokerlab.model.plan import MachinePlan
from brokerlab.native.build import compiler
from brokerlab.processes.confinement import Confinement
from brokerlab.processes.process import ServerProcess

FLOOR_NS = 30_000_000
SYNCS = """
import mmap, os, sys, time
with open(sys.argv[1], "w+b") as file:
    file.write(bytes(4096)); file.flush()
    mapped = mmap.mmap(file.fileno(), 4096)
    def took(call):
        began = time.monotonic_ns(); call(); return time.monotonic_ns() - began
    calls = (lambda: os.fsync(file.fileno()), lambda: os.fdatasync(file.fileno()), mapped.flush)
    for call in calls: print(min(took(call) for _ in range(5)))
    try: os.fsync(10_000)
    except OSError as error: print(error.errno)
"""
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler")


def measured(tmp_path: Path, env: dict[str, str]) -> list[int]:
    command = [sys.executable, "-c", SYNCS, str(tmp_path / "file")]
    said = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return [int(line) for line in said.stdout.split()]


@needs_compiler
def test_every_kind_of_fsync_takes_at_least_the_floor_and_an_error_stays_one(tmp_path: Path) -> None:
    command = [sys.executable]
    *times_ns, error = measured(tmp_path, floored(os.environ, command, FLOOR_NS))
    assert len(times_ns) == 3
    assert all(time_ns >= FLOOR_NS for time_ns in times_ns), times_ns
    assert error == 9  # EBADF
    *without_ns, _ = measured(tmp_path, floored(os.environ, command, 1))
    if max(without_ns) < FLOOR_NS:  # else the disk is slower than the floor
        assert sum(times_ns) > sum(without_ns)


@needs_compiler
def test_a_server_process_is_started_with_it_and_it_can_be_read_back(tmp_path: Path) -> None:
    confinement = Confinement(MachinePlan(fsync_floor_ns=FLOOR_NS), tmp_path)
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    process = ServerProcess("node-1", sleeper, tmp_path / "log", tmp_path, os.environ, confinement)
    process.start()
    try:
        until = time.monotonic() + 60
        while not is_loaded(process.pid):
            assert time.monotonic() < until
            time.sleep(0.01)
        assert not is_loaded(os.getpid())
    finally:
        process.kill()


@needs_compiler
def test_a_statically_linked_program_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "static.c"
    source.write_text("int main(void) { return 0; }")
    program = tmp_path / "static"
    made = subprocess.run([compiler() or "cc", "-static", "-o", program, source], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no static C library here")
    assert not is_dynamic(program)
    with pytest.raises(MachineError, match="not linked dynamically"):
        floored(os.environ, [str(program)], FLOOR_NS)


def test_a_script_is_what_its_interpreter_is(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!{shutil.which('sh')} -e\nexit 0\n")
    assert is_dynamic(script)
    assert not is_dynamic(Path(__file__))


@needs_compiler
def test_another_preloaded_library_stays() -> None:
    env = floored({"LD_PRELOAD": "/other.so", "PATH": os.environ["PATH"]}, [sys.executable], FLOOR_NS)
    assert env["LD_PRELOAD"].endswith(":/other.so")
