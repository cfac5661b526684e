"""What a workload asks of the machine that this one cannot do. Nothing is changed by looking."""

from __future__ import annotations

import os
from collections.abc import Iterator

from brokerlab.brokers.contract import CellProblem
from brokerlab.errors import MachineError
from brokerlab.machine.cgroups import place_of
from brokerlab.model.plan import CellPlan, Durability
from brokerlab.model.quantities import format_bytes
from brokerlab.workload.fields import Workload
from brokerlab.workload.tree import Path


def machine_problems(workload: Workload) -> Iterator[tuple[Path, str]]:
    """The file may be right: another machine may have the cores and the control groups."""
    here = os.sched_getaffinity(0)
    names = ", ".join(map(str, sorted(here)))
    place = workload.placement
    for who in ("nodes", "producers", "consumers") if place is not None else ():
        for i, core in enumerate(getattr(place, who) or ()):
            if core not in here:
                yield ("placement", who, i), f"must be a core that this command may use: {names}"
    share = workload.cluster.cpu_share_per_node
    if share is not None and share > len(here):
        yield ("cluster", "cpu_share_per_node"), f"must be at most the {len(here)} processors of this machine"
    memory, limit = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), workload.cluster.memory_limit_per_node
    if limit is not None and limit > memory:
        yield ("cluster", "memory_limit_per_node"), f"must be at most the {format_bytes(memory)} of this machine"
    for field, kind, given in (
        ("cpu_share_per_node", "cpu", share),
        ("disk_write_cap", "io", workload.cluster.disk_write_cap),
        ("memory_limit_per_node", "memory", workload.cluster.memory_limit_per_node),
    ):
        if given is not None:
            try:
                place_of(kind)  # type: ignore[arg-type] # one of its words
            except MachineError as error:
                yield ("cluster", field), error.message


def disk_cap_problems(cell: CellPlan) -> Iterator[CellProblem]:
    """Version 1 of control groups sees only what a process writes to the disk itself: what the kernel writes later, on
    its own, passes beside the cap."""
    if (
        cell.machine.disk_write_bytes_per_s is None
        or cell.endpoint
        or cell.durability in (Durability.L1, Durability.L3)
    ):
        return
    try:
        version = place_of("io").version
    except MachineError:
        return  # refused already
    if version == 1:
        said = (
            "with control groups of version 1, as on this machine, only writes that a node fsyncs itself are capped: "
            f"durability must be L1 or L3, and is {cell.durability}"
        )
        yield CellProblem(("cluster", "disk_write_cap"), said)
