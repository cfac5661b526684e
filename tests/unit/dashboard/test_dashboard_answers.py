"""What the dashboard answers, over real run directories."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import threading
from pathlib import Path

import pytest
from asking import Client

from brokerlab import lab
from brokerlab.dashboard import following
from brokerlab.dashboard import stream as streaming
from brokerlab.dashboard.app import Dashboard, make_app
from brokerlab.dashboard.run_list import POINTS, thinned
from brokerlab.dashboard.safety import loopback_hosts
from brokerlab.dashboard.stream import RunStream, stream
from brokerlab.errors import NotFoundError, UserError, WorkloadError
from brokerlab.evidence.segments import rows
from brokerlab.evidence.tables import EVENT
from brokerlab.model.events import Annotation, event_of
from brokerlab.model.execution_id import ExecutionId
from brokerlab.workload import shipped
from conftest import ANALYZED, MEASURED, PORT

BAD = "name: x\nbroker: memori\nproducers: {rate: fast, mesage: 200B}\nphases: {measure: 1s}\n"


def test_runs_are_listed_newest_first_with_what_filters_need(client: Client) -> None:
    found = client.get("/api/runs").json()
    assert [r["run"] for r in found] == [MEASURED, "20270115T0900-demo-ef56", ANALYZED]
    analyzed, measured = found[2], found[0]
    assert analyzed["verdict"] == "valid"
    assert analyzed["brokers"] == ["kafka", "nats"]
    assert measured["verdict"] is None
    assert measured["state"] == "complete"
    assert 2 <= len(analyzed["spark"]) <= POINTS
    assert max(analyzed["spark"]) > 0


def test_a_run_whose_files_are_damaged_is_listed_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "20270115T0800-broken-ab12").mkdir()
    (tmp_path / "20270115T0800-broken-ab12" / "plan.json").write_text("{")
    (row,) = Dashboard(tmp_path, "t", frozenset()).run_list.rows()
    assert row["state"] == "unreadable"
    assert "plan.json" in row["headline"]


def test_a_small_line_has_means_of_equal_stretches() -> None:
    assert thinned([1, 2, 3], 60) == [1, 2, 3]
    assert thinned([0, 2] * 60, 60) == [1.0] * 60


def test_the_page_of_an_analyzed_run_is_its_report_with_the_same_data(client: Client, runs: Path) -> None:
    page = client.get(f"/runs/{ANALYZED}").text
    report = lab.report(lab.find_run(ANALYZED, runs)).read_text()
    start = '<script type="application/json" id="data">'
    assert (
        page[page.index(start) :].partition("</script>")[0] == report[report.index(start) :].partition("</script>")[0]
    )
    assert "/assets/report.js" in page


def test_the_page_of_a_run_without_a_verdict_is_the_live_one(client: Client) -> None:
    page = client.get(f"/runs/{MEASURED}").text
    assert "/assets/live.js" in page
    assert "/assets/report.js" not in page


def _events(of: RunStream) -> dict[str, dict[str, object]]:
    found = {}
    for one in (one for step in of.steps() for one in step()):
        kind, _, data = one.decode().removeprefix("event: ").partition("\ndata: ")
        found[kind] = json.loads(data)
    return found


def test_a_stream_begins_with_the_whole_history_and_goes_on_with_what_is_new(dashboard: Dashboard) -> None:
    followed = dashboard.followed.run(dashboard.run(MEASURED))
    seen = RunStream(followed, None, dashboard.outward)
    first = _events(seen)
    assert set(first) == {"state", "history", "now"}
    assert first["state"]["word"] == "complete"
    assert first["history"]["execution"] == "c02-r1" == first["state"]["shown"]
    assert first["history"]["tables"]["latency_heat"]["rows"] > 100  # type: ignore[index]
    assert first["now"]["counts"]["sent"] == 10_000  # type: ignore[index]
    assert _events(seen) == {}


def test_what_can_be_drawn_is_sent_before_anything_is_judged(dashboard: Dashboard) -> None:
    of = RunStream(dashboard.followed.run(dashboard.run(MEASURED)), None, dashboard.outward)
    kinds = [one.partition(b"\n")[0] for step in of.steps() for one in step()]
    assert kinds == [b"event: state", b"event: history", b"event: now"]


def test_how_far_a_run_is_can_be_said_while_its_history_is_read(dashboard: Dashboard) -> None:
    followed = dashboard.followed.run(dashboard.run(MEASURED))
    with followed.reading():
        (said,) = RunStream(followed, None, dashboard.outward).steps()[0]()
    assert said.startswith(b"event: state")


@pytest.mark.parametrize("page", ["live", "runs"])
def test_opening_the_page_begins_to_read_the_history(
    client: Client, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    read = threading.Event()

    class Seen(following.LiveTables):
        def whole(self) -> bytes:
            found = super().whole()
            read.set()
            return found

    monkeypatch.setattr(following, "LiveTables", Seen)
    assert client.get(f"/{page}/{MEASURED}").status_code == 200
    assert read.wait(30)


def test_a_stream_that_has_nothing_to_say_beats(dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BEAT_S", streaming.POLL_S)
    of, ending = RunStream(dashboard.followed.run(dashboard.run(MEASURED)), None, dashboard.outward), threading.Event()

    async def taken() -> list[bytes]:
        found = []
        async for one in stream(of, ending):
            found.append(one)
            if one.startswith(b"event: beat"):
                ending.set()
        return found

    assert asyncio.run(asyncio.wait_for(taken(), 30))[-1] == b"event: beat\ndata: {}\n\n"


def test_another_execution_can_be_chosen(dashboard: Dashboard) -> None:
    followed = dashboard.followed.run(dashboard.run(MEASURED))
    assert _events(RunStream(followed, "c01-r1", dashboard.outward))["history"]["execution"] == "c01-r1"
    assert "history" not in _events(RunStream(followed, "c99-r1", dashboard.outward))


def test_a_remark_is_kept_with_the_evidence_and_comes_in_the_stream(dashboard: Dashboard, allowed: Client) -> None:
    seen = RunStream(dashboard.followed.run(dashboard.run(MEASURED)), "c01-r1", dashboard.outward)
    _events(seen)
    said = {"execution": "c01-r1", "text": "  the fan\n came on <b>"}
    assert allowed.post(f"/api/runs/{MEASURED}/annotate", json=said).status_code == 200
    events = rows(dashboard.run(MEASURED).events(ExecutionId(cell="c01", repeat=1)), EVENT)
    assert [event_of(e) for e in events if e["source"] == "user"] == [Annotation(text="the fan came on <b>")]
    dashboard.followed.run(dashboard.run(MEASURED)).poll(ExecutionId(cell="c01", repeat=1)).polled_mono_s = 0.0
    update = _events(seen)["update"]["tables"]["event"]  # type: ignore[index]
    assert "the fan came on" in json.dumps(update)


def test_judging_takes_at_most_a_fiftieth_of_the_time(dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, judged_s, takes_s = [1000.0], [], 0.5

    def slowly(*_: object) -> list[object]:
        judged_s.append(now_s[0])
        now_s[0] += takes_s
        return []

    monkeypatch.setattr(following, "reasons", slowly)
    followed = following.FollowedRun(dashboard.run(MEASURED), clock=lambda: now_s[0])
    execution = ExecutionId(cell="c01", repeat=1)
    tables = followed.poll(execution)
    while now_s[0] < 1060:
        followed.so_far(execution, tables)
        now_s[0] += following.POLL_S
    gaps = [b - a for a, b in itertools.pairwise(judged_s)]
    assert len(gaps) == 2
    assert all(50 * takes_s <= gap < 55 * takes_s for gap in gaps)


@pytest.mark.parametrize(
    ("text", "execution"), [("", "c01-r1"), ("x" * 501, "c01-r1"), ("fine", "c09-r1"), ("fine", "../x")]
)
def test_a_remark_that_cannot_be_kept_is_refused(allowed: Client, text: str, execution: str) -> None:
    answer = allowed.post(f"/api/runs/{MEASURED}/annotate", json={"execution": execution, "text": text})
    assert answer.status_code in (404, 422)
    assert answer.json()["error"]


def test_what_is_not_in_progress_cannot_be_stopped(allowed: Client, runs: Path) -> None:
    answer = allowed.post(f"/api/runs/{ANALYZED}/stop", json={})
    assert answer.status_code == 404
    assert "not in progress" in answer.json()["error"]
    with pytest.raises(NotFoundError):
        lab.stop(lab.find_run(ANALYZED, runs))


def test_a_workload_is_checked_as_on_the_command_line(allowed: Client, tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(BAD)
    with pytest.raises(WorkloadError) as error:
        lab.plan(file)
    answer = allowed.post("/api/start", json={"text": BAD})
    assert answer.status_code == 422
    found = [(p["line"], p["field"], p["message"], p["value"], p["nearest"]) for p in answer.json()["problems"]]
    assert found == [(p.line, p.field, p.message, p.value, p.nearest) for p in error.value.problems]
    assert len(found) >= 3
    assert all(line for line, *_ in found)


def test_a_good_workload_says_what_it_would_do(allowed: Client) -> None:
    answer = allowed.post("/api/check", json={"workload": "steady", "brokers": "memory", "repeats": 2}).json()
    assert {c["broker"] for c in answer["cells"]} == {"memory"}
    assert answer["executions"] == 2 * len(answer["cells"])
    assert answer["seconds"] > 0


@pytest.mark.parametrize(
    "asked", [{"workload": "no-such"}, {"workload": "/etc/passwd"}, {"workload": "steady", "tag": "--fresh"}]
)
def test_only_shipped_workloads_can_be_named(allowed: Client, asked: dict[str, str]) -> None:
    answer = allowed.post("/api/start", json=asked)
    assert answer.status_code in (404, 422)


def test_the_shipped_workloads_can_be_begun_from(client: Client) -> None:
    assert {w["name"]: w["text"] for w in client.get("/api/workloads").json()} == {
        n: shipped.text(n) for n in shipped.names()
    }


def test_a_comparison_has_both_sides_and_its_address_holds_the_choice(client: Client) -> None:
    other = "20270115T0900-demo-ef56"
    page = client.get("/compare", params={"base": ANALYZED, "with": other}).text
    assert ANALYZED in page
    assert other in page
    assert "candidate / base" in page
    assert client.get("/compare", params={"base": ANALYZED, "with": ANALYZED}).status_code == 422
    assert client.get("/compare", params={"base": ANALYZED, "with": "nothing"}).status_code == 404


def test_studies_are_listed_with_claims_and_open(client: Client) -> None:
    found = {s["name"]: s for s in client.get("/api/studies").json()}
    assert found.keys() >= {"kafka-2011", "hpi-2020"}
    assert found["kafka-2011"]["claims"]
    counts = client.get("/api/studies/kafka-2011").json()["counts"]
    assert sum(counts.values()) == len(found["kafka-2011"]["claims"])
    assert "kafka-2011" in client.get("/studies/kafka-2011").text


def test_brokers_are_listed_and_only_known_actions_start(allowed: Client, runs: Path) -> None:
    names = {b["name"] for b in allowed.get("/api/brokers").json()}
    assert {"memory", "kafka"} <= names
    assert allowed.post("/api/brokers/kafka/explode", json={}).status_code == 404
    assert allowed.post("/api/brokers/nothing/install", json={}).status_code == 404
    assert not (runs / ".started").exists()


def test_what_the_page_sends_must_be_of_its_kind(allowed: Client) -> None:
    assert allowed.post("/api/start", json={"text": 5}).status_code == 422
    assert allowed.post("/api/start", content=b"{", headers={"content-type": "application/json"}).status_code == 422
    assert allowed.post(f"/api/runs/{MEASURED}/annotate", json={}).status_code == 422


def test_a_remark_has_a_length(runs: Path) -> None:
    with pytest.raises(UserError, match="1 to 500 characters"):
        lab.annotate(lab.find_run(MEASURED, runs), "c01-r1", " ")


def test_a_stream_of_a_run_that_is_deleted_says_so_and_ends(dashboard: Dashboard, tmp_path: Path) -> None:
    shutil.copytree(dashboard.run(MEASURED).path, copied := tmp_path / MEASURED)
    other = Dashboard(tmp_path, "t", frozenset())
    of = RunStream(other.followed.run(other.run(MEASURED)), None, other.outward)

    async def taken() -> list[bytes]:
        found = []
        async for one in stream(of, threading.Event()):
            found.append(one)
            if one.startswith(b"event: history"):
                shutil.rmtree(copied)
        return found

    last = asyncio.run(taken())[-1]
    assert last.startswith(b"event: gone")
    assert b"was deleted" in last


def test_a_stream_ends_with_the_server(dashboard: Dashboard) -> None:
    ending = threading.Event()
    ending.set()
    of = RunStream(dashboard.followed.run(dashboard.run(MEASURED)), None, dashboard.outward)

    async def taken() -> list[bytes]:
        return [one async for one in stream(of, ending)]

    assert asyncio.run(taken()) == [b"retry: 1000\n\n"]


def test_a_run_that_only_watches_is_listed_as_one_and_shows_every_reading(dashboard: Dashboard, tmp_path: Path) -> None:
    shutil.copytree(dashboard.run(MEASURED).path, copied := tmp_path / MEASURED)
    plan = json.loads((copied / "plan.json").read_text())
    target = {"kind": "host", "name": "host"}
    (copied / "plan.json").write_text(json.dumps({**plan, "kind": "monitor", "cells": [], "targets": [target]}))
    other = Dashboard(tmp_path, "t", loopback_hosts(PORT))
    assert [row["kind"] for row in other.run_list.rows()] == ["monitor"]
    page = Client(make_app(other), f"http://127.0.0.1:{PORT}").get(f"/runs/{MEASURED}").text
    assert 'data-chart="readings"' in page
    assert 'data-chart="heat"' not in page
    history = _events(RunStream(other.followed.run(other.run(MEASURED)), "c01-r1", other.outward))["history"]
    assert "rss_bytes" in json.dumps(history)
