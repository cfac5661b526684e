"""A server the user has already: on PATH, and preferred to ours by BROKERLAB_PREFER_PATH."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
from pathlib import Path

from brokerlab.errors import UserError

VARIABLE = "BROKERLAB_PREFER_PATH"
OFFERED = ("nats", "postgresql", "rabbitmq", "redis", "valkey")  # Kafka and Pulsar are jars of our lock, no programs
_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")


def server_on_path(name: str, program: str) -> Path | None:
    """The program on PATH, if the user prefers that: the variable lists servers by name, or says `all`."""
    found = shutil.which(program) if _preferred() & {name, "all"} else None
    return Path(found) if found else None


def _preferred() -> set[str]:
    names = {part.strip() for part in os.environ.get(VARIABLE, "").split(",")} - {""}
    for name in sorted(names - {*OFFERED, "all"}):
        near = difflib.get_close_matches(name, (*OFFERED, "all"), 1)
        raise UserError(
            f"{VARIABLE}: there is no {name!r} to prefer" + (f"; did you mean {near[0]}?" if near else ""),
            hint=f"names are {', '.join(OFFERED)}, or all",
        )
    return names


def said_version(program: Path) -> str:
    """What the program says of itself; "unknown" when it says nothing."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    found = _VERSION.search(done.stdout)
    return found[0] if found else "unknown"
