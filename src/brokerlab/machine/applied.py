"""What the kernel says a process is held to: read back, as a broker's settings are."""

from __future__ import annotations

import os

from brokerlab.machine.cgroups import cpu_share_of, disk_cap_text, group_of, memory_limit_of
from brokerlab.machine.fsync_floor import is_loaded
from brokerlab.model.machine_plan import NOT_LOADED
from brokerlab.model.plan import MachinePlan


def cores_text(pid: int) -> str:
    """The cores that a process may run on: "0, 1"."""
    return ", ".join(map(str, sorted(os.sched_getaffinity(pid))))


def applied_to_node(machine: MachinePlan, pid: int) -> dict[str, str]:
    """What was asked for nodes, as the kernel has it for this one: by name, for people. Raises OSError where the process
    is gone."""
    found: dict[str, str] = {}
    if machine.node_cores:
        found["cores"] = cores_text(pid)
    if machine.cpu_share_per_node is not None:
        group = group_of(pid, "cpu")
        share = None if group is None else cpu_share_of(group)
        found["cpu_share"] = "no limit" if share is None else f"{share:g} of a processor (control group {group})"
    if machine.disk_write_bytes_per_s is not None:
        group = group_of(pid, "io")
        found["disk_write_cap"] = "no limit" if group is None else f"{disk_cap_text(group)} (control group {group})"
    if machine.memory_limit_bytes_per_node is not None:
        group = group_of(pid, "memory")
        limit = None if group is None else memory_limit_of(group)
        found["memory_limit"] = "no limit" if limit is None else f"{limit} bytes (control group {group})"
    if machine.fsync_floor_ns is not None:
        floor = f"{machine.fsync_floor_ns / 1e6:g} ms (preloaded library)"
        found["fsync_floor"] = floor if is_loaded(pid) else NOT_LOADED
    return found


def applied_to_link(machine: MachinePlan) -> dict[str, str]:
    return {"link_cap": f"{(machine.link_bytes_per_s or 0) / 1e6:g} MB/s each way, by a forwarding process"}


def applied_to_agent(cores: tuple[int, ...], pid: int) -> dict[str, str]:
    return {"cores": cores_text(pid)} if cores else {}
