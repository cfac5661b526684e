"""brokerlab monitor up | status | down | grafana: monitoring programs in the background, and dashboards for them"""

from __future__ import annotations

from pathlib import Path

import click

from brokerlab.cli import options
from brokerlab.cli.progress import listening
from brokerlab.cli.text import print_json

_NAMES = ("graphite", "prometheus")
_stack = click.option("--stack", type=click.Choice(_NAMES), required=True, help="Which programs.")
_any_stack = click.option("--stack", type=click.Choice(_NAMES), help="This one only.")


@click.command("up", short_help="Start Graphite or Prometheus in the background.")
@_stack
@click.option(
    "--jmx", multiple=True, metavar="[NAME=]HOST:PORT", help="For graphite: a JVM with remote JMX. Repeatable."
)
@click.option("--scrape", multiple=True, metavar="[NAME=]HOST:PORT", help="For prometheus: a page of metrics, such as a JVM's agent. Repeatable.")  # fmt: skip
@click.option("--port", type=click.IntRange(1024, 65535), help="Where its web page is (default: a free port).")
@options.as_json
@options.quiet
def up(stack: str, jmx: tuple[str, ...], scrape: tuple[str, ...], port: int | None, as_json: bool, quiet: bool) -> int:
    """Start monitoring programs in the background, on loopback; installs them first where necessary.

    graphite: collectd and jmxtrans write to carbon, graphite-web shows it. prometheus: Prometheus with its node exporter;
    it also reads the page of `--export prometheus`. They keep running until `brokerlab monitor down`, which deletes their
    points; one that dies is started again.
    """
    from brokerlab.cli.stack_text import next_lines, stack_lines
    from brokerlab.lab import stacks

    with listening(quiet) as listener:
        status = stacks.up(stack, jmx=jmx, scrape=scrape, port=port, listener=listener)
    if as_json:
        print_json(status)
        return 0
    if not status["started"]:
        click.echo(f"the {stack} stack is already up; nothing was changed")
    for line in [*stack_lines(status), *next_lines(status)]:
        click.echo(line)
    return 0


@click.command("status", short_help="Show those that `monitor up` started.")
@_any_stack
@options.as_json
def status(stack: str | None, as_json: bool) -> int:
    """Show monitoring programs that `monitor up` started: addresses, processes, which died and when."""
    from brokerlab.cli.stack_text import stack_lines
    from brokerlab.lab import stacks

    names = [stack] if stack else list(stacks.STACKS)
    found = [answer for answer in map(stacks.status, names) if answer is not None]
    if as_json:
        print_json(found if stack is None else (found[0] if found else {"stack": stack, "state": "down"}))
        return 0
    if not found:
        click.echo(f"the {stack} stack is down" if stack else "no stack is up")
    for answer in found:
        for line in stack_lines(answer):
            click.echo(line)
    return 0


@click.command("down", short_help="Stop one and delete its points.")
@_stack
@options.as_json
def down(stack: str, as_json: bool) -> int:
    """Stop monitoring programs that `monitor up` started, and delete their points."""
    from brokerlab.lab import stacks

    answer = stacks.down(stack)
    if as_json:
        print_json(answer)
    else:
        click.echo(f"{stack}: stopped, points deleted")
    return 0


@click.command("grafana", short_help="Write dashboards for a Grafana into DIR.")
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--graphite", metavar="URL", help="Where graphite-web is (default: that of the stack that is up).")
@click.option("--prometheus", metavar="URL", help="Where Prometheus is (default: that of the stack that is up).")
@options.as_json
def grafana(directory: Path, graphite: str | None, prometheus: str | None, as_json: bool) -> int:
    """Write data sources and dashboards for a Grafana into DIR.

    Start Grafana with GF_PATHS_PROVISIONING=DIR/provisioning. Files that are there are replaced.
    """
    from brokerlab.lab import stacks

    sources = stacks.Sources(graphite or _running("graphite"), prometheus or _running("prometheus"))
    written = stacks.write_provisioning(directory.absolute(), sources)
    if as_json:
        print_json({"directory": str(directory.absolute()), "files": [str(path) for path in written], **sources.urls()})
        return 0
    click.echo(f"{len(written)} files in {directory.absolute()}")
    for kind, url in sources.urls().items():
        click.echo(f"  {kind}: {url}")
    click.echo(f"use it: GF_PATHS_PROVISIONING={directory.absolute() / 'provisioning'} grafana server")
    return 0


def _running(stack: str) -> str | None:
    from brokerlab.lab import stacks

    answer = stacks.status(stack)
    return None if answer is None else answer["addresses"]["web"]


COMMANDS = (up, status, down, grafana)
