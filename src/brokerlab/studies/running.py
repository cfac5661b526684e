"""A study run from top to bottom: calibration, then looks at 4, 6, 8 repeats until its claims are clear.

Every step is an ordinary run. Which runs belong to a study is written before each of them begins; what is still to do
follows from the runs that have ended. So the same command goes on wherever the one before it was cut off.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from brokerlab.errors import MachineError
from brokerlab.judge.claim_rows import Member, StudyQuestion
from brokerlab.model.listener import RunListener
from brokerlab.model.plan import RunPlan
from brokerlab.results.directory import RunDirectory
from brokerlab.studies.cells import fingerprint
from brokerlab.studies.load import Study
from brokerlab.studies.looks import calibrated_per_s, judged_so_far
from brokerlab.studies.planning import StudyPlan, plan_study, this_machine
from brokerlab.studies.record import Step, StudyDirectory, StudyRecord, has_ended, new_record, run_of, study_directory
from brokerlab.workload.estimate import Estimate
from brokerlab.workload.merged import merged


class Laboratory(Protocol):
    """What a study needs of lab: planning, measuring and analyzing of single runs."""

    def plan(self, workload: Path, overrides: list[str]) -> RunPlan: ...

    def estimate(self, plan: RunPlan) -> Estimate: ...

    def install(self, broker: str) -> None:
        """MachineError where that is not possible."""

    def run(self, plan: RunPlan) -> RunDirectory:
        """Measure and analyze; an unfinished run of the plan is resumed."""

    def analyze(self, run: RunDirectory) -> None: ...


@dataclass
class RunningStudy:
    """One pass through a study at a scale."""

    study: Study
    scale: str
    runs: Path
    lab: Laboratory
    say: RunListener
    only: Collection[str] = ()
    record: StudyRecord = field(init=False)
    directory: StudyDirectory = field(init=False)

    def __post_init__(self) -> None:
        self.directory = study_directory(self.runs, self.study.name, self.scale)

    def run(self, *, fresh: bool = False) -> None:
        """Until every claim that is asked about is clear, or has all its repeats, or the budget is used up."""
        known = None if fresh else self.directory.record()
        self.record = known or new_record(self.study.name, self.scale, self.study.folder)
        self._write(steps=tuple(s for s in self.record.steps if run_of(self.runs, s) is not None))
        self._install()
        plan = self.plan(self._calibrated())
        self._finish_begun(plan)
        for claim, why in plan.cannot_answer().items():
            self.say.note(f"{claim} is not runnable here: {why}")
        for number, repeats in enumerate(plan.looks, 1):
            wanted = self._open_cells(plan) if number > 1 else set(plan.running_cells())
            if not wanted:
                break
            self.say.note(f"look {number} of {len(plan.looks)}: {len(wanted)} cells, {repeats} repeats each")
            for experiment in self.study.fields.experiments:
                cells = [c.name for c in self.study.experiment_cells(experiment.id) if c.name in wanted]
                if not self._look(plan, experiment.id, cells, repeats, must=number == 1):
                    return

    def plan(self, calibrated: float | None) -> StudyPlan:
        return plan_study(
            self.study, self.scale, this_machine(self.runs), self.lab.plan, self.lab.estimate,
            only=self.only, not_installed=self.record.not_installed, calibrated_per_s=calibrated,
        )  # fmt: skip

    def _look(self, plan: StudyPlan, experiment: str, cells: Sequence[str], repeats: int, *, must: bool) -> bool:
        """Bring the cells to so many repeats; those that lack equally many run together. False: the budget is used up."""
        have = {name: self._repeats(plan, name) for name in cells}
        for missing in sorted({repeats - n for n in have.values() if n < repeats}, reverse=True):
            together = [name for name in cells if repeats - have[name] == missing]
            tag = f"{self.study.name}-{self.scale}-{self.record.pass_id}-{len(self.record.steps) + 1}"
            plans = {name: p for name in together if (p := plan.cells[name].plan) is not None}
            joined = merged(plans, repeats=missing, tag=tag, one_by_one=plan.one_by_one)
            budget = plan.study.scale(self.scale).budget
            if not must and budget is not None and self._measured_s(plan) + self.lab.estimate(joined).seconds > budget:
                self.say.note(f"the budget of {budget / 60:g} min is used up: claims that are not clear stay so")
                return False
            self._step(joined, experiment, calibrates=False)
        return True

    def _step(self, joined: RunPlan, experiment: str, *, calibrates: bool) -> None:
        step = Step(
            number=len(self.record.steps) + 1,
            experiment=experiment,
            calibrates=calibrates,
            cells={cell.label: fingerprint(cell) for cell in joined.cells},
            repeats=joined.repeats,
            run_fingerprint=joined.fingerprint,
        )
        self._write(steps=(*self.record.steps, step))
        self._done(step, self.lab.run(joined))

    def _done(self, step: Step, run: RunDirectory) -> None:
        ended = step.model_copy(update={"run": run.name})
        self._write(steps=tuple(ended if s.number == step.number else s for s in self.record.steps))

    def _finish_begun(self, plan: StudyPlan) -> None:
        """Runs that were cut off go on, unless the study has been changed since; those stay as they are."""
        for step in self.record.steps:
            if is_current(plan, step):
                self._finish(step)

    def _finish(self, step: Step) -> RunDirectory:
        run = run_of(self.runs, step)
        assert run is not None  # steps without a run are forgotten first
        if not has_ended(run):
            self.say.note(f"going on with {run.name}")
            run = self.lab.run(run.plan())
        elif run.verdict() is None:
            self.lab.analyze(run)
        self._done(step, run)
        return run

    def _install(self) -> None:
        """Brokers that cannot be installed here are noted; their cells are not run."""
        self._write(not_installed={})
        plan = self.plan(None)
        missing: dict[str, str] = {}
        for name in plan.running_cells():
            broker = plan.cells[name].one().broker
            if broker not in missing:
                try:
                    self.lab.install(broker)
                except MachineError as error:
                    missing[broker] = f"{broker} cannot be installed: {error.message}"
        self._write(not_installed=missing)

    def _calibrated(self) -> float | None:
        plan = self.plan(None)
        name = plan.calibrates()
        calibrate = self.study.fields.calibrate
        if name is None or calibrate is None:
            return None
        step = calibration(plan, self.record)
        if step is None:
            self.say.note(f"calibrating with {name}")
            one = plan.cells[name].plan
            assert one is not None  # a cell that cannot run does not calibrate
            tag = f"{self.study.name}-{self.scale}-{self.record.pass_id}-{len(self.record.steps) + 1}"
            joined = merged({name: one}, repeats=calibrate.repeats, tag=tag)
            self._step(joined, self.study.cell(name).experiment, calibrates=True)
            step = self.record.steps[-1]
        found = calibrated_per_s(self._finish(step), calibrate.metric)
        if found is None:
            raise MachineError(
                f"{name} gave no {calibrate.metric} to calibrate with", hint=f"brokerlab show {step.run} says why"
            )
        return found

    def _open_cells(self, plan: StudyPlan) -> set[str]:
        judged = judged_so_far(question(plan, self.record, self.runs), ended_runs(self.record, self.runs))
        cells = {cell for j in judged if j.is_open for cell in j.claim.cells}
        for j in judged:
            self.say.note(f"{j.claim.id}: {j.verdict}; {j.reason}")
        return {cell for cell in plan.running_cells() if cell in cells}

    def _repeats(self, plan: StudyPlan, name: str) -> int:
        wanted = fingerprint(plan.cells[name].one())
        return sum(s.repeats for s in self.record.steps if not s.calibrates and s.cells.get(name) == wanted)

    def _measured_s(self, plan: StudyPlan) -> float:
        """How long the executions of this pass took that the study still asks for."""
        current = self.record.model_copy(update={"steps": tuple(s for s in self.record.steps if is_current(plan, s))})
        total = 0.0
        for run in ended_runs(current, self.runs):
            for one in run.state().executions.values():
                if one.started_unix_s is not None and one.ended_unix_s is not None:
                    total += one.ended_unix_s - one.started_unix_s
        return total

    def _write(self, **changes: object) -> None:
        self.record = self.record.model_copy(update=changes)
        self.directory.write(self.record)


def calibration(plan: StudyPlan, record: StudyRecord | None) -> Step | None:
    """The newest calibration whose cell is as the study now says."""
    name = plan.calibrates()
    one = None if name is None else plan.cells[name].plan
    if record is None or name is None or one is None:
        return None
    wanted = fingerprint(one.cells[0])
    return next((s for s in reversed(record.steps) if s.calibrates and s.cells.get(name) == wanted), None)


def is_current(plan: StudyPlan, step: Step) -> bool:
    """Whether a cell of the step is as the study now says."""
    known = ((plan.cells.get(name), found) for name, found in step.cells.items())
    return any(cell is not None and cell.plan is not None and fingerprint(cell.one()) == found for cell, found in known)


def ended_runs(record: StudyRecord, runs: Path) -> list[RunDirectory]:
    """The analyzed runs of the study, calibration included."""
    found = [run for step in record.steps if (run := run_of(runs, step)) is not None]
    return [run for run in found if run.verdict_file.exists()]


def question(plan: StudyPlan, record: StudyRecord | None, runs: Path) -> StudyQuestion:
    """What is to be judged, by the runs whose cells are as the study now says. A calibration answers no claim."""
    members = []
    for step in () if record is None else record.steps:
        run = run_of(runs, step)
        if step.calibrates or run is None or not run.verdict_file.exists():
            continue
        for cell in run.plan().cells:
            planned = plan.cells.get(cell.label)
            if (
                planned is not None
                and planned.plan is not None
                and step.cells.get(cell.label) == fingerprint(planned.one())
            ):
                members.append(Member(step.experiment, cell.label, run.plan().run, cell.cell))
    return StudyQuestion(
        study=plan.study.name,
        scale=plan.scale,
        claims=plan.wanted,
        experiments={c.name: c.experiment for c in plan.study.cells},
        members=tuple(members),
        absent=plan.absent,
        unmet=plan.unmet,
        looks=len(plan.looks),
        command=f"brokerlab study run {plan.study.called} --scale {plan.scale}",
    )
