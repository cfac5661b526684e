"""What figures of a study are called on its page."""

from __future__ import annotations

import pytest

from brokerlab.report.study_page import FigureText


@pytest.mark.parametrize(
    ("name", "title", "heading"),
    [
        ("6", "Rates", "Figure 6: Rates"),
        ("4-course", "Rates over time", "Rates over time"),
        ("1-1-level-1", "Table 1-1: most bytes a second", "Table 1-1: most bytes a second"),
        ("6", "", "Figure 6"),
        ("writes", "", "Figure writes"),
    ],
)
def test_only_a_figure_named_by_a_number_is_the_studys_of_that_number(name: str, title: str, heading: str) -> None:
    assert FigureText(title, "", "", "", "cell").heading(name) == heading
