"""Reading one JSON document of a run. An error names the file, what is wrong in it and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from brokerlab.errors import DamagedFileError

T = TypeVar("T")


def read_document(file: Path, parse: Callable[[str], T], what_to_do: str) -> T:
    """What `parse` makes of the file's text. Raises DamagedFileError for anything it refuses with a ValueError (as
    pydantic's `model_validate_json` does), and for a file that cannot be read at all."""
    try:
        return parse(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedFileError(file, _what_is_wrong(error), hint=what_to_do) from error


def _what_is_wrong(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first, *more = error.errors(include_url=False, include_context=False, include_input=False)
        field = ".".join(str(part) for part in first["loc"])
        others = f" (and {len(more)} more)" if more else ""
        return f"{field}: {first['msg']}{others}" if field else f"{first['msg']}{others}"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "it is nested too deep" if isinstance(error, RecursionError) else str(error)
