"""Which study a name or a folder means."""

from __future__ import annotations

import difflib
from pathlib import Path

from brokerlab.errors import NotFoundError
from brokerlab.studies.load import FILE, SHIPPED, Study, load_study

ALL = "all"


def names() -> tuple[str, ...]:
    """The studies that come with the product, in order."""
    return tuple(sorted(p.parent.name for p in SHIPPED.glob(f"*/{FILE}")))


def find_study(wanted: str) -> Study:
    """A shipped study by name, or the one in a folder. Raises NotFoundError with the nearest name."""
    if wanted in names():
        return load_study(SHIPPED / wanted, f"{wanted}/{FILE} (shipped)")
    folder = Path(wanted)
    if folder.name == FILE:
        folder = folder.parent
    if folder.is_dir():
        return load_study(folder)
    near = difflib.get_close_matches(wanted, names(), n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    known = f"Shipped: {', '.join(names())}; " if names() else ""
    raise NotFoundError(
        f"no folder or shipped study is called {wanted!r}", hint=f"{meant}{known}`brokerlab study init` writes one"
    )


def find_studies(wanted: str) -> list[Study]:
    """The same; `all` are the shipped ones."""
    return [find_study(name) for name in names()] if wanted == ALL else [find_study(wanted)]
