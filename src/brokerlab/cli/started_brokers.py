"""What is printed about brokers that `up` started."""

from __future__ import annotations

from typing import Any

from brokerlab.cli.text import duration_text


def status_lines(status: dict[str, Any]) -> list[str]:
    """A supervisor's answer, for people."""
    nodes = ", ".join(f"{n['name']} (pid {n['pid']}{', DEAD' if n['dead'] else ''})" for n in status["nodes"])
    lines = [
        f"{status['broker']}: {status['state']} for {duration_text(status['uptime_s'])}, durability {status['durability']}",
        f"endpoint: {','.join(status['endpoint'])}",
        f"nodes:    {nodes}",
        f"files:    {status['directory']}",
    ]
    jmx = [f"{n['name']}={n['urls']['jmx']}" for n in status["nodes"] if "jmx" in n.get("urls", {})]
    lines += [f"JMX:      {', '.join(jmx)}"] if jmx else []
    security = security_fields(status)
    return [*lines, f"security: {', '.join(f'{k} {v}' for k, v in security.items())}"] if security else lines


def use_flags(status: dict[str, Any]) -> list[str]:
    """What makes `run` use this broker."""
    broker, options = status["broker"], status.get("endpoint_options") or {}
    endpoint = [f"--endpoint {broker}={','.join(status['endpoint'])}"]
    endpoint += [f"--endpoint {broker}.{name}={value}" for name, value in options.items() if value]
    return endpoint + [f"--set security.{name}={value}" for name, value in security_fields(status).items()]


def security_fields(status: dict[str, Any]) -> dict[str, str]:
    """How to connect, as written under `security` in a workload; nothing where servers demand nothing."""
    given: dict[str, Any] = status.get("security") or {}
    return {name: "true" if value is True else str(value) for name, value in given.items() if value is not False}
