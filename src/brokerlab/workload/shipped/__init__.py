"""The workloads that come with the product, by name."""

from __future__ import annotations

import difflib
from pathlib import Path

from brokerlab.errors import NotFoundError

FOLDER = Path(__file__).parent


def names() -> tuple[str, ...]:
    """Sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def text(name: str) -> str:
    """The file's text. Raises NotFoundError with the nearest name."""
    if name not in names():
        raise not_found(name)
    return (FOLDER / f"{name}.yaml").read_text("utf-8")


def not_found(source: str) -> NotFoundError:
    """Neither a file nor a shipped workload."""
    near = difflib.get_close_matches(source, names(), n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return NotFoundError(
        f"no workload file or shipped workload is called {source!r}",
        hint=f"{meant}Shipped: {', '.join(names())}; `brokerlab init` writes a file to start from",
    )
