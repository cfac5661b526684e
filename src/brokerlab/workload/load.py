"""From a workload's name or file to a RunPlan, or to everything that is wrong with it. Starts nothing."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path as FilePath

from brokerlab.brokers.contract import Broker, CellProblem
from brokerlab.errors import NotFoundError, Problem, WorkloadError
from brokerlab.model.plan import CellPlan, Endpoint, LeftOut, RunPlan, SmallestDifference
from brokerlab.workload import shipped
from brokerlab.workload.all_brokers import AllBrokers, BrokerNamed
from brokerlab.workload.capabilities import capability_problems, own_problems
from brokerlab.workload.cells import cell_plan
from brokerlab.workload.combinations import BROKERS, Combination, cells_with_brokers, combinations, concerns
from brokerlab.workload.contradictions import contradictions
from brokerlab.workload.fields import Workload
from brokerlab.workload.literal_secrets import kept_text, refuse_literals
from brokerlab.workload.machine import machine_problems
from brokerlab.workload.objectives import parse_objective
from brokerlab.workload.order import interleaved_in_groups
from brokerlab.workload.resolved import ca_file_problems, endpoint_problems
from brokerlab.workload.tree import SETTINGS, Origin, Path, Tree, apply_override, read_tree
from brokerlab.workload.validation import validated


def plan_workload(
    source: FilePath | str,
    *,
    overrides: Sequence[str] = (),
    brokers: Sequence[str] | None = None,
    repeats: int | None = None,
    tag: str | None = None,
    endpoints: Mapping[str, Endpoint] = {},
    broker_named: BrokerNamed,
    known_brokers: Sequence[str] = (),
    now_unix_s: float | None = None,
) -> RunPlan:
    """The plan of a run. `source` is a file or the name of a shipped workload; `overrides` are `path=value`;
    `endpoints` are those of brokers the user runs, by broker; `known_brokers` is what `all` is chosen from. Raises
    WorkloadError with every problem found."""
    text, file, folder = _source_text(source)
    tree = read_tree(text, file)
    problems = _Problems(tree)
    problems.found.extend(refuse_literals(tree))
    for override in overrides:
        problems.add(apply_override(tree, override))
        problems.found.extend(refuse_literals(tree))
    problems.found.extend(_apply_flags(tree, brokers, repeats))
    made, sweep_problems = combinations(tree)
    problems.found.extend(sweep_problems)
    all_brokers = AllBrokers(known_brokers, broker_named, endpoints)
    planned = [_checked(combination, folder, all_brokers, problems) for combination in made]
    workload = planned[0][0]
    _check_endpoints([one for one, _ in planned], all_brokers, problems)
    cells = _numbered([cell for _, cells in planned for cell in cells])
    if not problems.found and not cells:
        problems.found.extend(all_brokers.none_left(tree))
    if problems.found:
        raise WorkloadError(problems.in_order())
    left_out = tuple(all_brokers.left_out)
    return _run_plan(workload, cells, left_out, kept_text(text), file, tuple(overrides), tag, now_unix_s)


def _source_text(source: FilePath | str) -> tuple[str, str, FilePath]:
    """(text, name for messages, folder for data files)."""
    path = FilePath(source)
    if path.exists() and not path.is_dir():  # a pipe, as a shell's <(...), will do; it lies in no folder that matters
        return path.read_text("utf-8"), str(source), path.parent if path.is_file() else FilePath()
    if isinstance(source, str) and source in shipped.names():
        return shipped.text(source), f"{source}.yaml (shipped)", FilePath()
    raise shipped.not_found(str(source))


@dataclass
class _Problems:
    """Every problem once, though many cells may have it."""

    tree: Tree
    found: list[Problem] = field(default_factory=list)

    def add(self, problem: Problem | None) -> None:
        if problem is not None and problem not in self.found:
            self.found.append(problem)

    def in_order(self) -> list[Problem]:
        """The file's from top to bottom, then the flags'."""
        return sorted(dict.fromkeys(self.found), key=lambda p: (p.line == 0, p.line))


def _apply_flags(tree: Tree, brokers: Sequence[str] | None, repeats: int | None) -> Iterator[Problem]:
    if brokers is not None:
        flag = f"--broker {','.join(brokers)}"
        tree.remove(("broker",))
        tree.put(("brokers",), list(brokers), Origin(flag, 0, ", ".join(brokers)))
    if repeats is not None:
        tree.put(("repeats",), repeats, Origin(f"--repeats {repeats}", 0, str(repeats)))
    own = cells_with_brokers(tree)
    for field_name in BROKERS if own else ():
        if (field_name,) in tree.origins and tree.origin((field_name,)).line == 0:
            yield tree.problem((field_name,), f"cannot be replaced: cells name their own ({', '.join(own)})")


def _checked(
    combination: Combination, folder: FilePath, all_brokers: AllBrokers, problems: _Problems
) -> tuple[Workload, list[CellPlan]]:
    """One combination's workload and its cells, one for each broker; what is wrong goes to `problems`."""
    tree = combination.tree
    workload, wrong = validated(tree)
    for problem in wrong:
        problems.add(problem)
    unreadable = _already_said(wrong)
    for path, message in [*contradictions(workload, folder), *ca_file_problems(workload, bool(all_brokers.endpoints))]:
        if not unreadable & {path[0], f"{path[0]}.{path[-1]}"}:
            problems.add(tree.problem(path, message, with_value=True))
    for path, message in machine_problems(workload):
        if not unreadable & {path[0], f"{path[0]}.{path[-1]}"}:
            problems.add(tree.refusal(path, message, None, None))
    _check_settings_brokers(tree, workload, all_brokers.broker_named, problems)
    cells = []
    asked = _brokers(workload, all_brokers)
    for path, name in asked:
        broker = _known(all_brokers.broker_named, name, tree, path, problems)
        if broker is None:
            continue
        endpoint = all_brokers.endpoints.get(name)
        cell = cell_plan(
            workload,
            cell="c00",
            broker=broker,
            parameters=concerns(combination, name),
            name=combination.name if len(asked) == 1 or combination.name is None else f"{name}, {combination.name}",
            folder=folder,
            endpoint=endpoint,
        )
        refusals = [*endpoint_problems(workload, name, endpoint), *_refusals(cell, broker)]
        left_out = False
        if all_brokers.asked_for(workload):
            refusals, left_out = all_brokers.leave_out(name, refusals, tree)
        if not left_out:
            cells.append(cell)
        for refusal in refusals:
            problems.add(tree.refusal(refusal.field, refusal.message, refusal.value, refusal.nearest))
    return workload, cells


def _refusals(cell: CellPlan, broker: Broker) -> list[CellProblem]:
    """What the broker cannot do; where Capabilities refuse already, it is asked about settings given only."""
    refused = list(capability_problems(cell, broker))
    own = list(own_problems(cell, broker))
    given = {("broker_settings", s) for s in cell.broker_settings} | {
        ("client_settings", s) for s in cell.client_settings
    }
    return refused + [one for one in own if not refused or (one.field[0], one.field[-1]) in given]


def _already_said(wrong: list[Problem]) -> set[str]:
    """Fields that look missing or unset only because what was written there could not be read."""
    meant = {f"{p.field.rpartition('.')[0]}.{p.nearest}".lstrip(".") for p in wrong if p.nearest is not None}
    fields = {problem.field for problem in wrong} | meant
    return fields | ({"brokers"} if "broker" in fields else set())


def _brokers(workload: Workload, all_brokers: AllBrokers) -> list[tuple[Path, str]]:
    if all_brokers.asked_for(workload):
        return [(("brokers",), name) for name in all_brokers.names()]
    if workload.brokers is not None:
        return [(("brokers", i), name) for i, name in enumerate(workload.brokers)]
    return [] if workload.broker is None else [(("broker",), workload.broker)]


def _known(broker_named: BrokerNamed, name: str, tree: Tree, path: Path, problems: _Problems) -> Broker | None:
    try:
        return broker_named(name)
    except NotFoundError as error:
        said = error.message if error.hint is None else f"{error.message}; {error.hint}"
        problems.add(tree.problem(path, said))
        return None


def _check_settings_brokers(tree: Tree, workload: Workload, broker_named: BrokerNamed, problems: _Problems) -> None:
    """Settings of a broker that is not asked this time are fine; of one that does not exist they are a slip."""
    for part in SETTINGS:
        for name in getattr(workload, part):
            _known(broker_named, name, tree, (part, name), problems)


def _check_endpoints(planned: list[Workload], all_brokers: AllBrokers, problems: _Problems) -> None:
    asked = {name for workload in planned for _, name in _brokers(workload, all_brokers)}
    for name in all_brokers.endpoints:
        if name not in asked:
            problems.add(Problem(f"--endpoint {name}", 0, "brokers", f"{name} is not among this run's brokers", name))


def _numbered(cells: list[CellPlan]) -> tuple[CellPlan, ...]:
    """Cells that differ only in another broker's settings are one cell; then c01, c02, ..."""
    different = list({cell.model_dump_json(): cell for cell in cells}.values())
    width = max(2, len(str(len(different))))
    return tuple(cell.model_copy(update={"cell": f"c{i:0{width}d}"}) for i, cell in enumerate(different, 1))


def _run_plan(
    workload: Workload,
    cells: tuple[CellPlan, ...],
    left_out: tuple[LeftOut, ...],
    text: str,
    file: str,
    overrides: tuple[str, ...],
    tag: str | None,
    now_unix_s: float | None,
) -> RunPlan:
    groups: dict[str | None, list[str]] = {}
    for cell in cells:
        groups.setdefault(cell.cluster_key(), []).append(cell.cell)
    order = interleaved_in_groups(list(groups.values()), workload.repeats)
    retries = workload.repeats if workload.retries is None else workload.retries
    objectives = tuple(parse_objective(objective) for objective in workload.objectives)
    decides = {
        "name": workload.name,
        "cells": [cell.model_dump(mode="json") for cell in cells],
        "order": [execution.model_dump(mode="json") for execution in order],
        "objectives": [objective.model_dump(mode="json") for objective in objectives],
        "smallest_difference": workload.smallest_difference.model_dump(mode="json"),
        "retries": retries,
        "seed": workload.seed,
        "overrides": list(overrides),
        "tag": tag,
        **({"ceilings": True} if workload.ceilings else {}),
    }
    fingerprint = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()
    at = datetime.fromtimestamp(time.time() if now_unix_s is None else now_unix_s, UTC)
    return RunPlan(
        run=f"{at:%Y%m%dT%H%M%SZ}-{workload.name}-{fingerprint[:6]}",
        name=workload.name,
        question=" ".join(workload.question.split()),
        workload_file=file,
        workload_text=text,
        overrides=overrides,
        fingerprint=fingerprint,
        tag=tag,
        seed=workload.seed,
        repeats=workload.repeats,
        retries=retries,
        cells=cells,
        order=order,
        objectives=objectives,
        left_out=left_out,
        ceilings=workload.ceilings,
        smallest_difference=SmallestDifference(**workload.smallest_difference.model_dump()),
    )
