"""Secrets by reference: `env:NAME` or `file:PATH`. The value lives only in the process that connects."""

from __future__ import annotations

import os
from pathlib import Path

from brokerlab.errors import UserError

FORMS = "env:NAME or file:PATH"


def is_reference(text: str) -> bool:
    kind, _, where = text.partition(":")
    return kind in ("env", "file") and bool(where)


def secret(reference: str) -> str:
    """The value a reference stands for. Errors name the reference, never a value."""
    kind, _, where = reference.partition(":")
    if not is_reference(reference):
        raise UserError("a secret must be given by reference", hint=f"write {FORMS} instead of the value itself")
    if kind == "env":
        if where not in os.environ:
            raise UserError(f"the environment variable {where} is not set", hint=f"export {where}=...")
        return os.environ[where]
    try:
        return Path(where).expanduser().read_text().rstrip("\n")
    except (OSError, UnicodeDecodeError) as e:
        raise UserError(f"cannot read the secret in {where}: {e}", hint="give a readable text file") from e
