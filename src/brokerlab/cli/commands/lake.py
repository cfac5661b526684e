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
    from brokerlab.lake.manifest import init as make

    with lab.lake_store(options.lake_address(lake, runs), spark=lab.spark_settings(**spark)) as store:
        make(store)
        click.echo(f"made {store.uri}: brokerlab lake add brings runs into it")
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
    """Keep the lake current with RUN while it goes on, until it has ended. Killed and started again, it goes on."""
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
    from brokerlab.lake.manifest import present
    from brokerlab.lake.survey import runs_below

    address, settings = options.lake_address(lake, runs), lab.spark_settings(**spark)
    with lab.lake_store(address, spark=settings) as store:
        sources = [Path(entry.source) for entry in present(store).runs.values()]
    here = [path.resolve() for path in runs_below(options.runs_root(runs))]
    chosen = dict.fromkeys([*(path for path in sources if path.is_dir()), *here])
    with listening(quiet) as listener:
        done = lab.add_to_lake(address, list(chosen), listener=listener, again=True, spark=settings)
    return _print_added(done, as_json, named=False)


@command.command()
@options.lake
@options.runs
@options.spark
@options.as_json
def status(lake: str | None, runs: Path | None, as_json: bool, **spark: Any) -> int:
    """Show what the lake holds, and which runs are new, changed or cannot be added."""
    from brokerlab import lab
    from brokerlab.lake.reading import Lake
    from brokerlab.lake.survey import runs_below, survey

    with lab.lake_store(options.lake_address(lake, runs), spark=lab.spark_settings(**spark)) as store:
        opened = Lake(store)
    manifest = opened.manifest
    found = survey(runs_below(options.runs_root(runs)), manifest)
    gone = [run for run, entry in sorted(manifest.runs.items()) if not Path(entry.source).is_dir()]
    files = [f for entry in manifest.runs.values() for of_table in entry.tables.values() for f in of_table]
    facts: dict[str, Any] = {
        "lake": opened.store.uri,
        "manifest": manifest.number,
        "runs": sorted(manifest.runs),
        "bytes": sum(f.bytes for f in files),
        "tables": {name: sum(f.rows for f in manifest.files(place)) for place, name in opened.places()},
        "new": [c.run for c in found.to_do if c.run not in manifest.runs],
        "changed": [c.run for c in found.to_do if c.run in manifest.runs],
        "directory_gone": gone,
        "refused": _refused(found.refused),
    }
    if as_json:
        print_json(facts)
        return 0
    click.echo(f"{facts['lake']}: {len(facts['runs'])} runs, {bytes_text(facts['bytes'])}, state {manifest.number}")
    for line in aligned([[f"  {name}", f"{rows:,}"] for name, rows in facts["tables"].items()], right=(1,)):
        click.echo(line)
    for word in ("new", "changed", "directory_gone"):
        if facts[word]:
            click.echo(f"{word.replace('_', ' ')}: {', '.join(facts[word])}")
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
    from brokerlab.lake.check import check as check_lake
    from brokerlab.lake.reading import Lake

    with lab.lake_store(options.lake_address(lake, runs), spark=lab.spark_settings(**spark)) as store:
        found = check_lake(Lake(store))
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
