"""Secrets in a workload: by reference only. A literal one is refused without being repeated, wherever it is written,
even where a flag replaces it: the file's text and the flags are kept with the run."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

from brokerlab.errors import Problem
from brokerlab.secrets import FORMS, HIDDEN, SECRET_NAME, holds_a_password, is_reference, names_a_secret
from brokerlab.workload.tree import SETTINGS, Path, Tree, parse_path

PASSWORD: Path = ("security", "password")
REFERENCE_ONLY = f"must be a reference, {FORMS}: the password itself must not be written here"
FIELDS_ONLY = "must have fields of its own: tls, ca_file, user, password"
NO_SETTING = "is a secret: settings are kept with the run; give user and password under `security` instead"

_IN_COMMENT = re.compile(
    rf"((?:{SECRET_NAME.pattern})[\w.-]*[\"']?\s*[:=]\s*)(?![\"']?(?:env|file):)[^\s].*", re.IGNORECASE
)


def refuse_literals(tree: Tree) -> list[Problem]:
    """What is given as a value where only a reference may stand. It is taken out of the tree, so that whatever is
    checked afterwards cannot repeat it."""
    found = list(_found(tree.root))
    problems = [tree.problem(path, message) for path, message in found]
    for path, _ in found:
        if path == PASSWORD:  # something must stand there: a user without a password is a different problem
            tree.put(path, "env:HIDDEN", tree.origin(path))
        else:
            tree.remove(path)
    return problems


def _found(root: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    for part in ("security", *SETTINGS):
        yield from _refused((part,), root.get(part))
    swept = root.get("sweep")
    for text, values in swept.items() if isinstance(swept, dict) else ():
        try:
            base = parse_path(text)
        except ValueError:
            continue
        for value in values if isinstance(values, list) else [values]:
            for _, message in _refused(base, value):
                yield ("sweep", text), message
                break
            else:
                continue
            break
    yield from _found_in_cells(root.get("cells"))


def _found_in_cells(cells: Any) -> Iterator[tuple[Path, str]]:
    for name, overlay in cells.items() if isinstance(cells, dict) else ():
        for text, value in overlay.items() if isinstance(overlay, dict) else ():
            try:
                base = parse_path(text)
            except ValueError:
                continue
            for _, message in itertools.islice(_refused(base, value), 1):
                yield ("cells", name, text), message


def _refused(path: Path, value: Any) -> Iterator[tuple[Path, str]]:
    message = _message(path, value)
    if message is not None:
        yield path, message
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _refused((*path, key), inner)


def _message(path: Path, value: Any) -> str | None:
    if value is None:
        return None
    if path == PASSWORD:
        return None if isinstance(value, str) and is_reference(value) else REFERENCE_ONLY
    if path == ("security",) and not isinstance(value, dict):
        return FIELDS_ONLY
    if path[0] in SETTINGS and len(path) == 3:
        secret = names_a_secret(str(path[2])) or (isinstance(value, str) and holds_a_password(value))
        return NO_SETTING if secret else None
    return None


def kept_text(text: str) -> str:
    """A workload file as it is kept with the run: what was commented out may be a password all the same."""
    return re.sub(r"#.*", lambda comment: _IN_COMMENT.sub(rf"\1{HIDDEN}", comment[0]), text)
