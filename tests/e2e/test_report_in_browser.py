"""The report in a real headless Chromium, opened from disk as a reader would."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from browsing import DRAWN, POOR_CONTRAST, Open, background, drawn, need_chromium

from brokerlab import lab
from brokerlab.report.page import write_report
from brokerlab.results.reader import read_table
from brokerlab.results.tables import RESULT_TABLES
from compared_runs import write_measured
from synthetic import write_run
from synthetic_tables import Story, write_results

need_chromium()
pytestmark = pytest.mark.browser

STORY = Story(repeats=2, measure_s=12, warm_up_s=3, rate_per_s=400, groups=1, lost=2)
EVIL = "<script>window.broken=1</script><img src=x onerror='window.broken=2'>"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(write_results(tmp_path_factory.mktemp("runs") / "20270115T0800-demo-ab12", STORY))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_charts_are_drawn_without_complaint_or_network(visit: Open, report: Path, scheme: str) -> None:
    seen = visit(report, scheme=scheme)
    for part, charts in (("throughput", 2), ("spectrum", 1), ("heat", 2), ("limits", 4)):
        pixels = drawn(seen.page, part)
        assert len(pixels) == charts, part
        assert min(pixels) > 1000, (part, pixels)
    assert seen.complaints == []
    assert seen.requests == [report.as_uri()]


def test_the_page_of_a_comparison_draws_both_sides_without_complaint_or_network(visit: Open, tmp_path: Path) -> None:
    write_results(tmp_path / "20270115T0800-one-ab12", STORY)
    write_results(tmp_path / "20270116T0800-two-cd34", STORY, seed=1)
    page = tmp_path / "compare.html"
    lab.compare("one", ["two"], tmp_path, page=page)
    seen = visit(page)
    for part, charts in (("together", 1), ("spectrum", 1)):
        pixels = drawn(seen.page, part)
        assert len(pixels) == charts, part
        assert min(pixels) > 1000, (part, pixels)
        names = seen.page.locator(f"#{part} .u-legend .u-label").all_inner_texts()
        assert {"A kafka", "A nats", "B kafka", "B nats"} <= {name.partition(" (")[0] for name in names}
    assert seen.complaints == []
    assert seen.requests == [page.as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_history_draws_every_series_without_complaint_or_network(
    visit: Open, tmp_path: Path, scheme: str
) -> None:
    latency = "end_to_end_latency_p99_ns"
    for day in range(1, 13):
        value = (2e6 if day < 7 else 3e6) + 1e4 * (day % 3)
        bad = {"c01": {"verdict": "invalid", "latencies": "invalid", "because": "late"}} if day == 4 else {}
        values = {c: {latency: [value, value * 1.01, value * 0.99]} for c in ("c01", "c02")}
        write_measured(tmp_path, f"202611{day:02d}T060000Z-nightly-{day:06x}", values, verdicts=bad)
    page = tmp_path / "history.html"
    lab.history([latency], tmp_path, page=page)
    for width in (1280, 400):
        seen = visit(page, width=width, scheme=scheme)
        pixels = [c.evaluate(DRAWN) for c in seen.page.query_selector_all("[data-history] canvas")]
        assert len(pixels) == 2
        assert min(pixels) > 1000, pixels
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert seen.complaints == []
        assert seen.requests == [page.as_uri()]
    seen.page.locator("[data-history] .u-over").first.hover()
    assert "nightly" in seen.page.locator("[data-history] .u-legend").first.inner_text()


def test_a_canvas_has_the_pixels_it_shows(visit: Open, report: Path, tmp_path: Path) -> None:
    """Drawn before the page knew its width, a chart would be stretched."""
    single = write_report(write_results(tmp_path / "run", Story(cells=1, repeats=1, measure_s=6, rate_per_s=100)))
    for path in (report, single):
        sizes = visit(path).page.evaluate(
            "[...document.querySelectorAll('canvas')].map(c => [c.width / devicePixelRatio, c.getBoundingClientRect().width])"
        )
        assert len(sizes) >= 7
        assert all(abs(pixels - shown) < 2 for pixels, shown in sizes), sizes


def test_no_chart_is_wider_than_its_frame(visit: Open, report: Path) -> None:
    for width in (1280, 400):
        page = visit(report, width=width).page
        wide = page.evaluate(
            "[...document.querySelectorAll('.charts canvas')].filter(c => c.getBoundingClientRect().right > c.closest('figure').getBoundingClientRect().right + 1).length"
        )
        assert wide == 0


def test_the_verdict_is_first_in_reading_order_and_on_the_first_screen(visit: Open, report: Path) -> None:
    page = visit(report).page
    assert page.locator("body").inner_text().strip().startswith("✓ Valid ✕ Delivery violated")
    assert page.locator("h1, h2, h3").first.inner_text() == "✓ Valid ✕ Delivery violated"
    bottom = page.locator("#answer .panel").first.bounding_box()
    assert bottom is not None
    assert bottom["y"] < 900, "the answer begins below the first screen"


@pytest.mark.parametrize("width", [400, 768, 1280])
def test_nothing_scrolls_sideways(visit: Open, report: Path, width: int) -> None:
    page = visit(report, width=width).page
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_narrow_screen_every_figure_keeps_its_label(visit: Open, report: Path) -> None:
    page = visit(report, width=400).page
    label = page.evaluate("getComputedStyle(document.querySelector('#headline td:last-child'), '::before').content")
    assert label == '"End-to-end p99.9"'
    small = page.evaluate(
        "[...document.querySelectorAll('main *')].filter(e => e.childElementCount === 0 && e.textContent.trim() && parseFloat(getComputedStyle(e).fontSize) < 10.5).length"
    )
    assert small == 0


def test_dark_is_dark_and_the_button_overrules_the_system(visit: Open, report: Path) -> None:
    light, dark = visit(report).page, visit(report, scheme="dark").page
    assert min(background(light)) > 200
    assert max(background(dark)) < 60
    light.click("#theme")
    assert background(light) == background(dark)
    assert min(drawn(light, "throughput")) > 1000
    light.click("#theme")
    assert min(background(light)) > 200


def test_choosing_another_repeat_latency_or_cell_draws_another_chart(visit: Open, report: Path) -> None:
    seen = visit(report)
    page = seen.page
    figure = page.locator("#heat figure").first
    before = figure.locator("canvas").evaluate("c => c.toDataURL()")
    page.locator("#heat").get_by_label("send delay").check(force=True)
    assert "send delay" in figure.inner_text()
    assert figure.locator("canvas").evaluate("c => c.toDataURL()") != before
    page.locator("#throughput fieldset.segments").get_by_label("2").check(force=True)
    assert page.locator("#throughput figcaption").first.inner_text() == "kafka repeat 2"
    page.locator("#throughput").get_by_role("checkbox", name="kafka").uncheck(force=True)
    assert page.locator("#throughput figcaption").all_inner_texts() == ["nats repeat 2"]
    page.locator("#limits fieldset.segments").first.get_by_label("nats").check(force=True)
    assert "nats" in page.locator("#limits figcaption").first.inner_text()
    assert seen.complaints == []


def test_pointing_at_a_chart_shows_its_numbers(visit: Open, report: Path) -> None:
    page = visit(report).page
    page.locator("#throughput .u-over").first.hover()
    assert "400/s" in page.locator("#throughput .u-legend").first.inner_text()
    page.locator("#spectrum .u-over").hover()
    assert "ms" in page.locator("#spectrum .u-legend").inner_text()
    page.locator("#heat canvas").first.hover()
    assert "p99" in page.locator("#heat .tip").first.inner_text()
    assert "second" in page.locator("#heat .tip").first.inner_text()


def test_a_percentile_under_the_pointer_is_the_one_of_the_table(visit: Open, report: Path) -> None:
    """The page computes the spectrum from buckets itself: it must agree with the pipeline's quantiles."""
    page = visit(report).page
    shown = page.evaluate(
        """() => {
          const R = Report, found = [];
          R.each("latency_per_phase", {repeat: 0, measure: "end_to_end_latency"}, (i, c) => found.push([c.cell[i], c.p99_ns[i], c.count[i]]));
          return found.map(([cell, p99, n]) => {
            const {list} = Lines.steps(cell, 0, "end_to_end_latency"), rank = Math.ceil(0.99 * n - 1e-9);
            return [list.filter(s => s.before < rank).pop().value, p99];
          });
        }"""
    )
    assert len(shown) == STORY.cells
    for computed, stored in shown:
        assert computed == stored


def test_nonsense_names_stay_text(visit: Open, tmp_path: Path) -> None:
    story = Story(repeats=2, measure_s=5, warm_up_s=1, rate_per_s=100, labels=(EVIL, "nats"))
    seen = visit(write_report(write_results(tmp_path / "run", story)))
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    seen.page.locator("#throughput .u-over").first.hover()
    assert seen.page.evaluate("window.broken") is None
    assert seen.page.locator("img").count() == 0
    assert EVIL in seen.page.locator("#throughput figcaption").first.inner_text()
    assert seen.complaints == []


def _csv_text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_the_csv_has_every_row(visit: Open, report: Path) -> None:
    page = visit(report).page
    page.locator("#raw summary", has_text="rate per second").click()
    page.locator('[data-raw="rate_per_second"] tbody tr').nth(10).wait_for()  # rows are made when the table opens
    with page.expect_download() as expected:
        page.click('[data-csv="rate_per_second"]')
    rows = list(csv.DictReader(io.StringIO(Path(expected.value.path()).read_text())))
    from brokerlab.results.directory import RunDirectory

    table = read_table(RunDirectory(report.parent), RESULT_TABLES["rate_per_second"]).to_pylist()
    assert expected.value.suggested_filename == f"{report.parent.name}-rate_per_second.csv"
    texts = [{k: _csv_text(v) for k, v in r.items()} for r in table]
    assert sorted(map(str, rows)) == sorted(map(str, texts))


def test_a_report_without_tables_complains_about_nothing(visit: Open, tmp_path: Path) -> None:
    run = write_results(tmp_path / "run", STORY)
    shutil.rmtree(run.tables)
    run.verdict_file.unlink()
    seen = visit(write_report(run))
    assert seen.page.locator("h1").inner_text() == "? Not analyzed"
    assert seen.page.locator("canvas").count() == 0
    assert seen.complaints == []


def test_text_has_enough_contrast(visit: Open, report: Path) -> None:
    """4.5:1 for every colour of text on its surface, in both themes."""
    for scheme in ("light", "dark"):
        assert visit(report, scheme=scheme).page.evaluate(POOR_CONTRAST) == []


def test_it_prints_in_light_colours_with_charts(visit: Open, report: Path) -> None:
    page = visit(report, scheme="dark").page
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert min(background(page)) == 255
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 with its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.locator("nav").is_hidden()
    assert min(drawn(page, "throughput")) > 1000
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert max(background(page)) < 60


def test_the_tables_of_the_real_pipeline_fill_the_report(visit: Open, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run").directory
    # A process of its own: the analysis ends its Spark session, and other tests may be using theirs.
    code = "import sys, pathlib; from brokerlab.pipeline.analyze import analyze; analyze(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(run.path)], check=True, capture_output=True, timeout=280)
    seen = visit(write_report(run))
    assert seen.page.locator("#verdict .missing").count() == 0
    for part in ("throughput", "spectrum", "heat"):
        assert min(drawn(seen.page, part)) > 1000, part
    assert "9 lost" in seen.page.locator("#delivery .lead").inner_text()
    assert seen.complaints == []
