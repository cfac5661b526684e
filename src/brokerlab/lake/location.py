"""A lake's address: a folder, `file:///...`, or what --lake leaves open."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

from brokerlab.errors import UserError
from brokerlab.lake.store import LocalStore, Store

VARIABLE = "BROKERLAB_LAKE"


def default_address(runs: Path) -> str:
    """BROKERLAB_LAKE, else a folder `lake` beside the runs."""
    return os.environ.get(VARIABLE) or str(runs.absolute().parent / "lake")


def store_at(address: str | Path) -> Store:
    """The store of a lake's address. Nothing is made or looked at."""
    text = str(address)
    scheme, colon, rest = text.partition(":")
    if not colon or len(scheme) < 2 or "/" in scheme:
        return LocalStore(Path(text).expanduser())
    if scheme == "file":
        return LocalStore(Path(unquote("/" + rest.lstrip("/"))))
    raise UserError(
        f"a lake must be a folder or a file: address, given {text}", hint="mount the file system, or give file:///..."
    )
