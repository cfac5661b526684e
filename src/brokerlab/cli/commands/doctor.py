"""brokerlab doctor"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from brokerlab.cli import options
from brokerlab.cli.progress import listening
from brokerlab.cli.text import print_json
from brokerlab.errors import ExitCode

_MARKS = {"fine": ("ok", "green"), "note": ("note", "cyan"), "warning": ("warn", "yellow"), "missing": ("FAIL", "red")}


@click.command()
@options.runs
@options.as_json
@options.quiet
def command(runs: Path | None, as_json: bool, quiet: bool) -> int:
    """Check this machine. Every problem line ends with the command that fixes it.

    Exit code 0 when a run can work here, 3 when something required is missing.
    """
    from brokerlab.doctor.checks import all_findings

    with listening(quiet) as say:
        findings = all_findings(options.runs_root(runs), lambda text: say.progress(0.0, text))
    missing = [f for f in findings if f.state == "missing"]
    warnings = [f for f in findings if f.state == "warning"]
    if as_json:
        print_json({"fine": not missing, "findings": [dataclasses.asdict(f) for f in findings]})
    else:
        width = max(len(f.name) for f in findings)
        for f in findings:
            word, colour = _MARKS[f.state]
            fix = f"  ->  {f.fix}" if f.fix else ""
            click.echo(f"{click.style(word.ljust(4), fg=colour, bold=True)}  {f.name.ljust(width)}  {f.text}{fix}")
        click.echo("")
        click.echo(_conclusion(len(missing), len(warnings)))
    return int(ExitCode.MACHINE if missing else ExitCode.OK)


def _conclusion(missing: int, warnings: int) -> str:
    if missing:
        return f"{missing} required thing{'s are' if missing > 1 else ' is'} missing: see the lines marked FAIL"
    if warnings:
        return f"runs work here; {warnings} warning{'s' if warnings > 1 else ''} may cost speed or precision"
    return "everything is fine; next: brokerlab demo"
