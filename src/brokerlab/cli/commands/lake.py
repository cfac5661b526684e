"""brokerlab lake init|add|follow|status|check|rebuild"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from brokerlab.cli import options
from brokerlab.cli.progress import listening
from brokerlab.cli.text import aligned, bytes_text, print_json
from brokerlab.errors import ExitCode

if TYPE_CHECKING:
    from brokerlab.lake.ingest import Added
    from brokerlab.lake.survey import Refusal


@click.group()
def command() -> None:
    """Keep the tables of all runs together, for questions about many runs. See docs/lake.md."""


@command.command()
@options.lake
@options.runs
@options.spark
def init(lake: str | None, runs: Path | None, **spark: Any) -> int:
    """Make an empty lake."""
    from brokerlab import lab

    made = lab.init_lake(options.lake_address(lake, runs), spark=lab.spark_settings(**spark))
    click.echo(f"made {made}: brokerlab lake add brings runs into it")
    return 0


@command.command()
@click.argument("run", nargs=-1)
@options.lake
@options.runs
@options.spark
@options.as_json
@options.quiet
def add(run: tuple[str, ...], lake: str | None, runs: Path | None, as_json: bool, quiet: bool, **spark: Any) -> int:
    """Add RUN..., or every run; only what is new or has changed is processed. `run` and `analyze` do it by themselves.

    Runs that cannot be added are named with the reason. The exit code is 3 where one is damaged, 5 where its
    layers do not add up, 2 where two have one id or a RUN given by name was not added, else 0.
    """
    from brokerlab import lab
    from brokerlab.lake.survey import runs_below

    settings, root = lab.spark_settings(**spark), options.runs_root(runs)
    chosen = [lab.find_run(name, root).path for name in run] or runs_below(root)
    with listening(quiet) as listener:
        done = lab.add_to_lake(options.lake_address(lake, runs), chosen, listener=listener, spark=settings)
    return _print_added(done, as_json, named=bool(run))


@command.command()
@click.argument("run", default="last")
@click.option("--every", "every_s", type=click.FloatRange(min=1), default=30.0, show_default=True, help="Seconds.")
@click.option("--once", is_flag=True, help="Bring in what there is now, and end.")
@options.lake
@options.runs
@options.spark
@options.quiet
def follow(run: str, every_s: float, once: bool, lake: str | None, runs: Path | None, quiet: bool, **spark: Any) -> int:
    """Keep the lake current with RUN while it goes on, until it has ended.

    It survives SIGKILL: started again, it continues.
    """
    from brokerlab import lab

    found = lab.find_run(run, options.runs_root(runs))
    settings = lab.spark_settings(**spark)
    with listening(quiet) as listener:
        address = options.lake_address(lake, runs)
        lab.follow_run(found, address, every_s=every_s, once=once, listener=listener, spark=settings)
    return 0


@command.command()
@options.lake
@options.runs
@options.spark
@options.as_json
@options.quiet
def rebuild(lake: str | None, runs: Path | None, as_json: bool, quiet: bool, **spark: Any) -> int:
    """Make the rows of every run again from its directory. Runs whose directory is gone stay as they are."""
    from brokerlab import lab

    address, settings = options.lake_address(lake, runs), lab.spark_settings(**spark)
    with listening(quiet) as listener:
        done = lab.rebuild_lake(address, options.runs_root(runs), listener=listener, spark=settings)
    return _print_added(done, as_json, named=False)


@command.command()
@options.lake
@options.runs
@options.spark
@options.as_json
def status(lake: str | None, runs: Path | None, as_json: bool, **spark: Any) -> int:
    """Show what the lake holds, and which runs are new, changed or cannot be added."""
    from brokerlab import lab

    address, settings = options.lake_address(lake, runs), lab.spark_settings(**spark)
    found = lab.lake_status(address, options.runs_root(runs), spark=settings)
    if as_json:
        print_json({**vars(found), "refused": _refused(found.refused)})
        return 0
    click.echo(f"{found.lake}: {len(found.runs)} runs, {bytes_text(found.bytes)}, state {found.manifest}")
    for line in aligned([[f"  {name}", f"{rows:,}"] for name, rows in found.tables.items()], right=(1,)):
        click.echo(line)
    for word, names in (("new", found.new), ("changed", found.changed), ("directory gone", found.directory_gone)):
        if names:
            click.echo(f"{word}: {', '.join(names)}")
    for refusal in found.refused:
        click.echo(f"{refusal.why.value}: {refusal.text}")
    return 0


@command.command()
@options.lake
@options.runs
@options.spark
@options.as_json
def check(lake: str | None, runs: Path | None, as_json: bool, **spark: Any) -> int:
    """Compare every file of the lake with its manifest, and each layer with the next. Exit code 3 where they differ."""
    from brokerlab import lab

    found = lab.check_lake(options.lake_address(lake, runs), spark=lab.spark_settings(**spark))
    if as_json:
        print_json(vars(found))
    else:
        for problem in found.problems:
            click.echo(problem)
        said = f"{len(found.problems)} problems" if found.problems else "all as the manifest says"
        click.echo(f"{found.runs} runs, {found.files} files, {found.rows:,} rows, {bytes_text(found.bytes)}: {said}")
        if found.problems:
            click.echo("brokerlab lake rebuild makes the rows again from the run directories")
        if found.unused:
            click.echo(f"{len(found.unused)} files belong to no run: left by a writer that died, or is at work")
    return int(ExitCode.MACHINE if found.problems else ExitCode.OK)


def _print_added(done: Added, as_json: bool, *, named: bool) -> int:
    if as_json:
        print_json(
            {
                "added": done.added, "changed": done.changed, "same": len(done.same),
                "refused": _refused(done.refused),
            }
        )  # fmt: skip
    else:
        for word, runs in (("added", done.added), ("changed", done.changed)):
            for run in runs:
                click.echo(f"{word} {run}")
        for refusal in done.refused:
            click.echo(f"not added, {refusal.why.value}: {refusal.text}")
        click.echo(
            f"{len(done.added)} added, {len(done.changed)} changed, {len(done.same)} as they were,"
            f" {len(done.refused)} not added"
        )
    return int(_exit_code(done.refused, named))


def _exit_code(refused: tuple[Refusal, ...], named: bool) -> ExitCode:
    from brokerlab.lake.survey import Why

    why = {refusal.why for refusal in refused}
    if Why.DAMAGED in why:
        return ExitCode.MACHINE
    if Why.MISMATCH in why:
        return ExitCode.INVALID
    return ExitCode.USER if Why.DOUBLE in why or (named and why) else ExitCode.OK


def _refused(refused: tuple[Refusal, ...]) -> list[dict[str, str]]:
    return [{"path": str(r.path), "why": r.why.value, "text": r.text} for r in refused]
