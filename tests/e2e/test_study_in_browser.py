"""The page of a study in a real headless Chromium: a shipped study with made-up measurements beside the published points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import DRAWN, POOR_CONTRAST, Open, background, need_chromium

from brokerlab import lab
from brokerlab.model.claims import VERDICTS
from brokerlab.report.study_page import StudySource, write_study_page
from brokerlab.studies.page import page_source

need_chromium()
pytestmark = pytest.mark.browser

EVIL = "<script>window.broken=1</script><img src=x onerror='window.broken=2'>"


def measured_points(source: StudySource) -> Iterator[dict[str, Any]]:
    """One of ours beside every published point that a cell repeats, 10 % above it."""
    for p in source.points:
        if p["cell"] and p["y"] is not None:
            y = 1.1 * p["y"]
            yield {**p, "source": "measured", "y": y, "low": 0.9 * y, "high": 1.2 * y, "n": 4, "note": ""}


def source_of(name: str, page: Path, runs: Path) -> StudySource:
    """A study that was never run, with verdicts and points put in: each claim another verdict."""
    (study,) = lab.studies(name)
    source = page_source(lab.study_answer(study, runs), page)
    claims = [
        {**row, "verdict": VERDICTS[i % len(VERDICTS)], "value": 1.5 + i, "low": 1.0 + i, "high": 2.0 + i, "n": 4}
        for i, row in enumerate(source.claims)
    ]
    return replace(source, claims=claims, points=[*source.points, *measured_points(source)])


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study")
    file = path / "report.html"
    return write_study_page(file, [source_of("kafka-2011", file, path / "runs")])


@pytest.fixture(scope="module")
def page_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("studies")
    file = path / "all.html"
    return write_study_page(file, [source_of(s.name, file, path / "runs") for s in lab.studies()])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_every_figure_is_drawn_at_every_width_without_complaint(
    visit: Open, page: Path, width: int, scheme: str
) -> None:
    seen = visit(page, width=width, scheme=scheme)
    hosts = seen.page.locator("[data-figure]").all_inner_texts()
    figures = sum("nothing to draw" not in text for text in hosts)
    pixels = [c.evaluate(DRAWN) for c in seen.page.query_selector_all("[data-figure] canvas")]
    assert len(pixels) == figures > 0
    assert len(hosts) - figures == 1  # the course over bytes sent: nothing of it was published in numbers
    assert min(pixels) > 1000, pixels
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.page.evaluate(POOR_CONTRAST) == []
    assert max(background(seen.page)) < 60 if scheme == "dark" else min(background(seen.page)) > 200
    assert seen.complaints == []
    assert seen.requests == [page.as_uri()]


def test_verdicts_stand_before_figures_and_every_claim_has_its_reason(visit: Open, page: Path) -> None:
    seen = visit(page).page
    (study,) = lab.studies("kafka-2011")
    assert seen.locator("h2").first.inner_text() == "Claims"
    words = seen.locator("#kafka-2011-claims tbody .status").all_inner_texts()
    assert [w.casefold() for w in words] == [VERDICTS[i % len(VERDICTS)] for i in range(len(study.claims))]
    said = seen.locator(".told-claims summary").all_inner_texts()
    assert [s.partition(":")[0] for s in said] == [c.id for c in study.claims]


def test_published_and_measured_points_are_told_apart(visit: Open, page: Path) -> None:
    seen = visit(page).page
    legend = seen.locator("[data-figure] .u-legend").first
    names = legend.locator(".u-label").all_inner_texts()
    assert any(n.startswith("published") for n in names)
    assert any(n.startswith("measured here") for n in names)


def test_the_keyboard_reaches_and_opens_every_reason(visit: Open, page: Path) -> None:
    seen = visit(page).page
    summaries = seen.locator("summary").count()
    opened = 0
    for _ in range(summaries + 60):
        seen.keyboard.press("Tab")
        if seen.evaluate("document.activeElement.tagName") == "SUMMARY":
            seen.keyboard.press("Enter")
            opened += 1
        if opened == summaries:
            break
    assert seen.locator("details[open]").count() == summaries


def test_one_page_for_all_leads_to_each(visit: Open, page_of_all: Path) -> None:
    seen = visit(page_of_all, width=400)
    names = [s.name for s in lab.studies()]
    for name in names:
        seen.page.locator(f"header a[href='#{name}']").click()
        assert seen.page.evaluate("location.hash") == f"#{name}"
        assert seen.page.locator(f"#{name}-claims tbody tr").count() > 0
    ids = seen.page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 400
    assert seen.complaints == []


def test_nonsense_stays_text(visit: Open, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    source = source_of("kafka-2011", file, tmp_path / "runs")
    claims = [{**row, "says": EVIL, "reason": EVIL} for row in source.claims]
    points = [{**p, "series": EVIL, "x_text": EVIL if p["x"] is None else p["x_text"]} for p in source.points]
    seen = visit(write_study_page(file, [replace(source, title=EVIL, claims=claims, points=points)]))
    assert seen.page.evaluate("window.broken") is None
    assert seen.page.locator("img").count() == 0
    assert seen.complaints == []
