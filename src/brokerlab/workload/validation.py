"""A tree against the models of fields.py: every problem, and as much of the workload as is sound for the checks after it."""

from __future__ import annotations

import difflib
import types
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from brokerlab.errors import Problem
from brokerlab.workload.combinations import NO_LIST, NO_OVERLAY
from brokerlab.workload.fields import Workload
from brokerlab.workload.tree import Path, Tree

# Stands in for a required part that is missing or unreadable, so that the other parts are still checked.
STAND_INS: dict[str, Any] = {
    "name": "unnamed",
    "question": "?",
    "producers": {"rate": "1/s"},
    "phases": {"measure": "1s"},
    "consumers": {},
}

_PLAIN_WORDS = {
    "missing": "is missing",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "list_type": "must be a list of values",
    "tuple_type": "must be a list",
    "dict_type": "must have fields of its own, one per line",
    "model_type": "must have fields of its own, one per line",
    "string_pattern_mismatch": "must be lower-case letters, digits and -, at most 40 of them",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "greater_than_equal": "must be at least {ge:,g}",
    "greater_than": "must be above {gt:,g}",
    "less_than_equal": "must be at most {le:,.0f}",
    "less_than": "must be below {lt:,.0f}",
}


def validated(tree: Tree) -> tuple[Workload, list[Problem]]:
    """The workload and what is wrong with it. With problems, the workload is what remains without the wrong parts."""
    try:
        return Workload.model_validate(tree.root), []
    except ValidationError as error:
        details = error.errors(include_url=False)
    return _sound_part(tree, details), field_problems(tree, details, Workload)


def field_problems(tree: Tree, details: list[ErrorDetails], root: type[BaseModel]) -> list[Problem]:
    """What pydantic found, in our words: each at its line, with the nearest name among the fields of `root`."""
    return [_problem(tree, detail, root) for detail in details]


def _sound_part(tree: Tree, details: list[ErrorDetails]) -> Workload:
    part = tree.copied()
    for detail in details:
        part.remove(_path(detail))
    try:
        return Workload.model_validate(part.root)
    except ValidationError as error:
        still_wrong = {str(detail["loc"][0]) for detail in error.errors(include_url=False)}
    for name in still_wrong:
        part.root.pop(name, None)
    replaced = still_wrong | ({"consumers"} if tree.root.get("consumers") and "consumers" not in part.root else set())
    return Workload.model_validate({**part.root, **{name: STAND_INS[name] for name in replaced if name in STAND_INS}})


def _problem(tree: Tree, detail: ErrorDetails, root: type[BaseModel]) -> Problem:
    path = _path(detail)
    kind, said = detail["type"], detail.get("ctx") or {}
    if kind == "extra_forbidden":
        names = _names_at(path[:-1], root)
        near = difflib.get_close_matches(str(path[-1]), names, n=1)
        known = "" if near else f"; known here: {', '.join(names)}"
        return tree.problem(path, f"is not a field{known}", nearest=near[0] if near else None)
    if kind == "value_error":
        error = said["error"]
        return tree.problem(path, str(error), with_value=True, nearest=getattr(error, "nearest", None))
    if kind in ("literal_error", "enum"):
        choices = [choice.strip("'") for choice in said["expected"].replace(" or ", ", ").split(", ")]
        near = difflib.get_close_matches(str(detail["input"]), choices, n=1)
        message = f"must be {', '.join(choices[:-1])} or {choices[-1]}"
        return tree.problem(path, message, with_value=True, nearest=near[0] if near else None)
    message = _PLAIN_WORDS[kind].format(**said) if kind in _PLAIN_WORDS else detail["msg"]
    if path[0] == "sweep" and kind == "list_type":
        message = NO_LIST
    if path[0] == "cells" and kind == "dict_type":
        message = NO_OVERLAY
    return tree.problem(path, message, with_value=kind != "missing")


def _path(detail: ErrorDetails) -> Path:
    """Without the words in <> that say which form of a field was meant, and without the mark of a key that is wrong."""
    return tuple(key for key in detail["loc"] if not str(key).startswith("<") and key != "[key]")


def _names_at(path: Path, root: type[BaseModel]) -> list[str]:
    """The fields that may stand at a path."""
    models = [root]
    any_key = False  # the next key is a name that the user chose
    for key in path:
        if isinstance(key, int):
            continue
        if any_key:
            any_key = False
            continue
        inner = [model.model_fields[key].annotation for model in models if key in model.model_fields]
        any_key = any(get_origin(annotation) is dict for annotation in inner)
        models = [m for annotation in inner for m in _models(annotation)]
    return list(dict.fromkeys(name for model in models for name in model.model_fields))


def _models(annotation: Any) -> list[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, types.UnionType, Annotated, tuple, dict):
        return [model for inner in get_args(annotation) for model in _models(inner)]
    return []
