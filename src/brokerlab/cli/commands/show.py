"""brokerlab show RUN"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brokerlab.cli import options
from brokerlab.cli.text import aligned, print_json
from brokerlab.cli.verdict_text import left_out_lines, summary_lines, terminal_width, verdict_lines

if TYPE_CHECKING:
    from brokerlab.model.plan import RunPlan
    from brokerlab.results.directory import RunDirectory
    from brokerlab.results.run_state import RunOverview


@click.command()
@options.run_name
@options.runs
@options.as_json
def command(run: str, runs: Path | None, as_json: bool) -> int:
    """Show RUN: what was asked, its state, verdict and figures. "last" is the newest; part of a name is enough."""
    from brokerlab import lab
    from brokerlab.results.run_state import run_state

    found = lab.find_run(run, options.runs_root(runs))
    now = run_state(found)
    report = found.report_file if found.report_file.exists() else None
    if as_json:
        print_json(
            {
                "run": found.name,
                "path": str(found.path),
                "state": now.word,
                "in_progress": now.in_progress,
                "complete": now.complete,
                "plan": now.plan.model_dump(mode="json"),
                "executions": [vars(e) for e in now.executions],
                "verdict": now.verdict.model_dump(mode="json") if now.verdict else None,
                "summary": _summary(found),
                "report": str(report) if report else None,
            }
        )
        return 0
    for line in [*_asked_lines(found.name, now.plan), *_state_lines(now), ""]:
        click.echo(line)
    if now.plan.kind == "monitor":
        from brokerlab.cli.watched_text import watched_lines

        for line in watched_lines(found):
            click.echo(line)
    elif now.verdict is None:
        click.echo(f"not analyzed yet: brokerlab analyze {found.name}")
    else:
        table = summary_lines(_summary(found), terminal_width(), now.verdict)
        for line in [*verdict_lines(now.verdict), "", *table]:
            click.echo(line)
    click.echo("")
    click.echo(f"run:    {found.path}")
    if report is not None:
        click.echo(f"report: {report}")
    elif now.verdict is not None:
        click.echo(f"report: none yet, brokerlab report {found.name}")
    return 0


def _summary(run: RunDirectory) -> list[dict[str, Any]]:
    """Rows of the table run_summary; none while the run has not been analyzed."""
    from brokerlab.results.reader import read_rows
    from brokerlab.results.tables import RUN_SUMMARY

    return read_rows(run, RUN_SUMMARY)


def _asked_lines(name: str, plan: RunPlan) -> list[str]:
    lines = [click.style(name, bold=True)]
    if plan.question:
        lines.append(f"question: {plan.question}")
    if plan.kind == "monitor":
        lines += [f"watched:  {target.words()}" for target in plan.targets]
    else:
        lines.append(
            f"workload: {plan.workload_file}" + (f" with {', '.join(plan.overrides)}" if plan.overrides else "")
        )
    if plan.tag:
        lines.append(f"tag:      {plan.tag}")
    asked = {c.broker: c.security.description() for c in plan.cells if c.security is not None}
    lines += [f"security: {broker}: {text}" for broker, text in asked.items()]
    return [*lines, *left_out_lines(plan)]


def _state_lines(now: RunOverview) -> list[str]:
    """How many executions are finished; the others by name, with the reason."""
    lines = [f"state:    {now.word}, {now.finished} of {len(now.executions)} executions finished"]
    if now.plan.kind == "monitor":
        return [f"state:    {now.word}"]
    labels = {c.cell: c.label for c in now.plan.cells}
    rest = [e for e in now.executions if e.state != "finished"]
    lines.extend(aligned([[f"  {e.state}", f"{labels[e.cell]}, repeat {e.repeat}", e.reason or ""] for e in rest]))
    if now.word == "incomplete":
        lines.append("  the same `brokerlab run` command resumes it; executions that have ended are kept")
    if now.word == "failed":
        lines.append("  a failure is a result and is kept; the same `brokerlab run` command begins a new run")
    return lines
