"""Tables people read: caption, headings with scope, and cells that become labelled lines on a narrow screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from brokerlab.report.markup import Child, Html, tag


@dataclass(frozen=True)
class Cell:
    """One cell: `main` large, `sub` small beneath it, `weak` greyed with `title` saying why."""

    main: Child
    sub: Child = None
    weak: bool = False
    title: str | None = None
    kind: str = ""


def _render(value: Child | Cell, label: str, first: bool, numeric: bool) -> Html:
    cell = value if isinstance(value, Cell) else Cell(value)
    # Explicit roles: a narrow screen shows cells as blocks, and browsers then drop the implicit ones.
    classes = " ".join(c for c in ("num" if numeric else "", "weak" if cell.weak else "", cell.kind) if c)
    body = tag(
        "span",
        tag("span", cell.main, class_="main"),
        tag("span", cell.sub, class_="sub") if cell.sub else None,
        class_="value",
    )
    return tag(
        "th" if first else "td",
        body,
        scope="row" if first else None,
        role="rowheader" if first else "cell",
        class_=classes or None,
        data_label=None if first else label,
        title=cell.title,
    )


def grid(
    caption: Child,
    heads: Sequence[str],
    rows: Sequence[Sequence[Child | Cell] | Html],
    *,
    text_columns: Sequence[int] = (0,),
    kind: str = "stack",
) -> Html:
    """A table whose first column names the row. A row that is Html (made by `band`) stands as it is."""
    head = tag(
        "tr",
        [
            tag("th", h, scope="col", role="columnheader", class_=None if i in text_columns else "num")
            for i, h in enumerate(heads)
        ],
        role="row",
    )
    body = [
        row
        if isinstance(row, Html)
        else tag(
            "tr",
            [_render(v, heads[i], i == 0, i not in text_columns) for i, v in enumerate(row)],
            role="row",
        )
        for row in rows
    ]
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", head, role="rowgroup"),
        tag("tbody", body, role="rowgroup"),
        class_=kind,
        role="table",
    )
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="table")


def band(text: Child, columns: int) -> Html:
    """A row across the table that begins a group."""
    return tag("tr", tag("th", text, colspan=columns, scope="colgroup", role="cell", class_="band"), role="row")
