"""Options that several commands share, so that they are spelled and explained alike."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from brokerlab.errors import UserError
from brokerlab.home import runs_directory

if TYPE_CHECKING:
    from brokerlab.monitor.exports import Export

Command = TypeVar("Command", bound=Callable[..., Any])

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
quiet = click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
fresh = click.option("--fresh", is_flag=True, help="Begin a new run even where an unfinished one could be resumed.")
runs = click.option(
    "--runs",
    "runs",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where runs are kept (default: BROKERLAB_RUNS, else ./runs).",
)
lake = click.option(
    "--lake", "lake", metavar="URI", help="The lake (default: BROKERLAB_LAKE, else a folder `lake` beside the runs)."
)
from_lake = click.option(
    "--lake", "lake", metavar="URI", help="Read runs from this lake instead of from their directories."
)
no_lake = click.option("--no-lake", is_flag=True, help="Do not add the run to the lake when it has ended.")
_SPARK = (
    click.option("--profile", type=click.Choice(["local", "cluster"]), help="Settings of Spark for one machine or a cluster (default: BROKERLAB_SPARK_PROFILE, else by the master)."),
    click.option("--master", metavar="URL", help="Where Spark runs (default: BROKERLAB_SPARK_MASTER, else local[*])."),
    click.option("--conf", "conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark that may be changed; repeatable. env:NAME as value stands for a variable."),
)  # fmt: skip
export = click.option("--export", "export", metavar="KIND[=HOST:PORT],...", help="Give readings and load out while they come: prometheus[=127.0.0.1:9464], graphite=HOST:PORT.")  # fmt: skip
export_token = click.option("--export-token", "export_token", metavar="env:NAME|file:PATH", help="What requests to the Prometheus page must bear; needed beyond loopback.")  # fmt: skip
run_name = click.argument("run", metavar="RUN", shell_complete=lambda *_: _run_names())
broker_name = click.argument("broker", metavar="BROKER", shell_complete=lambda _c, _p, start: _broker_names(start))


def exports(given: str | None, token: str | None) -> tuple[Export, ...]:
    """What --export and --export-token say."""
    if not given:
        if token is not None:
            raise UserError("--export-token needs --export", hint="give --export prometheus=HOST:PORT too")
        return ()
    from brokerlab.monitor.exports import parse_exports

    return parse_exports(given, token)


def duration_s(text: str, option: str) -> float:
    """A duration such as 60s. UserError with the option's name."""
    from brokerlab.model.quantities import parse_duration_s

    try:
        seconds = parse_duration_s(text)
    except ValueError as error:
        raise UserError(f"{option}: {error} (got {text!r})", hint=f"for example {option} 60s") from None
    if seconds <= 0:
        raise UserError(f"{option} must be above zero (got {text!r})", hint=f"for example {option} 60s")
    return seconds


def runs_root(given: Path | None) -> Path:
    return given.absolute() if given is not None else runs_directory()


def one_source(lake: str | None, runs: Path | None) -> Path:
    """The directory of runs, for commands that read either from there or from a lake."""
    if lake is not None and runs is not None:
        raise UserError("--lake and --runs exclude each other", hint="give one of them")
    return runs_root(runs)


def metric_named(name: str, option: str) -> str:
    """A key of model.metrics.METRICS. UserError with the nearest one."""
    from brokerlab.model.metrics import METRICS

    if name in METRICS:
        return name
    near = difflib.get_close_matches(name, METRICS, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"metrics: {', '.join(METRICS)}"
    raise UserError(f"{option}: no metric is called {name!r}", hint=hint)


def spark(command: Command) -> Command:
    """--profile, --master and --conf: arguments of lab.spark_settings."""
    for option in reversed(_SPARK):
        command = option(command)
    return command


def lake_to_keep_in(given: str | None, no_lake: bool, runs: Path | None) -> str | None:
    """Where a run is added when it has ended; None where it is not."""
    from brokerlab.lake.location import is_kept_by_itself

    if no_lake or (given is None and not is_kept_by_itself()):
        return None
    return lake_address(given, runs)


def lake_address(given: str | None, runs: Path | None) -> str:
    from brokerlab.lake.location import default_address

    return given or default_address(runs_root(runs))


def _run_names() -> list[str]:
    root = runs_directory()
    return sorted((p.parent.name for p in root.glob("*/plan.json")), reverse=True) if root.is_dir() else []


def _broker_names(start: str) -> list[str]:
    from brokerlab.brokers.registry import BROKERS

    return [name for name in BROKERS if name.startswith(start)]
