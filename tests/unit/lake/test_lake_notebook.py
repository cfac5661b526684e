"""The example in docs/lake.md for notebooks runs as it is printed, and prints what has that form."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
from pathlib import Path
from typing import Any

import pytest
from lake_runs import Place

PAGE = Path(__file__).parents[3] / "docs" / "lake.md"


def printed(source: str, names: dict[str, Any]) -> str:
    """What Python prints for one example."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, str(PAGE), "single"), names)
    return out.getvalue()


def shape(text: str) -> Any:
    """What does not depend on the runs of a lake: the type of a value and the names in it, or the heads of a table."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        lines = [line for line in text.splitlines() if line.strip("+- ")]
        return lines[0].replace("|", " ").split()
    if not isinstance(value, list | tuple):
        return type(value)
    return [type(value), *(sorted(row) if isinstance(row, dict) else type(row) for row in value[:1])]


def test_the_example_for_notebooks_runs_as_it_is_printed(full: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = doctest.DocTestParser().get_examples(PAGE.read_text())
    monkeypatch.chdir(full.root)
    names: dict[str, Any] = {}
    compared = 0
    for example in examples:
        said = printed(example.source, names)
        assert bool(said) == bool(example.want), example.source
        if said:
            assert shape(said) == shape(example.want), example.source
            compared += 1
    assert (len(examples), compared) == (10, 5)
    assert names["runs"].runs() == full.lake.runs()
