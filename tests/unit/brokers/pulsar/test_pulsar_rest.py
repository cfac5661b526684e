from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from brokerlab.brokers.pulsar.rest import Rest, RestError
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint, Security


class Answers(BaseHTTPRequestHandler):
    """/owner redirects to /there, which echoes; /cheat redirects out of this scheme; /no refuses."""

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/owner":
            return self._answer(307, b"", f"http://{self.headers['Host']}/there")
        if self.path == "/cheat":
            return self._answer(307, b"", "https://127.0.0.1:9/there")
        if self.path == "/no":
            return self._answer(409, b'{"reason": "it exists"}')
        if self.path == "/login":
            return self._answer(200, json.dumps(self.headers.get("Authorization")).encode())
        return self._answer(200, body)

    def _answer(self, status: int, body: bytes, location: str | None = None) -> None:
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silence."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def rest(web: str, security: Security | None = None) -> Rest:
    return Rest(Endpoint(addresses=("127.0.0.1:9",), options={"web": web}, security=security), 30.0)


def test_a_redirected_request_arrives_with_its_body(address: str) -> None:
    assert rest(address).request("PUT", "/owner", {"a": 1}) == {"a": 1}


def test_a_refusal_has_its_status_and_the_brokers_words(address: str) -> None:
    with pytest.raises(RestError, match="it exists") as refused:
        rest(address).request("PUT", "/no")
    assert refused.value.status == 409


def test_a_redirection_out_of_the_scheme_is_not_followed(address: str) -> None:
    with pytest.raises(BrokerError, match="redirected to"):
        rest(address).request("PUT", "/cheat")


def test_the_next_address_is_asked_when_one_does_not_answer(address: str) -> None:
    assert rest(f"http://127.0.0.1:9,{address}").request("PUT", "/x", [1]) == [1]
    with pytest.raises(BrokerError, match="does not answer") as silent:
        rest("http://127.0.0.1:9").request("PUT", "/x")
    assert silent.value.hint


def test_user_and_password_go_along_where_there_are_any(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULSAR_TEST_PASSWORD", "word")
    login = Security(user="lab", password="env:PULSAR_TEST_PASSWORD")
    assert rest(address, login).request("PUT", "/login") == "Basic bGFiOndvcmQ="
    assert rest(address).request("PUT", "/login") is None


def test_without_an_address_of_its_own_the_usual_port_of_the_brokers_host_is_asked() -> None:
    endpoint = Endpoint(addresses=("host-that-is-not.invalid:6650",))
    with pytest.raises(BrokerError, match=r"http://host-that-is-not\.invalid:8080"):
        Rest(endpoint, 5.0).get("/x")
