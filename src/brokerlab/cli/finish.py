"""What follows a run, and what `analyze` repeats: tables and verdict, the report, the answer on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from brokerlab.cli.commands.plan import left_out_lines
from brokerlab.cli.prepare import java_for_spark
from brokerlab.cli.progress import listening
from brokerlab.cli.text import print_json
from brokerlab.cli.verdict_text import answer_lines, read_summary

if TYPE_CHECKING:
    from brokerlab.results.directory import RunDirectory
    from brokerlab.results.verdict import Verdict


def analyse_and_report(run: RunDirectory, quiet: bool) -> Verdict:
    """Evidence to tables and verdict (Spark), then tables to report."""
    from brokerlab.install.java import java_home_for_spark
    from brokerlab.pipeline.analyze import analyze
    from brokerlab.report.page import write_report

    with listening(quiet) as say:
        java_home = java_home_for_spark(java_for_spark(say))
        say.stage("analysing with Spark")
        verdict = analyze(run.path, java_home=java_home)
        say.stage("writing the report")
        write_report(run)
    return verdict


def print_answer(run: RunDirectory, verdict: Verdict, as_json: bool) -> None:
    if as_json:
        report = str(run.report_file) if run.report_file.exists() else None
        print_json(
            {
                "run": run.name,
                "path": str(run.path),
                "report": report,
                "exit_code": int(verdict.exit_code()),
                "verdict": verdict.model_dump(mode="json"),
                "summary": read_summary(run),
                "left_out": [one.model_dump() for one in run.plan().left_out],
            }
        )
        return
    for line in [*answer_lines(run, verdict), *left_out_lines(run.plan())]:
        click.echo(line)
