"""The dashboard in a real headless Chromium, served by the real command, over runs on disk and a run that it starts itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from benchmarks.long_history import POINTS_A_SECOND, write_long_run
from browsing import POOR_CONTRAST, drawn, need_chromium
from lab import Lab, wait_until, workload

from brokerlab.results.directory import run_directories
from brokerlab.results.run_state import runner_pid
from dashboard import Server, Tab, Tabs, nothing_left
from synthetic import make_plan, write_run
from synthetic_tables import Story, write_results

if TYPE_CHECKING:
    from playwright.sync_api import Browser

need_chromium()
pytestmark = pytest.mark.browser

STORY = Story(repeats=2, measure_s=12, warm_up_s=3, rate_per_s=400)
ONE, TWO, LIVE = "20270115T0800-demo-ab12", "20270115T0900-demo-ef56", "20270116T0800-live-cd34"
PAGES = ("/", "/start", "/compare", "/studies", "/brokers", "/monitor", f"/runs/{ONE}", f"/live/{LIVE}", f"/compare?base={ONE}&with={TWO}", "/studies/kafka-2011")  # fmt: skip


@pytest.fixture(scope="module")
def server(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    runs = tmp_path_factory.mktemp("served") / "runs"
    write_results(runs / ONE, STORY)
    write_results(runs / TWO, STORY, seed=1)
    write_run(runs / LIVE, plan=make_plan(LIVE, repeats=1), faults={})
    write_long_run(runs / "20270117T0800-long-ab12", 100_000)
    with Server(Lab(home, runs)) as found:
        yield found


@pytest.fixture
def tab(browser: Browser, server: Server) -> Iterator[Tabs]:
    with Tabs(browser, server) as opened:
        yield opened


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_every_page_is_whole_at_every_width_and_color(tab: Tabs, width: int, scheme: str) -> None:
    for path in PAGES:
        seen = tab(path, width=width, scheme=scheme)
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert seen.page.evaluate(POOR_CONTRAST) == [], path
        assert seen.complaints == [], path
        seen.close()


def test_charts_of_a_run_are_drawn_live_and_in_its_report(tab: Tabs) -> None:
    for path in (f"/live/{LIVE}", f"/runs/{ONE}"):
        seen = tab(path)
        for part in ("throughput", "heat", "limits"):
            pixels = drawn(seen.page, part)
            assert pixels, (path, part)
            assert min(pixels) > 1000, (path, part, pixels)


def test_runs_are_found_by_filters_that_the_address_holds(tab: Tabs) -> None:
    page = tab("/").page
    page.get_by_label("Verdict", exact=False).select_option("not analyzed")
    assert page.locator("#run-rows tr").count() == 2
    assert "verdict=not+analyzed" in page.url
    again = tab(page.url.removeprefix(tab.server.url)).page
    assert again.locator("#run-rows tr").count() == 2
    again.get_by_label("Find").fill("nothing is called this")
    assert again.locator("#run-rows tr").count() == 0


def test_two_runs_are_chosen_and_compared_with_the_keyboard_alone(tab: Tabs) -> None:
    page = tab("/").page
    for name in (ONE, TWO):
        _tab_to(page, f"compare {name}")
        page.keyboard.press("Space")
    _tab_to(page, "Compare 2 runs")
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-ready]")
    page.wait_for_url(re.compile(r"/compare\?base="))
    assert page.url.endswith(f"/compare?base={ONE}&with={TWO}")
    assert min(drawn(page, "together")) > 1000


def _tab_to(page: object, wanted: str) -> None:
    """Press Tab until what has the focus is called so."""
    said = "(e => (e.getAttribute('aria-label') || e.textContent || '').trim())(document.activeElement)"
    for _ in range(80):
        page.keyboard.press("Tab")  # type: ignore[attr-defined]
        if page.evaluate(said) == wanted:  # type: ignore[attr-defined]
            return
    raise AssertionError(f"the keyboard does not lead to {wanted!r}")


def test_a_study_is_opened_from_the_list(tab: Tabs) -> None:
    page = tab("/studies").page
    page.locator("article", has_text="kafka-2011").get_by_role("link", name="quick").click()
    page.wait_for_selector("html[data-ready]")
    assert page.url.endswith("/studies/kafka-2011?scale=quick")
    assert "Kreps" in page.inner_text("main")


def test_a_history_of_100_000_points_is_all_there(tab: Tabs) -> None:
    seen = tab("/live/20270117T0800-long-ab12")
    seconds = -(-100_000 // POINTS_A_SECOND)
    wait_until(
        "the whole history", lambda: int(seen.page.evaluate("document.documentElement.dataset.points")) >= 100_000
    )
    table = "Report.table('{}').rows"
    assert seen.page.evaluate(table.format("rate_per_second")) == 2 * seconds
    assert seen.page.evaluate(table.format("latency_heat")) == (POINTS_A_SECOND - 5) * seconds
    wait_until("what was counted", lambda: f"{8 * seconds:,} in all" in seen.page.inner_text(".tiles"))
    assert min(drawn(seen.page, "throughput")) > 1000
    assert min(drawn(seen.page, "heat")) > 1000
    assert seen.complaints == []


def test_a_connection_without_a_word_is_made_again(tab: Tabs) -> None:
    seen = tab(f"/live/{LIVE}")
    seen.page.clock.install()
    seen.page.reload()
    seen.page.wait_for_selector("html[data-ready]")
    asked: list[str] = []
    seen.page.on("request", lambda request: asked.append(request.url))
    seen.page.clock.fast_forward(20_000)
    assert not [url for url in asked if url.endswith("/live")]
    seen.page.clock.fast_forward(10_000)
    wait_until("another connection", lambda: _looked(seen, asked))
    assert seen.complaints == []


def _looked(seen: Tab, asked: list[str]) -> bool:
    seen.page.wait_for_timeout(50)  # events of the page are handled while it is waited for
    return any(url.endswith("/live") for url in asked)


def test_a_connection_that_the_browser_gave_up_is_made_again(tab: Tabs) -> None:
    seen = tab("/")
    live = "**/api/runs/*/live"
    seen.page.route(live, lambda route: route.fulfill(status=503, body="away"))
    seen.page.goto(f"{tab.server.url}/live/{LIVE}")
    seen.page.get_by_text("The server does not answer").wait_for()
    assert seen.page.evaluate("document.documentElement.dataset.ready") is None
    seen.page.unroute(live)
    seen.page.wait_for_selector("html[data-ready]")
    assert min(drawn(seen.page, "throughput")) > 1000
    assert seen.page.locator("#connection").inner_text() == ""


def test_without_the_token_nothing_can_be_started(tab: Tabs) -> None:
    page = tab("/start", unlocked=False).page
    assert page.locator("#start").is_disabled()
    page.locator("#unlock").click()
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_text("this needs the token").wait_for()
    assert page.locator("#start").is_disabled()


def test_what_is_wrong_with_a_workload_is_shown_by_line(tab: Tabs) -> None:
    page = tab("/start").page
    page.locator("#text").fill("name: x\nbroker: memori\nproducers: {rate: fast}\nphases: {measure: 1s}\n")
    page.locator("#start").click()
    page.locator("#problems li").nth(1).wait_for()
    said = page.locator("#problems").inner_text()
    assert "line 2" in said
    assert "memory" in said
    assert "line 3" in said
    page.locator("#problems button", has_text="line 2").first.click()
    assert page.evaluate("document.activeElement.id") == "text"
    assert page.evaluate("text.value.slice(text.selectionStart, text.selectionEnd)") == "broker: memori"


def test_a_run_is_started_watched_reloaded_remarked_on_and_stopped_while_the_server_comes_and_goes(
    home: Path, tmp_path: Path, browser: Browser
) -> None:
    lab = Lab(home, tmp_path / "runs")
    text = yaml.safe_load(workload(tmp_path, name="watched").read_text())
    text["phases"] = {"warm_up": "1s", "measure": "600s", "drain_limit": "60s"}
    with nothing_left(lab), Server(lab) as server, Tabs(browser, server) as tab:
        first = tab("/start")
        _start(first, yaml.safe_dump(text, sort_keys=False))
        _seen_live(first)
        (run,) = run_directories(lab.runs)
        before = _points(first)
        assert first.page.evaluate(TWICE) == 0
        first.page.reload()
        wait_until("the history after the reload", lambda: _points(first) >= before)
        second = tab(f"/runs/{run.name}", unlocked=False, width=400, scheme="dark")
        _seen_live(second)
        assert second.page.locator("#stop").is_disabled()
        first.page.locator("#remark").fill("the fan came on")
        first.page.keyboard.press("Enter")
        for one in (first, second):
            one.page.locator("#event-list .annotation", has_text="the fan came on").wait_for()
            assert one.complaints == []
        server.stop()
        first.page.get_by_text("The server does not answer").wait_for()
        assert runner_pid(run) is not None, "the run ended with the server"
        while_away = _points(first)
        server.start()
        wait_until("the history to go on", lambda: _points(first) > while_away)
        _stop(first, server.token)
        wait_until("the run to stop", lambda: runner_pid(run) is None)
        first.page.get_by_text("Stopped").wait_for()
        assert run.state().executions["c01-r1"].state == "interrupted"
        second.page.get_by_text("Stopped").wait_for()


# Rows that are in a table more than once: updates replace rows by their keys.
TWICE = """(() => {
  const { rows, columns: c } = Report.table("latency_heat");
  const keys = Array.from({ length: rows }, (_, i) => [c.measure[i], c.group[i], c.second_unix_s[i], c.band[i]].join());
  return rows ? rows - new Set(keys).size : -1;
})()"""


def _start(seen: Tab, text: str) -> None:
    seen.page.locator("#text").fill(text)
    seen.page.locator("#check").click()
    seen.page.get_by_text("Fine: 1 execution").wait_for()
    seen.page.locator("#start").click()
    seen.page.wait_for_url(re.compile("/runs/"), timeout=120_000)


def _points(seen: Tab) -> int:
    return int(seen.page.evaluate("document.documentElement.dataset.points ?? 0"))


def _seen_live(seen: Tab) -> None:
    """Rates, latencies and processors are there, and drawn."""
    wait_until("rates", lambda: seen.page.locator("[data-tile=received]").inner_text() not in ("–", "0/s"))
    wait_until("all charts", lambda: len(drawn(seen.page, "heat")) == 1 and len(drawn(seen.page, "limits")) >= 3)
    assert min(drawn(seen.page, "throughput") + drawn(seen.page, "heat")) > 1000
    assert seen.page.locator("#word").inner_text().endswith("Live")
    assert not seen.page.locator("#analyze").is_visible()
    assert not seen.page.locator("#report").is_visible()


def _stop(seen: Tab, token: str) -> None:
    """Another server has another token: the old one is forgotten, and the new one asked for."""
    seen.page.on("dialog", lambda dialog: dialog.accept())
    seen.page.locator("#stop").click()
    seen.page.get_by_text("this needs the token").wait_for()
    seen.page.locator("#unlock").click()
    seen.page.get_by_label("Token").fill(token)
    seen.page.keyboard.press("Enter")
    wait_until("the tab to be unlocked", lambda: seen.page.locator("#stop").is_enabled())
    seen.page.locator("#stop").click()
