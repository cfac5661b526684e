"""Rows of `runs`, `cells`, `executions`, `reasons` and `documents`, from the documents of a run directory."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from brokerlab.lake.survey import DOCUMENTS, Candidate
from brokerlab.model.planned_load import mean_message_bytes, mean_rate_per_s
from brokerlab.results.executions import all_executions
from brokerlab.results.reader import read_verdict
from brokerlab.results.verdict import ASPECTS

Row = dict[str, Any]


def run_row(candidate: Candidate) -> Row:
    """The row of `runs`."""
    directory = candidate.directory
    plan, state, facts, verdict = directory.plan(), directory.state(), directory.environment(), read_verdict(directory)
    executions = [state.of(e) for e in all_executions(plan, state)]
    cells = {c.cell: facts.cell(c.cell) for c in plan.cells}
    return {
        "run": candidate.run,
        "name": plan.name,
        "question": plan.question,
        "tag": plan.tag,
        "started_unix_s": min((e.started_unix_s for e in executions if e.started_unix_s is not None), default=None),
        "ended_unix_s": max((e.ended_unix_s for e in executions if e.ended_unix_s is not None), default=None),
        "brokers": _listed(c.broker for c in plan.cells),
        "versions": _json({c.broker: cells[c.cell].version for c in plan.cells}),
        "settings": _json({name: cell.effective_settings for name, cell in cells.items()}),
        "durability": _listed(cell.durability.level for cell in cells.values() if cell.durability is not None),
        "driver_paths": _listed(cell.driver_path for cell in cells.values()),
        "host": facts.host.name,
        "cpu_count": facts.host.cpu_count,
        "cpu_model": facts.host.cpu_model,
        "memory_bytes": facts.host.memory_bytes,
        "kernel": facts.host.kernel,
        "system": facts.host.system,
        "brokerlab": facts.brokerlab,
        "git_head": facts.git_head,
        "executions": len(executions),
        "executions_finished": sum(e.state == "finished" for e in executions),
        "verdict": verdict.verdict,
        "complete": verdict.complete,
        "delivery_violated": verdict.delivery_violated,
        "objectives_missed": sum(o.met == "missed" for o in verdict.objectives),
        "headline": verdict.headline,
        "plan_fingerprint": plan.fingerprint,
        "inputs": candidate.inputs,
        "source": str(candidate.made_from),
    }


def cell_rows(candidate: Candidate) -> list[Row]:
    """The rows of `cells`, in order of the plan."""
    plan, facts = candidate.directory.plan(), candidate.directory.environment()
    verdicts = {v.cell: v for v in read_verdict(candidate.directory).cells}
    rows = []
    for cell in plan.cells:
        found, judged = facts.cell(cell.cell), verdicts.get(cell.cell)
        answers: Row = {aspect: getattr(judged, aspect) if judged is not None else None for aspect in ASPECTS}
        rows.append(
            {
                "run": candidate.run,
                "cell": cell.cell,
                "label": cell.label,
                "broker": cell.broker,
                "version": found.version,
                "nodes": cell.nodes,
                "driver_path": found.driver_path,
                "durability_declared": str(cell.durability),
                "durability": found.durability.level if found.durability is not None else None,
                "parameters": _json(cell.parameters),
                "settings": _json(found.effective_settings),
                "verdict": judged.verdict if judged is not None else None,
                "repeats_planned": plan.repeats,
                "repeats_counted": judged.repeats_counted if judged is not None else 0,
                **answers,
                "rate_per_s": mean_rate_per_s(cell),
                "message_bytes": mean_message_bytes(cell),
            }
        )
    return rows


def document_rows(candidate: Candidate) -> list[Row]:
    """The rows of `documents`: every document that the run has."""
    files = [candidate.directory.path / name for name in DOCUMENTS]
    return [
        {"run": candidate.run, "document": file.stem, "text": file.read_text("utf-8")}
        for file in files
        if file.is_file()
    ]


def execution_rows(candidate: Candidate) -> list[Row]:
    """The rows of `executions`."""
    plan, state = candidate.directory.plan(), candidate.directory.state()
    aside = {(v.cell, s.repeat) for v in read_verdict(candidate.directory).cells for s in v.set_aside}
    rows = []
    for execution in all_executions(plan, state):
        known = state.of(execution)
        rows.append(
            {
                "run": candidate.run,
                "cell": execution.cell,
                "repeat": execution.repeat,
                "round": known.replaces or execution.repeat,
                "counted": known.state == "finished" and (execution.cell, execution.repeat) not in aside,
                "state": known.state,
                "reason": known.reason,
                "started_unix_s": known.started_unix_s,
                "ended_unix_s": known.ended_unix_s,
            }
        )
    return rows


def reason_rows(candidate: Candidate) -> list[Row]:
    """The rows of `reasons`, gravest first."""
    return [
        {"run": candidate.run, **reason.model_dump(), "affects": ",".join(reason.affects)}
        for reason in read_verdict(candidate.directory).reasons
    ]


def _listed(names: Iterable[str | None]) -> str:
    return ",".join(dict.fromkeys(name for name in names if name))


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
