"""Who may ask the dashboard what: other names, other sites, no token, paths that lead elsewhere."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from asking import Client, streamed
from fastapi.routing import APIRoute

from brokerlab import lab
from brokerlab.dashboard.app import Dashboard, make_app
from brokerlab.dashboard.safety import TOKEN_HEADER, Outward, loopback_hosts
from conftest import ANALYZED, MEASURED, PORT, TOKEN

PAGES = (
    "/",
    "/start",
    "/compare",
    "/studies",
    "/brokers",
    "/monitor",
    f"/runs/{ANALYZED}",
    f"/runs/{MEASURED}",
    f"/live/{MEASURED}",
)
ANSWERS = ("/api/runs", "/api/workloads", "/api/studies", "/api/commands")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8787", "127.0.0.1", "127.0.0.1:80", "10.0.0.5:8787", ""]
)
def test_another_name_for_this_machine_is_refused(client: Client, host: str) -> None:
    answer = client.get("/api/runs", headers={"host": host})
    assert answer.status_code == 421
    assert "demo" not in answer.text


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}"])
def test_loopback_names_are_answered(client: Client, host: str) -> None:
    assert client.get("/api/runs", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1"])
def test_a_page_of_another_site_is_refused_even_with_the_token(allowed: Client, origin: str) -> None:
    assert allowed.get("/api/runs", headers={"origin": origin}).status_code == 403
    assert allowed.post("/api/session", json={}, headers={"origin": origin}).status_code == 403


def test_a_page_of_another_site_is_known_by_what_the_browser_says_of_it(allowed: Client) -> None:
    assert allowed.post("/api/session", json={}, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert allowed.post("/api/session", json={}, headers={"sec-fetch-site": "same-origin"}).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("mode", ["no-cors", "cors", "websocket", None])
def test_scripts_and_pictures_of_another_site_cannot_even_read(client: Client, site: str, mode: str | None) -> None:
    headers = {"sec-fetch-site": site} | ({} if mode is None else {"sec-fetch-mode": mode})
    for path in ("/api/runs", "/assets/live.js", f"/runs/{ANALYZED}"):
        answer = client.get(path, headers=headers)
        assert answer.status_code == 403
        assert "demo" not in answer.text


def test_a_link_on_another_site_may_lead_here(client: Client) -> None:
    for site in ("cross-site", "same-site", "same-origin", "none"):
        assert client.get("/", headers={"sec-fetch-site": site, "sec-fetch-mode": "navigate"}).status_code == 200
    assert (
        client.get("/api/runs", headers={"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}).status_code == 200
    )
    assert client.get("/api/runs", headers={"sec-fetch-site": "none", "sec-fetch-mode": "no-cors"}).status_code == 200


def test_our_own_page_may_ask(allowed: Client) -> None:
    assert allowed.post("/api/session", json={}, headers={"origin": f"http://127.0.0.1:{PORT}"}).status_code == 200


def test_nothing_is_changed_without_the_token(client: Client, dashboard: Dashboard) -> None:
    posts = [r for r in make_app(dashboard).app.routes if isinstance(r, APIRoute) and r.methods != {"GET"}]
    assert len(posts) > 8
    for route in posts:
        path = re.sub(r"\{[^}]*\}", "x", route.path)
        for headers in ({}, {TOKEN_HEADER: "wrong"}, {TOKEN_HEADER: ""}, {TOKEN_HEADER: TOKEN + "x"}):
            answer = client.post(path, json={}, headers=headers)
            assert answer.status_code == 401, (path, headers)
    assert not (dashboard.runs / ".started").exists()


def test_reading_changes_nothing(dashboard: Dashboard) -> None:
    """A GET could be sent by any link, so none may be among those that act."""
    for route in make_app(dashboard).app.routes:
        if isinstance(route, APIRoute):
            acts = any(word in route.path for word in ("stop", "start", "annotate", "judge", "{action}", "analyze"))
            assert not (acts and "GET" in (route.methods or set()) and route.path != "/start"), route.path


def _tree(root: Path) -> dict[str, tuple[int, int]]:
    return {str(p.relative_to(root)): (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(root.rglob("*"))}


def test_no_page_that_is_only_opened_writes_anything(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs, copied := tmp_path / "runs", ignore=shutil.ignore_patterns("studies"))
    dashboard = Dashboard(copied, TOKEN, loopback_hosts(PORT))
    app = make_app(dashboard)
    client = Client(app, f"http://127.0.0.1:{PORT}")
    given = {"/runs/{name}": ANALYZED, "/live/{name}": MEASURED, "/assets/{name}": "live.js", "/api/runs/{name}/live": MEASURED,
             "/studies/{name}": "kafka-2011", "/api/studies/{name}": "kafka-2011", "/api/commands/{name}": "x", "/api/doctor/{name}": "x"}  # fmt: skip
    paths = [r.path for r in app.app.routes if isinstance(r, APIRoute) and "GET" in r.methods]
    before = _tree(copied)
    for path in [re.sub(r"\{.*\}", given.get(path, ""), path) for path in paths]:
        if path.endswith("/live"):
            streamed(
                app, path, f"127.0.0.1:{PORT}", lambda part: dashboard.ending.set() if b"event: now" in part else None
            )
        else:
            assert client.get(path).status_code == (404 if path.endswith("/x") else 200), path
    assert client.get(f"/compare?base={ANALYZED}&with=20270115T0900-demo-ef56").status_code == 200
    assert _tree(copied) == before


@pytest.mark.parametrize(
    "path",
    [
        "/runs/%2e%2e", "/runs/..%2f..%2fetc", "/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/live/%2e%2e", "/assets/..%2fapp.py",
        "/assets/%2e%2e/app.py", "/api/runs/../live", "/api/runs/..%2f..%2f/live", "/api/commands/..%2f..%2fx", "/studies/..%2f..",
        "/compare?base=..%2f&with=x", "/compare?base=%2fetc&with=x", "/runs/%00", "/runs/.started",
    ],
)  # fmt: skip
def test_no_path_leads_out_of_the_runs(client: Client, path: str, runs: Path) -> None:
    answer = client.get(path)
    assert answer.status_code in (404, 422), path
    assert str(runs) not in answer.text


@pytest.mark.parametrize("path", [*PAGES, *ANSWERS, "/assets/live.js", "/nothing"])
def test_every_answer_carries_the_policy_and_no_path_of_this_machine(client: Client, path: str, runs: Path) -> None:
    answer = client.get(path)
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert str(runs) not in answer.text
    assert str(Path.home()) + "/" not in answer.text


class _Scripts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "script" and "src" not in given and given.get("type") != "application/json":
            self.inline.append(self.get_starttag_text() or "")
        self.inline += [f"{tag} {name}" for name in given if name.startswith("on")]
        self.inline += [f"{tag} {v}" for v in given.values() if v and v.strip().lower().startswith("javascript:")]


@pytest.mark.parametrize(
    "path", [*PAGES, f"/compare?base={ANALYZED}&with=20270115T0900-demo-ef56", "/studies/kafka-2011"]
)
def test_no_page_has_a_script_of_its_own(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    found = _Scripts()
    found.feed(answer.text)
    assert found.inline == []


def test_text_that_leaves_has_names_instead_of_paths(tmp_path: Path) -> None:
    said = Outward(tmp_path / "runs")(f"{tmp_path}/runs/20270115T0800-demo/logs and {Path.home()}/.cache/brokerlab/x")
    assert str(tmp_path) not in said
    assert said.startswith("runs/20270115T0800-demo/logs")
    assert str(Path.home()) not in said


def test_of_other_paths_in_a_message_only_the_last_part_leaves(tmp_path: Path) -> None:
    said = Outward(tmp_path / "runs").message
    assert said("cannot read /var/lib/some one/ca.pem") == "cannot read …/some one/ca.pem"
    assert said('"/etc/ssl/private/key.pem": denied (/opt/x/y.so)') == '"…/key.pem": denied (…/y.so)'
    for kept in (
        "http://127.0.0.1:8222/jsz/all?x=/a",
        "3 messages/s and/or 5/6",
        "runs/20270115T0800-demo/logs",
        "GET /metrics",
    ):
        assert said(kept) == kept


def test_no_path_of_this_machine_is_in_what_a_live_page_is_sent(dashboard: Dashboard, tmp_path: Path) -> None:
    shutil.copytree(dashboard.run(MEASURED).path, (runs := tmp_path / "some-runs") / MEASURED)
    other = Dashboard(runs, TOKEN, loopback_hosts(PORT))
    planted = f"look at {runs}/x.log, {Path.home()}/notes and /var/lib/elsewhere/server.log"
    lab.annotate(other.run(MEASURED), "c02-r1", f"first: {planted}")

    def taken(part: bytes) -> None:
        if part.startswith(b"event: history"):
            lab.annotate(other.run(MEASURED), "c02-r1", f"second: {planted}")
        if part.startswith(b"event: update"):
            other.ending.set()

    sent = streamed(make_app(other), f"/api/runs/{MEASURED}/live", f"127.0.0.1:{PORT}", taken).decode()
    data = [json.loads(line.removeprefix("data: ")) for line in sent.splitlines() if line.startswith("data: ")]
    shown = json.dumps([one["tables"]["event"] for one in data if "tables" in one], ensure_ascii=False)
    for which in ("first", "second"):
        assert f"{which}: look at runs/x.log, ~/notes and …/server.log" in shown
    assert str(runs) not in sent
    assert str(Path.home()) not in sent
    assert "elsewhere" not in sent


def test_no_path_of_this_machine_is_in_the_list_of_runs(dashboard: Dashboard, tmp_path: Path) -> None:
    shutil.copytree(dashboard.run(MEASURED).path, copied := tmp_path / "some-runs" / MEASURED)
    plan = json.loads((copied / "plan.json").read_text())
    (copied / "plan.json").write_text(json.dumps({**plan, "question": f"what of {copied} and {Path.home()}/x?"}))
    other = Dashboard(copied.parent, TOKEN, loopback_hosts(PORT))
    (row,) = Client(make_app(other), f"http://127.0.0.1:{PORT}").get("/api/runs").json()
    assert row["question"] == f"what of runs/{MEASURED} and ~/x?"


def test_no_path_of_this_machine_is_in_what_a_workload_is_refused_with(allowed: Client, runs: Path) -> None:
    text = f"name: x\nbroker: {Path.home()}/a\nproducers: {{rate: 5/s, message: /opt/elsewhere/b}}\nphases: {{measure: {runs}/c}}\n"
    answer = allowed.post("/api/check", json={"text": text})
    assert answer.status_code == 422
    assert [p["value"] for p in answer.json()["problems"] if p["value"]] == ["…/b"]
    assert str(runs) not in answer.text
    assert str(Path.home()) not in answer.text
    assert "elsewhere" not in answer.text
