"""brokerlab monitor TARGET..."""

from __future__ import annotations

from pathlib import Path

import click

from brokerlab.cli import options
from brokerlab.cli.commands.monitor_stacks import COMMANDS as OF_STACKS
from brokerlab.cli.progress import listening
from brokerlab.cli.text import print_json

_WATCH = "watch"  # what is meant where the first word is no command


class _Monitor(click.Group):
    """`monitor TARGET...` watches; `monitor NAME`, where NAME is a command of this group, is that."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = [_WATCH, *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Without the command that need not be named, whose options are shown instead."""
        watching = self.commands[_WATCH]
        with formatter.section("Options of watching"):
            records = [p.get_help_record(ctx) for p in watching.params]
            formatter.write_dl([r for r in records if r is not None])
        others = [(name, c.get_short_help_str()) for name, c in self.commands.items() if name != _WATCH]
        if others:
            with formatter.section("Commands"):
                formatter.write_dl(others)


@click.group(cls=_Monitor, subcommand_metavar="TARGET... | COMMAND")
def command() -> None:
    """Watch brokers, JVMs, processes and this host without load, until Ctrl-C or --for.

    TARGET is host, process=PID, jvm=PID, jvm=URL of a Jolokia, BROKER=HOST:PORT[,HOST:PORT], or a monitor.yaml with many.
    Reads every second and writes a run: `show`, `report` and `export` work as for any other. Nothing of a target is changed.
    """


@command.command(_WATCH, hidden=True)
@click.argument("targets", metavar="TARGET...", nargs=-1)
@click.option("--for", "for_", metavar="DURATION", help="How long, such as 60s or 2h; without it until Ctrl-C.")
@click.option("--attach", is_flag=True, help="Attach a read-only agent to JVMs, to read their beans.")
@click.option("--tag", help="A word to find the run by.")
@options.export
@options.export_token
@options.runs
@options.as_json
@options.quiet
def watch(
    targets: tuple[str, ...],
    for_: str | None,
    attach: bool,
    tag: str | None,
    export: str | None,
    export_token: str | None,
    runs: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Watch TARGETs."""
    from brokerlab import lab
    from brokerlab.cli.watched_text import watched_lines

    wanted = lab.watch_targets(targets, attach=attach, token=export_token)
    seconds = None if for_ is None else options.duration_s(for_, "--for")
    with listening(quiet) as listener:
        answer = lab.watch(
            wanted,
            options.runs_root(runs),
            for_s=seconds,
            tag=tag,
            exports=options.exports(export, export_token) if export or not wanted.exports else (),
            listener=listener,
        )
    if as_json:
        print_json({"run": answer.run.name, "headline": answer.verdict.headline, "report": str(answer.report)})
        return 0
    for line in [*watched_lines(answer.run), "", f"run:    {answer.run.path}", f"report: {answer.report}"]:
        click.echo(line)
    return 0


for of_stacks in OF_STACKS:
    command.add_command(of_stacks)
