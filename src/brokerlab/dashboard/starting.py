"""A run from a page: checked as the command line checks it, then started as the command line would."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from brokerlab import lab
from brokerlab.dashboard.commands import Command, Commands
from brokerlab.errors import Problem, UserError, WorkloadError
from brokerlab.model.plan import RunPlan
from brokerlab.workload import shipped

FILE = "workload.yaml"
TEXT_CHARACTERS = 200_000


class Asked(BaseModel):
    """What a page sends: a shipped workload by name, or a text; and the options of `brokerlab run`."""

    workload: str = ""
    text: str | None = Field(default=None, max_length=TEXT_CHARACTERS)
    brokers: str = ""
    repeats: int | None = Field(default=None, ge=1)
    tag: str = ""


def workloads() -> list[dict[str, str]]:
    """The shipped ones, with their text to begin from."""
    return [{"name": name, "text": shipped.text(name)} for name in shipped.names()]


def checked(asked: Asked) -> dict[str, Any]:
    """What the run would do. WorkloadError with every problem, by line and field."""
    plan = _plan(asked)
    estimate = lab.estimate(plan)
    return {
        "name": plan.name,
        "question": plan.question,
        "cells": [{"cell": c.cell, "label": c.label, "broker": c.broker, "durability": str(c.durability)} for c in plan.cells],
        "executions": len(plan.order),
        "seconds": estimate.seconds,
        "remarks": lab.remarks(plan),
    }  # fmt: skip


def start(asked: Asked, commands: Commands, runs: Path) -> Command:
    """Start the run, after the same check."""
    plan = _plan(asked)
    edited = asked.text is not None
    name = f"{re.sub(r'[^A-Za-z0-9_-]', '-', plan.name)[:60] or 'workload'}.yaml"
    arguments = ["run", f"./{name}" if edited else asked.workload, "--runs", str(runs.absolute()), "--quiet"]
    arguments += ["--broker", asked.brokers] if asked.brokers.strip() else []
    arguments += ["--repeats", str(asked.repeats)] if asked.repeats is not None else []
    arguments += ["--tag", asked.tag] if asked.tag.strip() else []
    return commands.start(f"run {plan.name}", arguments, {name: asked.text} if asked.text is not None else None)


def _plan(asked: Asked) -> RunPlan:
    options: dict[str, Any] = {
        "brokers": [b.strip() for b in asked.brokers.split(",") if b.strip()] or None,
        "repeats": asked.repeats,
        "tag": asked.tag.strip() or None,
    }
    if asked.tag.startswith("-") or asked.brokers.strip().startswith("-"):
        raise UserError("a tag and a broker's name must not begin with a dash")
    if asked.text is None:
        if asked.workload not in shipped.names():
            raise shipped.not_found(asked.workload)
        return lab.plan(asked.workload, **options)
    with tempfile.TemporaryDirectory(prefix="brokerlab-check-") as folder:
        file = Path(folder) / FILE
        file.write_text(asked.text, encoding="utf-8")
        try:
            return lab.plan(file, **options)
        except WorkloadError as error:
            raise WorkloadError([_renamed(p, folder) for p in error.problems], hint=error.hint) from None


def _renamed(problem: Problem, folder: str) -> Problem:
    """Without the folder that only we know."""
    message = problem.message.replace(f"{folder}/", "")
    value = None if problem.value is None else problem.value.replace(f"{folder}/", "")
    file = FILE if problem.line else problem.file.replace(f"{folder}/", "")
    return Problem(file, problem.line, problem.field, message, value, problem.nearest, problem.refused)
