"""Pages of servers: asked without a proxy, read as figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from brokerlab.brokers.contract import NodeInfo, Reading
from brokerlab.brokers.kit import probing
from brokerlab.brokers.kit.http_reader import ask, basic_login, read_json, read_text
from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.brokers.kit.probing import NodeByNodeProbe, NowAndThen, figures_in, readings_of, samples_in
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN
from brokerlab.model.plan import Endpoint
from brokerlab.model.watched import Field, Sample, WatchedMetric


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        told = {"path": self.path, "login": self.headers.get("Authorization")}
        body = b"{" if self.path == "/broken" else json.dumps(told).encode()
        self.send_response(404 if self.path == "/absent" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        serving.join()


def test_a_page_is_read_past_any_proxy_with_its_query_and_login(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert read_json(f"{url}/a?b=1") == {"path": "/a?b=1", "login": None}
    answer = ask(url, headers=basic_login("lab", "secret"))
    assert json.loads(answer.text) == {"path": "/", "login": "Basic bGFiOnNlY3JldA=="}


def test_what_is_no_page_is_an_os_error(url: str) -> None:
    with pytest.raises(OSError, match="answered 404"):
        read_text(f"{url}/absent", 10.0)
    with pytest.raises(OSError, match="unreadable"):
        read_json(f"{url}/broken", 10.0)
    with pytest.raises(OSError, match="refused"):
        read_text("http://127.0.0.1:9/", 10.0)


def test_values_that_are_known_become_readings() -> None:
    known = {name: WatchedMetric(name, "B", Field(name), "") for name in ("mem", "absent")}
    assert readings_of("broker:one", {"mem": "5", "other": 1}, known) == [Reading("broker:one", "mem", 5.0, "B")]


def test_lines_of_one_name_and_the_labels_wanted_are_added_up() -> None:
    page = 'n{a="1", b="x"} 2\nn{a="1",b="y"} 3 1700000000000\nn{a="2"} 9\nn NaN\nother 1\nn{ 5\n'
    one = WatchedMetric("one", "1", Sample("n", 'a="1"'), "")
    every = WatchedMetric("every", "1", Sample("n"), "")
    assert figures_in(page, (one, every)) == {one: 5.0, every: 14.0}


def test_an_error_that_is_not_in_the_table_says_nothing() -> None:
    table = OutcomeTable(acknowledged="Ok", rejected="TooBig Refused", unknown="Timeout", elsewhere="BadTopic")
    outcomes = {name: table.of(name) for name in ("Ok", "Refused", "Timeout", "BadTopic", "New")}
    assert outcomes == {
        "Ok": ACKNOWLEDGED,
        "Refused": REJECTED,
        "Timeout": UNKNOWN,
        "BadTopic": UNKNOWN,
        "New": UNKNOWN,
    }
    assert table.names == {"Ok", "TooBig", "Refused", "Timeout", "BadTopic"}


class LibraryError(Exception):
    pass


class Failing(NodeByNodeProbe):
    unanswered = (LibraryError,)

    def _of(self, subject: str, urls: Mapping[str, str]) -> list[Reading]:
        errors = {"away": OSError, "refused": BrokerError, "library": LibraryError, "other page": KeyError}
        if urls["figures"] in errors:
            raise errors[urls["figures"]]("no")
        return [Reading(subject, "m", 1.0, "1")]


def test_a_node_without_figures_does_not_keep_those_of_others() -> None:
    kinds = ("away", "refused", "good", "library", "other page", "good")
    nodes = tuple(NodeInfo(f"n-{i}", 1, {"figures": kind}) for i, kind in enumerate(kinds))
    assert [r.subject for r in Failing(Endpoint(addresses=("a:1",)), nodes).read()] == ["broker:n-2", "broker:n-5"]


def test_samples_are_read_with_their_labels_whatever_these_hold() -> None:
    page = (
        "# TYPE ready gauge\n"
        'ready{vhost="/",queue="a, \\"b\\" {c}\\n"} 3\n'
        'ready{vhost="/",queue="x"} NaN\n'
        'ready_too{queue="y"} 1\n'
        "plain 7\n"
    )
    assert list(samples_in(page, ("ready", "plain"))) == [
        ("ready", {"vhost": "/", "queue": 'a, "b" {c}\n'}, 3.0),
        ("plain", {}, 7.0),
    ]


def test_what_costs_much_is_asked_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr(probing.time, "monotonic", lambda: now_s)
    due = NowAndThen(5.0)
    asked = []
    for _ in range(12):
        asked.append(due.now())
        now_s += 0.99
    assert [i for i, yes in enumerate(asked) if yes] == [0, 5, 10]
