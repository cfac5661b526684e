"""environment.json: what the numbers were measured on, and what the brokers themselves reported."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from brokerlab.model.document import SCHEMA_VERSION, Document, SchemaVersion


class ClockPair(Document):
    """The same instant on both clocks of one host."""

    mono_ns: int
    unix_ns: int

    @property
    def unix_minus_mono_ns(self) -> int:
        return self.unix_ns - self.mono_ns


class Clock(Document):
    start: ClockPair | None = None
    end: ClockPair | None = None  # None while the run goes on


class Host(Document):
    name: str = ""
    cpu_count: int | None = None
    cpu_model: str = "unknown"
    memory_bytes: int | None = None
    kernel: str = ""
    system: str = ""


class DurabilityFacts(Document):
    """The level that follows from the settings read back, and those settings."""

    level: str
    because: dict[str, str] = Field(default_factory=dict)


class ExecutionEnvironment(Document):
    """`start_mono_ns` is the instant that all agents agreed on; `clock` was read just before it, `clock_end` after the
    drain."""

    start_mono_ns: int | None = None
    clock: ClockPair | None = None
    clock_end: ClockPair | None = None
    cluster_of: str | None = None  # the execution that its cluster was started for; None for a broker the user runs
    cluster_executions: int | None = None  # how many the cluster had with this one: 1 for a fresh cluster


class CellEnvironment(Document):
    """What one cell ran on. All but `executions` is that of its latest execution."""

    broker: str = ""
    nodes: int | None = None
    version: str | None = None  # None for a broker the user runs: see its settings
    driver_path: str | None = None
    effective_settings: dict[str, dict[str, str]] = Field(
        default_factory=dict
    )  # subject -> setting -> value as the broker reports it
    durability: DurabilityFacts | None = None
    executions: dict[str, ExecutionEnvironment] = Field(default_factory=dict)  # by repeat


class Ceilings(Document):
    """What the machine could do at most when it was measured, for a second or so each. `other_cores` is what other programs
    used just before: they make ceilings lower."""

    measured_unix_s: float
    directory: str  # of the disk that was measured
    disk_write_bytes_per_s: float  # one file, fsynced every 8 MiB
    fsync_p50_ns: int  # of 4 KiB written at the end of a file
    fsync_p99_ns: int
    loopback_bytes_per_s: float  # one TCP connection over 127.0.0.1
    other_cores: float


class Environment(Document):
    schema_version: SchemaVersion = SCHEMA_VERSION
    run: str = ""
    brokerlab: str = ""
    git_head: str | None = None
    python: str = ""
    java: str | None = None
    native_library: str = ""
    host: Host = Host()
    clock: Clock = Clock()
    ceilings: Ceilings | None = None  # where the workload asks for them
    cells: dict[str, CellEnvironment] = Field(default_factory=dict)

    def cell(self, name: str) -> CellEnvironment:
        """The facts of a cell; empty ones where it has not run."""
        return self.cells.get(name, CellEnvironment())

    def with_cell(self, name: str, facts: CellEnvironment) -> Self:
        """The same with the fields that `facts` sets; those of earlier repeats of the cell stay."""
        known = self.cell(name)
        merged = {**known.model_dump(exclude_unset=True), **facts.model_dump(exclude_unset=True)}
        merged["executions"] = {**known.executions, **facts.executions}
        return self.model_copy(update={"cells": {**self.cells, name: CellEnvironment.model_validate(merged)}})
