"""The front door: the table of commands, and the one place where an error becomes an exit code.

Imports nothing heavy: a command's module is imported when the command is used, so that `--help` stays instant.
"""

from __future__ import annotations

import difflib
import errno
import os
import sys
from importlib import import_module
from typing import Any, NoReturn, cast

import click

from brokerlab.errors import BrokerlabError, ExitCode, InstallError

# name -> (module, what `brokerlab --help` says about it); the order is the order in which a newcomer needs them
COMMANDS = {
    "doctor": ("doctor", "Check this machine: Java, compiler, brokers, clock, disk, pacing."),
    "demo": ("demo", "Run the shipped demo workload and show its answer."),
    "init": ("init", "Write a commented workload file to start from."),
    "sensors": ("sensors", "Write a sensor data file whose lines can be sent."),
    "list": ("list", "List brokers, workloads or runs."),
    "install": ("install", "Fetch a broker into the cache."),
    "up": ("up", "Start a broker in the background."),
    "status": ("status", "Show brokers that `up` started."),
    "down": ("down", "Stop a broker that `up` started and delete its data."),
    "plan": ("plan", "Show what a workload would do: cells, order, time, disk, settings."),
    "run": ("run", "Run a workload: load, verify, analyze, report. Run again to resume."),
    "monitor": ("monitor", "Watch brokers, JVMs, processes and this host without load."),
    "show": ("show", "Show a run: its question, state, verdict and figures."),
    "compare": ("compare", "Compare runs, tags or cells: better, worse, same, cannot tell."),
    "history": ("history", "Show a metric over time, run by run, with its change points."),
    "serve": ("serve", "Show runs in a browser, live ones too: start, watch, stop, compare."),
    "watch": ("watch", "Show a run while it goes, in this terminal."),
    "export": ("export", "Write a run as JSON, CSV, Parquet, Markdown, JUnit or OpenMetrics."),
    "analyze": ("analyze", "Rebuild a run's tables and verdict from its evidence."),
    "report": ("report", "Rebuild a run's HTML report from its tables."),
    "rm": ("rm", "Delete a run."),
    "lake": ("lake", "Keep all runs together: init, add, follow, status, check, rebuild."),
    "query": ("query", "Ask the lake in SQL."),
    "study": ("study", "Run published studies again: list, plan, run, show, report, init."),
    "completion": ("completion", "Print the completion script for your shell."),
}
_EPILOG = "Exit codes: 0 fine, 2 your input, 3 machine, 4 broker, 5 run invalid, 6 delivery violated, 7 objective missed, 130 interrupted."


class LazyGroup(click.Group):
    """A group that has the names and short help of its commands in a table and imports only the one that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        return cast(click.Command, import_module(f"brokerlab.cli.commands.{COMMANDS[name][0]}").command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"no command is called {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; whatever happens leaves as an exit code and at most a few lines on stderr."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit):
            raise
        except BaseException as e:
            code = exit_code_for(e)
        ctx.exit(int(code or ExitCode.OK))


def exit_code_for(error: BaseException) -> ExitCode:
    """Print what went wrong on stderr, for people, and return the exit code."""
    if os.environ.get("BROKERLAB_TRACEBACK") and isinstance(error, Exception):
        import traceback

        from brokerlab.secrets import redacted

        click.echo(redacted("".join(traceback.format_exception(error))), err=True, nl=False)
    if _is_full_disk(error):
        left = _what_is_left()
        said = f"no space left: {left}" if left else f"no space left: {error}"
        _say_error(said, "free some space and run the same command again")
        return ExitCode.MACHINE
    if isinstance(error, BrokerlabError):
        _say_error(error.message, error.hint)
        return error.exit_code
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        _say_error("interrupted", None)
        return ExitCode.INTERRUPTED
    if isinstance(error, OSError) and error.errno == errno.EPIPE:
        # The reader of our output has seen enough. Python would complain again when it closes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    if isinstance(error, Exception):
        _say_error(
            f"unexpected {type(error).__name__}: {error}",
            "please report it; with BROKERLAB_TRACEBACK=1 the same command shows where it happened",
        )
        return ExitCode.MACHINE
    raise error


def _is_full_disk(error: BaseException) -> bool:
    if isinstance(error, InstallError):  # pip and apt-get met it
        return os.strerror(errno.ENOSPC) in error.message
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def _what_is_left() -> str:
    from brokerlab.cli.text import bytes_text
    from brokerlab.home import free_bytes

    try:
        return ", ".join(f"{bytes_text(left)} free under {place}" for place, left in free_bytes().items())
    except OSError:
        return ""


def _say_error(message: str, hint: str | None) -> None:
    from brokerlab.secrets import redacted

    message = redacted(message)  # log lines of a server may be part of it
    click.echo(f"{click.style('error:', fg='red', bold=True)} {message}", err=True)
    if hint:
        click.echo(f"  {hint}", err=True)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EPILOG,
    invoke_without_command=True,
    no_args_is_help=False,
)
@click.version_option(package_name="brokerlab", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Measures, verifies and watches message brokers, and says when not to believe the numbers.

    Start with `brokerlab doctor`, then `brokerlab demo`.
    """
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> NoReturn:
    """The `brokerlab` command."""
    try:
        cli(prog_name="brokerlab")
    except KeyboardInterrupt:
        sys.exit(int(ExitCode.INTERRUPTED))
    sys.exit(0)


if __name__ == "__main__":
    main()
