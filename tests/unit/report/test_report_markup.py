"""Foreign text never becomes markup."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from brokerlab.report.markup import join, script_json, tag


def test_text_and_attributes_are_escaped() -> None:
    made = tag("p", "<script>alert(1)</script>", title='" onload="x')
    assert made == '<p title="&quot; onload=&quot;x">&lt;script&gt;alert(1)&lt;/script&gt;</p>'


def test_markup_made_by_tag_is_not_escaped_again() -> None:
    assert tag("ul", [tag("li", "a & b"), None, tag("li", 2)]) == "<ul><li>a &amp; b</li><li>2</li></ul>"


def test_attributes_can_be_bare_or_left_out() -> None:
    assert tag("details", open=True, hidden=False, class_=None) == "<details open></details>"
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'


@given(st.text())
def test_any_text_survives_the_data_element_and_cannot_end_it(text: str) -> None:
    made = script_json("data", {"t": text})
    inside = re.fullmatch(r'<script type="application/json" id="data">(.*)</script>', made, re.DOTALL)
    assert inside is not None
    assert "<" not in inside[1]
    assert ">" not in inside[1]
    assert json.loads(inside[1]) == {"t": text}


@given(st.text())
def test_joined_text_has_no_markup_characters(text: str) -> None:
    assert not set("<>\"'") & set(join(text))
