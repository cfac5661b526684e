"""Control groups: where they can be made, what is written, what is said where they cannot, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from brokerlab.errors import MachineError
from brokerlab.machine import cgroups
from brokerlab.machine.cgroups import Group, Limits, Place, group_of, place_of, remove_leftovers

V1 = "32 31 0:29 / {root}/cpu rw,relatime - cgroup cgroup rw,cpu\n33 31 0:30 / {root}/blkio rw - cgroup cgroup rw,blkio\n"
V2 = "31 23 0:28 / {root} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"


def proc(tmp_path: Path, mounts: str, groups: str) -> Path:
    """A /proc/self as the kernel writes it."""
    made = tmp_path / "proc"
    made.mkdir()
    (made / "mountinfo").write_text(f"22 27 0:21 / /proc rw - proc proc rw\n{mounts.format(root=tmp_path / 'fs')}")
    (made / "cgroup").write_text(groups)
    return made


def directory(path: Path, **files: str) -> Path:
    path.mkdir(parents=True)
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text)
    return path


def test_version_1_is_found_with_the_group_we_are_in(tmp_path: Path) -> None:
    own = directory(tmp_path / "fs" / "cpu" / "jobs" / "7")
    directory(tmp_path / "fs" / "blkio")
    here = proc(tmp_path, V1, "2:cpu:/jobs/7\n7:blkio:/\n0::/\n")
    assert place_of("cpu", here) == Place(own, 1)
    assert place_of("io", here) == Place(tmp_path / "fs" / "blkio", 1)


def test_version_2_needs_a_group_above_that_hands_the_controller_on(tmp_path: Path) -> None:
    directory(tmp_path / "fs" / "app.slice" / "run.scope", cgroup__subtree_control="")
    (tmp_path / "fs" / "app.slice" / "cgroup.subtree_control").write_text("cpu memory\n")
    here = proc(tmp_path, V2, "0::/app.slice/run.scope\n")
    assert place_of("cpu", here) == Place(tmp_path / "fs" / "app.slice", 2)
    with pytest.raises(MachineError, match="a cap on disk writes is not possible on this machine: no group above"):
        place_of("io", here)


def test_without_control_groups_it_is_said_what_for_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        MachineError, match="a CPU share per node is not possible on this machine: no control groups"
    ) as e:
        place_of("cpu", proc(tmp_path, "", "0::/\n"))
    assert "leave it out" in str(e.value.hint)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    own = directory(tmp_path / "fs" / "cpu")
    own.chmod(0o500)
    with pytest.raises(MachineError, match="cannot be written by this user"):
        place_of("cpu", proc(tmp_path, V1, "2:cpu:/\n"))


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (
            1,
            {
                "cpu.cfs_period_us": "10000",
                "cpu.cfs_quota_us": "3000",
                "blkio.throttle.write_bps_device": "8:16 1000",
                "memory.limit_in_bytes": "5000",
                "memory.memsw.limit_in_bytes": "5000",
            },
        ),
        (2, {"cpu.max": "3000 10000", "io.max": "8:16 wbps=1000", "memory.max": "5000", "memory.swap.max": "0"}),
    ],
)
def test_what_is_written(
    version: int, expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "disk_device", lambda path: "8:16")  # noqa: ARG005
    limits = Limits(cpu_share=0.3, disk_write_bytes_per_s=1000, memory_bytes=5000)
    written = {
        file: text
        for kind in limits.kinds()
        for file, text in cgroups._settings(kind, limits, version, tmp_path)
    }  # fmt: skip
    assert written == expected


def test_a_partition_is_capped_as_the_disk_it_is_on(tmp_path: Path) -> None:
    number = tmp_path.stat().st_dev
    disk = directory(tmp_path / "devices" / "sda", dev="8:0\n")
    part = directory(disk / "sda1", dev="8:1\n", partition="1\n")
    devices = directory(tmp_path / "block")
    (devices / f"{os.major(number)}:{os.minor(number)}").symlink_to(part)
    assert cgroups.disk_device(tmp_path, devices) == "8:0"
    with pytest.raises(MachineError, match="on no disk of its own"):
        cgroups.disk_device(tmp_path, tmp_path / "nothing")


def _possible() -> bool:
    try:
        Group("trial", Limits(cpu_share=0.5, memory_bytes=64 << 20), Path()).remove()
    except MachineError:
        return False
    return True


needs_groups = pytest.mark.skipif(not _possible(), reason="no control groups can be made here")
MEMORY_BYTES = 64 << 20

BUSY = """
import time
until = time.monotonic() + 1.0
while time.monotonic() < until: pass
print(time.process_time())
"""


@needs_groups
def test_a_process_of_the_group_gets_its_share_and_the_group_goes_with_it(tmp_path: Path) -> None:
    group = Group("share", Limits(cpu_share=0.3), tmp_path)
    try:
        said = subprocess.run(
            [sys.executable, "-c", BUSY], preexec_fn=group.enter, capture_output=True, text=True, check=True
        )
        (path,) = group.paths
        assert cgroups.cpu_share_of(path) == 0.3
        assert cgroups.throttled_ms(path) > 0
    finally:
        group.remove()
    assert float(said.stdout) < 0.45  # of a second; without the group nearly all of it
    assert not path.exists()
    group.remove()


CACHED = """
import sys
with open(sys.argv[1], "r+b") as file:
    for _ in range(192): file.write(bytes(1 << 20))
    file.seek(0)
    while file.read(1 << 20): pass
print(open(sys.argv[2]).read())
"""
GREEDY = "held = [bytearray(1 << 20) for _ in range(1024)]"


@needs_groups
def test_a_memory_limit_holds_cached_files_too_and_ends_what_needs_more(tmp_path: Path) -> None:
    group = Group("memory", Limits(memory_bytes=MEMORY_BYTES), tmp_path)
    try:
        (path,) = group.paths
        assert cgroups.memory_limit_of(path) == MEMORY_BYTES
        data = tmp_path / "data"
        data.touch()
        used = next(f for n in ("memory.current", "memory.usage_in_bytes") if (f := path / n).exists())
        said = subprocess.run(
            [sys.executable, "-c", CACHED, data, used],
            preexec_fn=group.enter,
            capture_output=True,
            text=True,
            check=True,
        )
        assert 1 << 20 < int(said.stdout) <= MEMORY_BYTES  # of 192 MiB written and read again
        greedy = subprocess.run(
            [sys.executable, "-c", GREEDY], preexec_fn=group.enter, capture_output=True, check=False
        )
        assert greedy.returncode != 0
    finally:
        group.remove()
    assert not path.exists()


@needs_groups
def test_groups_of_a_killed_command_are_taken_away_and_those_of_a_living_one_are_not(tmp_path: Path) -> None:
    own = Group("living", Limits(cpu_share=0.5, memory_bytes=MEMORY_BYTES), tmp_path)
    code = (
        "import os, signal; from pathlib import Path; from brokerlab.machine.cgroups import Group, Limits\n"
        "print(*Group('killed', Limits(0.5, None, 1 << 26), Path()).paths, sep='|', flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    left = {Path(path) for path in said.stdout.strip().split("|")}
    try:
        assert all(path.is_dir() for path in left)
        assert left <= set(remove_leftovers())
        assert not any(path.exists() for path in left)
        assert all(path.is_dir() for path in own.paths)
        assert group_of(os.getpid(), "cpu") is None
    finally:
        own.remove()
