"""What running a study would do here: its cells, time and disk, and which claims this machine cannot answer and why."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from brokerlab.brokers.registry import broker_named
from brokerlab.errors import NotFoundError
from brokerlab.model.claims import Claim
from brokerlab.model.plan import RunPlan
from brokerlab.model.quantities import format_bytes
from brokerlab.studies.cells import PlannedCell, Planner, planned_cells, without_native
from brokerlab.studies.fields import Requires, Scale
from brokerlab.studies.load import Study
from brokerlab.workload.estimate import ANALYSIS_S, Estimate
from brokerlab.workload.merged import merged

DISK_SHARE = 0.9  # of the free space that a cell's data may take


@dataclass(frozen=True)
class Machine:
    """What claims may require."""

    cpu_count: int
    memory_bytes: int
    disk_free_bytes: int


def this_machine(runs: Path) -> Machine:
    """Of the disk, what is free where runs are kept."""
    import shutil

    import psutil

    place = runs
    while not place.exists():
        place = place.parent
    cpus = len(os.sched_getaffinity(0))
    return Machine(cpus, int(psutil.virtual_memory().total), shutil.disk_usage(place).free)


@dataclass(frozen=True)
class StudyPlan:
    """`wanted` are the claims that are asked about; `absent` cells cannot run and `unmet` claims lack something, each with
    the reason. Cells of claims that cannot be answered are not run."""

    study: Study
    scale: str
    wanted: tuple[Claim, ...]
    cells: Mapping[str, PlannedCell]
    absent: Mapping[str, str]
    unmet: Mapping[str, str]
    estimates: Mapping[str, Estimate]  # one repeat of each cell that can run, alone
    estimate: Callable[[RunPlan], Estimate]

    @property
    def looks(self) -> tuple[int, ...]:
        return looks(self.study.scale(self.scale))

    @property
    def one_by_one(self) -> bool:
        """Whether all repeats run on one cluster before the next is started."""
        return self.study.scale(self.scale).cluster == "one_by_one"

    def cannot_answer(self) -> dict[str, str]:
        """Claims that this machine cannot answer, with the reason."""
        found = {}
        for claim in self.wanted:
            missing = next((c for c in claim.cells if c in self.absent), None)
            if claim.id in self.unmet:
                found[claim.id] = self.unmet[claim.id]
            elif missing is not None:
                found[claim.id] = f"{missing}: {self.absent[missing]}"
        return found

    def running_cells(self) -> tuple[str, ...]:
        """Cells that are run: those of claims that can be answered, and, where all claims are asked about, those that
        figures draw at this scale."""
        no = self.cannot_answer()
        needed = {cell for claim in self.wanted if claim.id not in no for cell in claim.cells}
        if len(self.wanted) == len(self.study.claims):
            drawn = (cells for _, figure, cells in self.study.figures() if figure.scale in (None, self.scale))
            needed |= {cell for cells in drawn for cell in cells}
        return tuple(c.name for c in self.study.cells if c.name in needed and c.name not in self.absent)

    def only_at_another_scale(self) -> frozenset[str]:
        """Cells that no claim names and no figure of this scale draws."""
        here = {cell for claim in self.study.claims for cell in claim.cells}
        here |= {c for _, f, cells in self.study.figures() if f.scale in (None, self.scale) for c in cells}
        there = {c for _, f, cells in self.study.figures() if f.scale not in (None, self.scale) for c in cells}
        return frozenset(there - here)

    def calibrates(self) -> str | None:
        """The cell that is run first, where a rate of a cell that runs is a share of what it reaches."""
        calibrate = self.study.fields.calibrate
        asks = any(self.study.cell(name).uses_calibration(self.scale) for name in self.running_cells())
        return calibrate.cell if calibrate is not None and asks and calibrate.cell not in self.absent else None

    def seconds(self) -> tuple[float, float]:
        """How long it takes when every claim is clear at the first look, and when none is before the last."""
        runs = [run for e in self.study.fields.experiments if (run := self._run_of(e.id))]
        first = sum(self._seconds_of(run, self.looks[0]) for run in runs)
        cell = self.calibrates()
        if cell is not None and self.study.fields.calibrate is not None:
            first += (self.estimates[cell].seconds - ANALYSIS_S) * self.study.fields.calibrate.repeats + ANALYSIS_S
        steps = [after - before for before, after in pairwise(self.looks)]
        last = first + sum(self._seconds_of(run, step) for run in runs for step in steps)
        return first, last

    def _seconds_of(self, run: dict[str, RunPlan], repeats: int) -> float:
        return self.estimate(merged(run, repeats=repeats, tag="", one_by_one=self.one_by_one)).seconds

    def _run_of(self, experiment: str) -> dict[str, RunPlan]:
        """The cells of an experiment that run together."""
        running = set(self.running_cells())
        cells = (c.name for c in self.study.experiment_cells(experiment) if c.name in running)
        return {name: plan for name in cells if (plan := self.cells[name].plan) is not None}

    def disk_bytes(self) -> tuple[float | None, float]:
        """(broker data of one execution at most, None where it is not known; evidence that is kept)."""
        running = [self.estimates[name] for name in self.running_cells()]
        data = [e.broker_data_bytes for e in running]
        known = [d for d in data if d is not None]
        return (max(known) if known and len(known) == len(data) else None), sum(
            e.evidence_bytes for e in running
        ) * self.looks[-1]


def looks(scale: Scale) -> tuple[int, ...]:
    """The numbers of repeats at which claims are looked at: 4, 6, 8."""
    least, most = scale.repeats.least, scale.repeats.most or scale.repeats.least
    found = list(range(least, max(least, most) + 1, scale.repeats.step))
    return tuple(found if found[-1] >= most else [*found, most])


def plan_study(
    study: Study,
    scale: str,
    machine: Machine,
    planner: Planner,
    estimate: Callable[[RunPlan], Estimate],
    *,
    only: Collection[str] = (),
    not_installed: Mapping[str, str] | None = None,
    calibrated_per_s: float | None = None,
) -> StudyPlan:
    """The plan. Raises WorkloadError for problems of the study's workloads, NotFoundError for a claim it does not have.
    `not_installed` are brokers that could not be installed, with the reason."""
    wanted = _wanted(study, only)
    cells = planned_cells(study, scale, planner, calibrated_per_s)
    absent = {name: cell.why_not for name, cell in cells.items() if cell.plan is None}
    estimates = {}
    for name, cell in cells.items():
        if cell.plan is None:
            continue
        broker = cell.one().broker
        if broker in (not_installed or {}):
            absent[name] = (not_installed or {})[broker]
            continue
        estimates[name] = estimate(merged({name: cell.plan}, repeats=1, tag=""))
        needs = estimates[name].broker_data_bytes
        if needs is not None and needs > machine.disk_free_bytes * DISK_SHARE:
            free = format_bytes(machine.disk_free_bytes)
            absent[name] = f"needs about {format_bytes(needs)} of disk, {free} are free"
    unmet = {}
    for claim in wanted:
        requires = study.requires(claim.id)
        why = unmet_requirement(requires, machine, scale) or _other_driver(
            requires, [cells[c] for c in claim.cells if c not in absent]
        )
        if why:
            unmet[claim.id] = why
    return StudyPlan(study, scale, wanted, cells, absent, unmet, estimates, estimate)


def unmet_requirement(requires: Requires, machine: Machine, scale: str) -> str:
    """What of it is not met, in one sentence; empty where all is."""
    because = f": {requires.because}" if requires.because else ""
    if requires.cpu_count is not None and machine.cpu_count < requires.cpu_count:
        return f"needs {requires.cpu_count} processors, this machine has {machine.cpu_count}{because}"
    if requires.memory is not None and machine.memory_bytes < requires.memory:
        has = format_bytes(machine.memory_bytes)
        return f"needs {format_bytes(requires.memory)} of memory, this machine has {has}{because}"
    if requires.disk_free is not None and machine.disk_free_bytes < requires.disk_free:
        free = format_bytes(machine.disk_free_bytes)
        return f"needs {format_bytes(requires.disk_free)} of free disk, {free} are free{because}"
    if requires.scale is not None and scale != requires.scale:
        return f"only the scale {requires.scale} answers it{because}"
    for broker, wanted in requires.server.items():
        version = broker_named(broker).installation().version
        if not version.startswith(wanted):
            return f"needs {broker} to be {wanted}, and here it is {version}{because}"
    return ""


def _other_driver(requires: Requires, cells: Sequence[PlannedCell]) -> str:
    """The first cell that would not be driven as the claim requires, and why; empty where all would."""
    if requires.driver_path is None:
        return ""
    for cell in cells:
        why = without_native(cell.one())
        if why:
            return f"{cell.name} needs a native driver, because a slower one of ours may be the limit: {why}"
    return ""


def _wanted(study: Study, only: Collection[str]) -> tuple[Claim, ...]:
    known: Sequence[str] = [c.id for c in study.claims]
    for name in only:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its claims: {', '.join(known)}"
            raise NotFoundError(f"{study.name} has no claim {name!r}", hint=hint)
    return tuple(c for c in study.claims if not only or c.id in only)
