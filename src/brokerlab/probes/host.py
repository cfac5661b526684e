"""The host: CPU, load, pressure, memory, the run directory's disk, loopback traffic. Read from /proc and /sys."""

from __future__ import annotations

import os
from pathlib import Path

from brokerlab.brokers.contract import Reading
from brokerlab.model import subjects
from brokerlab.model.watched_here import HOST

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_SECTOR_BYTES = 512  # /sys/block/*/stat counts these, whatever the disk's own sector size


def _reading(metric: str, value: float) -> Reading:
    return Reading.of(HOST[metric], subjects.HOST, value)


class CpuTimes:
    """Cores busy with what since the last call, all CPUs together.

    /proc/stat has a resolution of 10 ms, so one second's figures are good to about 0.01 cores. Busy is what was neither idle
    nor stolen: kernels measure idle time, but sample at their clock tick what the rest was spent on, and tasks that wake by
    timers thousands of times a second are seen there up to twice as often as they run (user + system + idle of two cores
    then is 2.4).
    """

    def __init__(self, stat_file: Path = Path("/proc/stat")) -> None:
        self._file = stat_file
        self._before: list[int] | None = None
        self._before_ns = 0
        self.busy_cores: float | None = None  # of the last call; None before there are two

    def read(self, now_ns: int) -> list[Reading]:
        with self._file.open() as f:
            fields = [int(x) for x in f.readline().split()[1:9]]
            cpus = sum(line.startswith("cpu") for line in f)
        before, elapsed_s = self._before, (now_ns - self._before_ns) / 1e9
        self._before, self._before_ns = fields, now_ns
        if before is None or elapsed_s <= 0:
            return []
        user, nice, system, idle, iowait, irq, softirq, steal = (
            (a - b) / _TICKS_PER_S / elapsed_s for a, b in zip(fields, before, strict=True)
        )
        self.busy_cores = cpus - idle - iowait - steal
        return [
            _reading("cpu_user_cores", user + nice),
            _reading("cpu_system_cores", system + irq + softirq),
            _reading("cpu_idle_cores", idle),
            _reading("cpu_iowait_cores", iowait),
            _reading("cpu_steal_cores", steal),
            _reading("cpu_busy_cores", self.busy_cores),
        ]


def read_load() -> list[Reading]:
    return [_reading("load1", os.getloadavg()[0])]


def read_pressure(directory: Path = Path("/proc/pressure")) -> list[Reading]:
    """Share of the last 10 s in which some task waited for the resource; nothing where the kernel does not say."""
    readings = []
    for resource in ("cpu", "io", "memory"):
        try:
            text = (directory / resource).read_text()
        except OSError:  # not compiled in, or switched off at boot (then reading gives EOPNOTSUPP)
            continue
        some = dict(pair.split("=") for pair in text.split("\n", 1)[0].split()[1:])
        readings.append(_reading(f"pressure_{resource}_some_avg10_percent", float(some["avg10"])))
    return readings


def read_memory(file: Path = Path("/proc/meminfo")) -> list[Reading]:
    kib = {}
    with file.open() as f:
        for line in f:
            name, _, rest = line.partition(":")
            if name in ("MemTotal", "MemAvailable"):
                kib[name] = int(rest.split()[0])
            if len(kib) == 2:
                break
    return [
        _reading("memory_available_bytes", kib["MemAvailable"] * 1024),
        _reading("memory_used_bytes", (kib["MemTotal"] - kib["MemAvailable"]) * 1024),
    ]


def read_disk(directory: Path) -> list[Reading]:
    """Free bytes of the file system that holds `directory`; traffic too where one block device carries it."""
    space = os.statvfs(directory)
    readings = [_reading("disk_free_bytes", space.f_bavail * space.f_frsize)]
    device = os.stat(directory).st_dev  # noqa: PTH116 - called every second
    try:
        text = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").read_text()
    except OSError:  # tmpfs, overlay, btrfs: no block device of their own
        return readings
    fields = text.split()
    return [
        *readings,
        _reading("disk_read_bytes_total", int(fields[2]) * _SECTOR_BYTES),
        _reading("disk_write_bytes_total", int(fields[6]) * _SECTOR_BYTES),
        _reading("disk_busy_ms_total", int(fields[9])),
    ]


def read_network(file: Path = Path("/proc/net/dev")) -> list[Reading]:
    """Bytes through the loopback interface, received only, because each byte is counted on both sides; and through all
    others together, where there are any."""
    received: dict[str, int] = {}
    transmitted: dict[str, int] = {}
    with file.open() as f:
        for line in f:
            name, colon, rest = line.partition(":")
            if colon:
                fields = rest.split()
                received[name.strip()], transmitted[name.strip()] = int(fields[0]), int(fields[8])
    loopback = received.pop("lo", None)
    readings = [] if loopback is None else [_reading("network_loopback_bytes_total", loopback)]
    if received:
        transmitted.pop("lo", None)
        readings.append(_reading("network_receive_bytes_total", sum(received.values())))
        readings.append(_reading("network_transmit_bytes_total", sum(transmitted.values())))
    return readings
