"""A server the user has already: on PATH, and preferred to ours by BROKERLAB_PREFER_PATH."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from brokerlab.errors import UserError

VARIABLE = "BROKERLAB_PREFER_PATH"
_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")


def server_on_path(name: str, program: str) -> Path | None:
    """The program on PATH, if the user prefers that: the variable lists servers by name, or says `all`."""
    found = shutil.which(program) if preferred_names() & {name, "all"} else None
    return Path(found) if found else None


def preferred_names() -> set[str]:
    return {part.strip() for part in os.environ.get(VARIABLE, "").split(",")} - {""}


def check_preferred_names(offered: Sequence[str]) -> None:
    """`offered` are the servers that can be preferred. Raises UserError for any other name."""
    for name in sorted(preferred_names() - {*offered, "all"}):
        near = difflib.get_close_matches(name, (*offered, "all"), 1)
        raise UserError(
            f"{VARIABLE}: there is no {name!r} to prefer" + (f"; did you mean {near[0]}?" if near else ""),
            hint=f"valid names are {', '.join(offered)}, or all",
        )


def said_version(program: Path) -> str:
    """What the program says of itself; "unknown" when it says nothing."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    found = _VERSION.search(done.stdout)
    return found[0] if found else "unknown"
