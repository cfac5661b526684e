"""brokerlab study list | plan | run | show | report | init"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from brokerlab.cli import options
from brokerlab.cli.progress import listening
from brokerlab.cli.text import print_json
from brokerlab.errors import ExitCode, UserError

if TYPE_CHECKING:
    from brokerlab.studies.answer import StudyAnswer

_name = click.argument("name", metavar="NAME", shell_complete=lambda *_: _names())
_scale = click.option(
    "--scale", type=click.Choice(["quick", "full"]), default="quick", show_default=True, help="How much is measured."
)
_only = click.option("--only", multiple=True, metavar="CLAIM", help="This claim only. Repeatable.")


def _names() -> list[str]:
    from brokerlab.studies.finding import names

    return [*names(), "all"]


@click.group()
def command() -> None:
    """Run published studies again and judge their claims.

    NAME is a study of `brokerlab study list`, a folder with a study.yaml, or `all`.
    """


@command.command("list")
@options.runs
@options.as_json
def list_(runs: Path | None, as_json: bool) -> int:
    """List the studies that come with brokerlab, and how far each is."""
    from brokerlab import lab
    from brokerlab.cli.study_text import list_lines, study_document

    found = lab.studies()
    root = options.runs_root(runs)
    if as_json:
        print_json([study_document(study, root) for study in found])
        return 0
    for line in list_lines(found, root):
        click.echo(line)
    return 0


@command.command()
@_name
@_scale
@_only
@options.runs
@options.as_json
def plan(name: str, scale: str, only: tuple[str, ...], runs: Path | None, as_json: bool) -> int:
    """Show what running NAME would do: cells, time, disk, and what cannot be answered here. Starts nothing."""
    from brokerlab import lab
    from brokerlab.cli.study_text import plan_document, plan_lines, total_line

    plans = [lab.plan_study(s, options.runs_root(runs), scale=scale, only=only) for s in lab.studies(name)]
    if as_json:
        print_json([plan_document(p) for p in plans])
        return 0
    for line in [line for p in plans for line in [*plan_lines(p), ""]][:-1]:
        click.echo(line)
    if len(plans) > 1:
        click.echo(f"\n{total_line(plans)}")
    return 0


@command.command()
@_name
@_scale
@_only
@options.fresh
@options.runs
@options.lake
@options.as_json
@options.quiet
def run(
    name: str,
    scale: str,
    only: tuple[str, ...],
    fresh: bool,
    runs: Path | None,
    lake: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run NAME: calibrate, measure, judge every claim, write the page. The same command goes on where it was stopped."""
    from brokerlab import lab

    if only and name == "all":
        raise UserError("--only names claims of one study", hint="give the study's name instead of all")
    root = options.runs_root(runs)
    found = lab.studies(name)
    if name == "all":
        with listening(quiet) as listener:
            several = lab.run_studies(found, root, scale=scale, lake=lake, listener=listener, fresh=fresh)
        _show(several.answers, as_json, several.page)
        for study, error in several.errors.items():
            click.echo(f"error: study {study}: {error}", err=True)
        return int(several.exit_code)
    with listening(quiet) as listener:
        listener.note(f"study {found[0].name}, scale {scale}")
        answer = lab.run_study(found[0], root, scale=scale, only=only, lake=lake, listener=listener, fresh=fresh)
    return _show([answer], as_json)


@command.command()
@_name
@_scale
@options.runs
@options.lake
@options.as_json
@options.quiet
def show(name: str, scale: str, runs: Path | None, lake: str | None, as_json: bool, quiet: bool) -> int:
    """Show the verdict on every claim of NAME, with interval, n, reason and the runs behind it."""
    return _show(_answers(name, scale, runs, lake, quiet), as_json)


@command.command()
@_name
@_scale
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it there.")
@options.runs
@options.lake
@options.quiet
def report(name: str, scale: str, output: Path | None, runs: Path | None, lake: str | None, quiet: bool) -> int:
    """Write the page of NAME again: verdicts, figures beside the published ones, how it was measured."""
    from brokerlab import lab
    from brokerlab.studies.record import page_of_all

    answers = _answers(name, scale, runs, lake, quiet)
    file = output or (page_of_all(options.runs_root(runs), scale) if name == "all" else None)
    click.echo(f"page: {lab.report_study(answers, file)}")
    return 0


@command.command()
@click.argument("folder", type=click.Path(path_type=Path))
def init(folder: Path) -> int:
    """Write a commented study to FOLDER, which must not exist: it runs as it stands, on the memory broker."""
    from brokerlab.studies.template import write_template

    write_template(folder)
    click.echo(f"wrote {folder}; next: brokerlab study plan {folder}")
    return 0


def _answers(name: str, scale: str, runs: Path | None, lake: str | None, quiet: bool) -> list[StudyAnswer]:
    from brokerlab import lab

    with listening(quiet) as listener:
        root = options.runs_root(runs)
        studies = [s for s in lab.studies(name) if name != "all" or scale in s.scales()]
        return [lab.study_answer(s, root, scale=scale, lake=lake, listener=listener) for s in studies]


def _show(answers: Sequence[StudyAnswer], as_json: bool, page: Path | None = None) -> int:
    """`page` is that of several studies."""
    from brokerlab.cli.study_text import answer_document, answer_lines

    if as_json:
        print_json([answer_document(a) for a in answers])
    else:
        for line in [line for a in answers for line in [*answer_lines(a), ""]][:-1]:
            click.echo(line)
        if page is not None:
            click.echo(f"all: {page}")
    return int(ExitCode.OK)
