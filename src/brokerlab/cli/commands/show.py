"""brokerlab show RUN"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from brokerlab.cli import options
from brokerlab.cli.commands.plan import left_out_lines, security_text
from brokerlab.cli.run_state import ExecutionState, execution_states, in_progress, state_word
from brokerlab.cli.text import aligned, print_json
from brokerlab.cli.verdict_text import read_summary, summary_lines, terminal_width, verdict_lines

if TYPE_CHECKING:
    from brokerlab.model.plan import RunPlan


@click.command()
@options.run_name
@options.runs
@options.as_json
def command(run: str, runs: Path | None, as_json: bool) -> int:
    """Show RUN: what was asked, its state, verdict and figures. "last" is the newest; part of a name will do."""
    from brokerlab.results.directory import find_run

    found = find_run(options.runs_root(runs), run)
    plan = found.plan()
    running = in_progress(found)
    states = execution_states(found, plan, running)
    verdict = found.verdict()
    report = found.report_file if found.report_file.exists() else None
    if as_json:
        print_json(
            {
                "run": found.name,
                "path": str(found.path),
                "state": state_word(states, running),
                "in_progress": running,
                "complete": all(s.state == "finished" for s in states),
                "plan": plan.model_dump(mode="json"),
                "executions": [vars(s) for s in states],
                "verdict": verdict.model_dump(mode="json") if verdict else None,
                "summary": read_summary(found),
                "report": str(report) if report else None,
            }
        )
        return 0
    for line in [*_asked_lines(found.name, plan), *_state_lines(plan, states, running), ""]:
        click.echo(line)
    if verdict is None:
        click.echo(f"not analysed yet: brokerlab analyze {found.name}")
    else:
        for line in [*verdict_lines(verdict), "", *summary_lines(read_summary(found), terminal_width())]:
            click.echo(line)
    click.echo("")
    click.echo(f"run:    {found.path}")
    if report is not None:
        click.echo(f"report: {report}")
    elif verdict is not None:
        click.echo(f"report: none yet, brokerlab report {found.name}")
    return 0


def _asked_lines(name: str, plan: RunPlan) -> list[str]:
    lines = [click.style(name, bold=True)]
    if plan.question:
        lines.append(f"question: {plan.question}")
    lines.append(f"workload: {plan.workload_file}" + (f" with {', '.join(plan.overrides)}" if plan.overrides else ""))
    if plan.tag:
        lines.append(f"tag:      {plan.tag}")
    asked = {c.broker: security_text(c.security) for c in plan.cells if c.security is not None}
    lines += [f"security: {broker}: {text}" for broker, text in asked.items()]
    return [*lines, *left_out_lines(plan)]


def _state_lines(plan: RunPlan, states: list[ExecutionState], running: bool) -> list[str]:
    """How many executions are finished; the others by name, with the reason."""
    finished = sum(s.state == "finished" for s in states)
    word = state_word(states, running)
    lines = [f"state:    {word}, {finished} of {len(states)} executions finished"]
    labels = {c.cell: c.label for c in plan.cells}
    rest = [s for s in states if s.state != "finished"]
    rows = [[f"  {s.state}", f"{labels[s.cell]}, repeat {s.repeat}", s.reason or ""] for s in rest]
    lines.extend(aligned(rows))
    if word in ("incomplete", "failed"):
        lines.append("  the same `brokerlab run` command resumes it; finished executions are kept")
    return lines
