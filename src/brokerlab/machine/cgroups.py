"""Control groups of the kernel, versions 1 and 2: shares of a processor, a cap on what is written to the disk, and a limit
on memory, files that the kernel caches included.

Groups are made below the one we are in, and only processes of ours are put into them, by themselves, before their program
starts. A group's name holds the process that made it (number and start time): that is how groups are recognized that a
killed command has left, and taken away by the next one. No process is signalled here.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from brokerlab.errors import MachineError

Kind = Literal["cpu", "io", "memory"]

PREFIX = "brokerlab"
PERIOD_US = 10_000  # short, so that a node is slow rather than asleep: 30 % of a core is 3 ms in every 10 ms
LEAST_CPU_SHARE = 0.1  # the kernel's least quota is 1 ms
_V1_NAMES: dict[Kind, str] = {"cpu": "cpu", "io": "blkio", "memory": "memory"}
_ASKED_BY: dict[Kind, str] = {
    "cpu": "a CPU share per node",
    "io": "a cap on disk writes",
    "memory": "a memory limit per node",
}
_REMOVE_S = 5.0
# Limits on swapping: a kernel may be built or started without them. Then a node may swap beyond its memory.
WHERE_THE_KERNEL_HAS_IT = ("memory.memsw.limit_in_bytes", "memory.swap.max")


@dataclass(frozen=True)
class Place:
    """A directory in which groups of one kind can be made."""

    directory: Path
    version: Literal[1, 2]


def place_of(kind: Kind, proc: Path = Path("/proc/self")) -> Place:
    """Where groups of this kind can be made. Raises MachineError that says why they cannot."""
    mounts, own = _mounts(proc), _own_groups(proc)
    name = _V1_NAMES[kind]
    for mount in mounts:
        if mount.kind == "cgroup" and name in mount.options:
            return Place(_writable(kind, mount.directory_of(own.get(name, "/"))), 1)
    tried = []
    for mount in mounts:
        if mount.kind == "cgroup2":
            inner = mount.directory_of(own.get("", "/"))
            for directory in (inner, *inner.parents):
                if _allows(kind, directory):
                    return Place(_writable(kind, directory), 2)
                tried.append(directory)
                if directory == mount.point:
                    break
    why = f"no group above {tried[0]} hands on the {kind} controller" if tried else "no control groups are mounted"
    raise _not_possible(kind, why)


def _not_possible(kind: Kind, why: str) -> MachineError:
    return MachineError(
        f"{_ASKED_BY[kind]} is not possible on this machine: {why}",
        hint="leave it out of the workload, run as root, or as a systemd service with Delegate=yes",
    )


def _allows(kind: Kind, directory: Path) -> bool:
    """Whether groups made in this one of version 2 get the controller. It is on already, or can be switched on where no
    processes are: nothing is switched on for others here."""
    try:
        return kind in (directory / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False


def _writable(kind: Kind, directory: Path) -> Path:
    if not directory.is_dir():
        raise _not_possible(kind, f"there is no {directory}")
    if os.statvfs(directory).f_flag & os.ST_RDONLY:
        raise _not_possible(kind, f"{directory} is mounted read-only")
    if not os.access(directory, os.W_OK):
        raise _not_possible(kind, f"{directory} cannot be written by this user")
    return directory


@dataclass(frozen=True)
class _Mount:
    kind: str
    point: Path
    root: str  # which group of the hierarchy is mounted here
    options: frozenset[str]

    def directory_of(self, group: str) -> Path:
        inner = group.removeprefix(self.root.rstrip("/")).lstrip("/")
        found = self.point / inner
        return found if found.is_dir() else self.point


def _mounts(proc: Path) -> list[_Mount]:
    """From mountinfo: "... root mount-point options - kind source super-options"."""
    found = []
    with contextlib.suppress(OSError):
        for line in (proc / "mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            fields, (kind, _, options) = before.split(), after.split(" ", 2)
            if kind in ("cgroup", "cgroup2"):
                found.append(_Mount(kind, Path(fields[4]), fields[3], frozenset(options.split(","))))
    return found


def _own_groups(proc: Path) -> dict[str, str]:
    """Controller to the group a process is in; "" is version 2."""
    groups: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in (proc / "cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            groups |= dict.fromkeys(names.split(","), path)
    return groups


@dataclass(frozen=True)
class Limits:
    """What the processes of a group may use together. None: as much as there is."""

    cpu_share: float | None = None  # of one processor
    disk_write_bytes_per_s: int | None = None
    memory_bytes: int | None = None

    def kinds(self) -> tuple[Kind, ...]:
        asked: dict[Kind, float | None] = {
            "cpu": self.cpu_share,
            "io": self.disk_write_bytes_per_s,
            "memory": self.memory_bytes,
        }
        return tuple(kind for kind, limit in asked.items() if limit is not None)


class Group:
    """One group, which is a directory for each kind of limit in version 1."""

    def __init__(self, name: str, limits: Limits, disk_of: Path) -> None:
        """Made at once. `disk_of` is a path on the disk that is capped. Raises MachineError."""
        self.paths: list[Path] = []
        for kind in limits.kinds():
            place = place_of(kind)
            path = place.directory / f"{PREFIX}-{os.getpid()}-{_started(os.getpid())}-{name}"
            try:
                path.mkdir(exist_ok=True)
                self.paths.append(path)
                for file, text in _settings(kind, limits, place.version, disk_of):
                    if file not in WHERE_THE_KERNEL_HAS_IT or (path / file).exists():
                        (path / file).write_text(text)
            except OSError as error:
                self.remove()
                raise _not_possible(kind, str(error)) from error

    def enter(self) -> None:
        """In a child before its program starts: it and all it starts are in the group from then on."""
        for path in self.paths:
            (path / "cgroup.procs").write_text("0")

    def remove(self) -> None:
        """Once its processes have ended, which may take a moment. Raises OSError where they do not. Idempotent."""
        until = time.monotonic() + _REMOVE_S
        for path in list(self.paths):
            while True:
                try:
                    path.rmdir()
                except FileNotFoundError:
                    pass
                except OSError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(0.02)
                    continue
                self.paths.remove(path)
                break


def _settings(kind: Kind, limits: Limits, version: int, disk_of: Path) -> Iterator[tuple[str, str]]:
    if kind == "cpu":
        assert limits.cpu_share is not None
        quota_us = round(limits.cpu_share * PERIOD_US)
        if version == 2:
            yield "cpu.max", f"{quota_us} {PERIOD_US}"
        else:
            yield "cpu.cfs_period_us", str(PERIOD_US)
            yield "cpu.cfs_quota_us", str(quota_us)
        return
    if kind == "memory":
        if version == 2:
            yield "memory.max", str(limits.memory_bytes)
            yield "memory.swap.max", "0"
        else:
            yield "memory.limit_in_bytes", str(limits.memory_bytes)
            yield "memory.memsw.limit_in_bytes", str(limits.memory_bytes)
        return
    device = disk_device(disk_of)
    if version == 2:
        yield "io.max", f"{device} wbps={limits.disk_write_bytes_per_s}"
    else:
        yield "blkio.throttle.write_bps_device", f"{device} {limits.disk_write_bytes_per_s}"


def disk_device(path: Path, sys_devices: Path = Path("/sys/dev/block")) -> str:
    """MAJOR:MINOR of the whole disk that holds `path`. Raises MachineError where there is none, as for tmpfs."""
    number = path.stat().st_dev
    device = sys_devices / f"{os.major(number)}:{os.minor(number)}"
    if not device.exists():
        raise _not_possible("io", f"{path} is on no disk of its own")
    whole = device.resolve().parent if (device / "partition").exists() else device
    return (whole / "dev").read_text().strip()


def group_of(pid: int, kind: Kind) -> Path | None:
    """The group of ours that a process is in; None where it is in none."""
    proc = Path(f"/proc/{pid}")
    own = _own_groups(proc)
    for mount in _mounts(proc):
        is_v1 = mount.kind == "cgroup" and _V1_NAMES[kind] in mount.options
        if is_v1 or mount.kind == "cgroup2":
            path = mount.directory_of(own.get(_V1_NAMES[kind] if is_v1 else "", "/"))
            if path.name.startswith(f"{PREFIX}-"):
                return path
    return None


def cpu_share_of(group: Path) -> float | None:
    """Read back: the share of a processor that a group may use; None where it has no limit."""
    try:
        quota, period = (group / "cpu.max").read_text().split()
    except OSError:
        quota, period = ((group / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
    return None if quota in ("max", "-1") else int(quota) / int(period)


def disk_cap_text(group: Path) -> str:
    """Read back: the cap on disk writes of a group, as the kernel writes it."""
    for name in ("io.max", "blkio.throttle.write_bps_device"):
        with contextlib.suppress(OSError):
            return (group / name).read_text().strip() or "no limit"
    return "no limit"


def memory_limit_of(group: Path) -> int | None:
    """Read back: the bytes of memory that a group may use; None where it has no limit. The kernel rounds to whole pages."""
    for name in ("memory.max", "memory.limit_in_bytes"):
        with contextlib.suppress(OSError):
            text = (group / name).read_text().strip()
            return None if text == "max" or int(text) >= 1 << 62 else int(text)
    return None


def memory_used_bytes(group: Path) -> int:
    """What a group holds now: memory of its processes, and files of theirs that the kernel caches. Raises OSError."""
    name = "memory.current" if (group / "memory.current").exists() else "memory.usage_in_bytes"
    return int((group / name).read_text())


def throttled_ms(group: Path) -> float:
    """How long processes of the group have waited for their share, all together, since it was made."""
    stat = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(stat["throttled_usec"]) / 1e3 if "throttled_usec" in stat else int(stat["throttled_time"]) / 1e6


def remove_leftovers() -> list[Path]:
    """Take away groups of commands that were killed, and return them. Those of commands that run stay."""
    removed = []
    for kind in _V1_NAMES:
        with contextlib.suppress(MachineError):
            for path in place_of(kind).directory.glob(f"{PREFIX}-*-*-*"):
                _, pid, started, *_ = path.name.split("-")
                if pid.isdigit() and str(_started(int(pid))) != started:
                    with contextlib.suppress(OSError):
                        path.rmdir()
                        removed.append(path)
    return removed


def _started(pid: int) -> int | None:
    """When a process started, in ticks since boot; None where there is none of this number."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return None
