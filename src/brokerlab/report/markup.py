"""HTML built from values: whatever is not already `Html` is escaped, so a workload's name can never become markup."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

_VOID = frozenset({"meta", "link", "br", "hr", "input", "col"})


class Html(str):
    """Text that is markup already. Only `tag`, `join` and `script_json` make it from foreign values."""

    __slots__ = ()


Child = object  # str, Html, a number, None, or an iterable of these


def _flatten(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            yield child
        elif isinstance(child, (list, tuple)):
            yield from _flatten(child)
        else:
            yield escape(str(child))


def join(*children: Child) -> Html:
    return Html("".join(_flatten(children)))


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """<name attributes>children</name>. `class_` and `for_` lose the underscore, others turn it into a dash; None and
    False leave an attribute out, True writes it bare."""
    written = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        written.append(f" {attribute}" if value is True else f' {attribute}="{escape(str(value))}"')
    opening = f"<{name}{''.join(written)}>"
    return Html(opening) if name in _VOID else Html(f"{opening}{join(*children)}</{name}>")


def script_json(identifier: str, value: Any) -> Html:
    """Data for our scripts. `<`, `>` and `&` are written as JSON escapes: no text in it can end the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{escape(identifier)}">{text}</script>')
