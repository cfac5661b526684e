"""Secrets by reference: `env:NAME` or `file:PATH`. The value lives only in the process that connects."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from brokerlab.errors import UserError

FORMS = "env:NAME or file:PATH"
HIDDEN = "(hidden)"
SHORTEST_HIDDEN = 4  # shorter ones would be found inside ordinary words

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SECRET_NAME = re.compile(
    r"pass(?:word(?!_encryption)|wd|phrase)|secret|jaas|credential|requirepass|masterauth|default_pass|private.?key|api.?key",
    re.I,
)
_ADDRESS_WITH_PASSWORD = re.compile(r"://[^/\s:@]*:[^/\s@]+@")

_resolved: set[str] = set()  # values this process has seen, so that `redacted` knows them


def is_reference(text: str) -> bool:
    kind, _, where = text.partition(":")
    return bool(_NAME.fullmatch(where)) if kind == "env" else kind == "file" and bool(where.strip())


def names_a_secret(text: str) -> bool:
    """Whether a name (of a setting, of a field) says that its value is to be kept to oneself."""
    return SECRET_NAME.search(text) is not None


def holds_a_password(text: str) -> bool:
    """Whether a value is an address with a password in it: `scheme://user:password@host`."""
    return _ADDRESS_WITH_PASSWORD.search(text) is not None


def secret(reference: str) -> str:
    """The value a reference stands for. Errors name the reference, never a value."""
    kind, _, where = reference.partition(":")
    if not is_reference(reference):
        raise UserError("a secret must be given by reference", hint=f"write {FORMS} instead of the value itself")
    if kind == "env":
        if where not in os.environ:
            raise UserError(f"the environment variable {where} is not set", hint=f"export {where}=...")
        value = os.environ[where]
    else:
        try:
            value = Path(where).expanduser().read_text().rstrip("\r\n")
        except UnicodeDecodeError:  # its own text repeats bytes of the file
            raise UserError(f"the secret in {where} is not text", hint="give a file of UTF-8 text") from None
        except OSError as e:
            raise UserError(f"cannot read the secret in {where}: {e.strerror}", hint="give a readable text file") from e
    if not value or any(not c.isprintable() for c in value):
        wrong = "is empty" if not value else "is more than one line of printable characters"
        raise UserError(f"the secret {reference} {wrong}", hint="give one line of text")
    if len(value) >= SHORTEST_HIDDEN:
        _resolved.update((value, json.dumps(value, ensure_ascii=False)[1:-1]))  # as it is, and as it stands in JSON
    return value


def resolvable(references: Iterable[str | None]) -> None:
    """Raises UserError for the first reference that stands for nothing: asked before anything is started."""
    for reference in dict.fromkeys(r for r in references if r is not None):
        secret(reference)


def redacted(text: str) -> str:
    """The text without any secret this process has resolved: for what others wrote (logs, errors) and we pass on."""
    for value in sorted(_resolved, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text


def redacted_settings(settings: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Settings as a broker reports them, by subject; some brokers report passwords as well."""
    return {
        subject: {name: HIDDEN if value and names_a_secret(name) else redacted(value) for name, value in values.items()}
        for subject, values in settings.items()
    }
