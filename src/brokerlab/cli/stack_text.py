"""What is printed about monitoring stacks that `monitor up` started."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from brokerlab.cli.text import aligned, duration_text


def stack_lines(status: dict[str, Any]) -> list[str]:
    """A stack's status, for people."""
    versions = ", ".join(f"{name} {version}" for name, version in status["versions"].items())
    lines = [f"{status['stack']}: {status['state']} for {duration_text(status['uptime_s'])} ({versions})"]
    lines += aligned([[f"  {name}:", address] for name, address in status["addresses"].items()])
    lines += aligned([_child_row(child) for child in status["children"]])
    if status.get("given"):
        lines.append(f"  pages:   {', '.join(status['given'])}")
    if "java_option" in status:
        lines.append(f"  a JVM that is to be scraped: java {status['java_option']}")
    return [*lines, f"  files:   {status['directory']}"]


def _child_row(child: dict[str, Any]) -> list[str]:
    pid = f"pid {child['pid']}" if child["pid"] is not None else "no process"
    return [f"  {child['name']}", pid, child["state"] + _history(child), child["does"]]


def _history(child: dict[str, Any]) -> str:
    if child["last_end"] is None:
        return ""
    when = datetime.fromtimestamp(child["last_end_unix_s"], UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    times = "once" if child["restarts"] == 1 else f"{child['restarts']} times"
    return f", started again {times}: {child['last_end']} at {when}"


def next_lines(status: dict[str, Any]) -> list[str]:
    """What can be done with a stack that has just been started."""
    if status["stack"] == "graphite":
        use = f"brokerlab run FILE --export graphite={status['addresses']['carbon']}"
    else:
        use = "brokerlab run FILE --export prometheus"
    return [
        f"open it:  {status['addresses']['web']}",
        f"a run:    {use}",
        f"stop it:  brokerlab monitor down --stack {status['stack']}",
    ]
