"""The answer of a run, printed: for people, or as one JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from brokerlab.cli.text import print_json
from brokerlab.cli.verdict_text import answer_lines, left_out_lines

if TYPE_CHECKING:
    from brokerlab.lab import Answer


def print_answer(answer: Answer, as_json: bool) -> int:
    """Print it on stdout; returns the exit code, which is the verdict's."""
    plan, code = answer.run.plan(), int(answer.verdict.exit_code())
    if as_json:
        print_json(
            {
                "run": answer.run.name,
                "path": str(answer.run.path),
                "report": str(answer.report),
                "exit_code": code,
                "verdict": answer.verdict.model_dump(mode="json"),
                "summary": answer.summary(),
                "comparison": answer.comparison(),
                "left_out": [one.model_dump() for one in plan.left_out],
            }
        )
        return code
    for line in [*answer_lines(answer), *left_out_lines(plan)]:
        click.echo(line)
    return code
