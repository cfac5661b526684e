"""A pool of HTTP connections against a server that does what the test says."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

import pytest

from brokerlab.brokers.kit.http_link import HttpAnswer, http_request
from brokerlab.brokers.kit.http_pool import HttpPool
from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

REQUEST = http_request("POST", "/", {"host": "h"}, b"{}")
PROOF = http_request("GET", "/is-it-you", {"host": "h"}, b"")
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
PATIENCE_S = 60.0


class Server:
    """Connections are taken and answered by the test itself: nothing happens at another time."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE_S)
        self.endpoint = Endpoint(addresses=(f"127.0.0.1:{self._listener.getsockname()[1]}",))
        self._taken: list[socket.socket] = []

    def take(self) -> socket.socket:
        taken, _ = self._listener.accept()
        taken.settimeout(PATIENCE_S)
        self._taken.append(taken)
        return taken

    def close(self) -> None:
        for one in (*self._taken, self._listener):
            one.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def pool_of(server: Server, count: int, answer_s: float = PATIENCE_S) -> tuple[HttpPool[str], list[socket.socket]]:
    pool: HttpPool[str] = HttpPool(server.endpoint, "test", count, answer_s, PROOF)
    return pool, [server.take() for _ in range(count)]


def request_on(connection: socket.socket, wanted: bytes = REQUEST) -> bytes:
    data = b""
    while len(data) < len(wanted):
        data += connection.recv(len(wanted) - len(data))
    return data


def proven(server: Server, pool: HttpPool[str]) -> socket.socket:
    """A connection that was made again, once the server has answered on it."""
    assert pumped(pool, until=lambda: bool(pool.watched())) == []
    again = server.take()
    assert request_on(again, PROOF) == PROOF
    assert (pool.pump(), pool.idle) == ([], 0), "it may lead nowhere"
    again.sendall(OK)
    assert pumped(pool, until=lambda: pool.idle == 1) == []
    return again


def pumped(pool: HttpPool[str], until: Callable[[], bool] | None = None) -> list[tuple[str, HttpAnswer | OSError]]:
    """What becomes of requests, until there is something or the condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        done = pool.pump()
        if done or (until is not None and until()):
            return done
        assert time.monotonic() < deadline
        pool.wait(0.01)


def test_each_connection_has_one_request_and_answers_come_in_any_order(server: Server) -> None:
    pool, connections = pool_of(server, 2)
    assert pool.idle == 2
    pool.ask(REQUEST, "a")
    pool.ask(REQUEST, "b")
    assert (pool.idle, pool.open_tags()) == (0, ["a", "b"])
    assert len(pool.watched()) == 2
    assert [request_on(c) for c in connections] == [REQUEST, REQUEST]
    connections[1].sendall(OK)
    assert pumped(pool) == [("b", HttpAnswer(200, b"{}", False))]
    assert pool.idle == 1
    connections[0].sendall(OK)
    assert pumped(pool) == [("a", HttpAnswer(200, b"{}", False))]
    pool.close(0)


def test_a_lost_connection_loses_its_request_once_and_is_made_again_without_it(server: Server) -> None:
    pool, (connection,) = pool_of(server, 1)
    pool.ask(REQUEST, "a")
    request_on(connection)
    connection.sendall(OK[:-1])
    connection.close()
    ((tag, error),) = pumped(pool)
    assert tag == "a"
    assert isinstance(error, OSError)
    again = proven(server, pool)
    pool.ask(REQUEST, "b")
    assert request_on(again) == REQUEST
    again.sendall(OK)
    assert [tag for tag, _ in pumped(pool)] == ["b"]
    pool.close(0)


def test_an_idle_connection_that_has_ended_is_not_asked(server: Server) -> None:
    pool, (gone, there) = pool_of(server, 2)
    gone.close()
    deadline = time.monotonic() + PATIENCE_S
    while pool.idle == 2:
        pool.drop_closed()
        assert time.monotonic() < deadline
    pool.ask(REQUEST, "a")
    assert request_on(there) == REQUEST
    there.sendall(OK)
    assert pumped(pool) == [("a", HttpAnswer(200, b"{}", False))], "its answer was not lost either"
    pool.close(0)


def test_a_connection_that_the_server_ends_behind_its_answer_is_made_again(server: Server) -> None:
    pool, (connection,) = pool_of(server, 1)
    pool.ask(REQUEST, "a")
    request_on(connection)
    connection.sendall(OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
    assert pumped(pool) == [("a", HttpAnswer(200, b"{}", True))]
    proven(server, pool)
    pool.close(0)


@pytest.mark.parametrize("what", [OK, OK + OK, b"noise, not HTTP"])
def test_a_connection_that_says_what_was_not_asked_for_is_given_up(server: Server, what: bytes) -> None:
    pool, (connection,) = pool_of(server, 1)
    if what.startswith(OK + OK):
        pool.ask(REQUEST, "a")
        request_on(connection)
    connection.sendall(what)
    deadline = time.monotonic() + PATIENCE_S
    done: list[tuple[str, HttpAnswer | OSError]] = []
    while (number := [n for n, _ in pool.watched()]) and not _ended(connection):
        done += pool.pump()
        assert time.monotonic() < deadline, number
    assert all(isinstance(answer, OSError) for _, answer in done)
    pool.close(0)


def _ended(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_an_answer_that_does_not_come_is_waited_for_no_longer_than_agreed(server: Server) -> None:
    pool, (connection,) = pool_of(server, 1, answer_s=0.05)
    pool.ask(REQUEST, "a")
    request_on(connection)
    ((tag, error),) = pumped(pool)
    assert tag == "a"
    assert isinstance(error, TimeoutError)
    pool.close(0)


def test_it_says_since_when_there_is_no_connection_at_all(server: Server) -> None:
    pool, (connection,) = pool_of(server, 1)
    assert pool.lost_since is None
    server.close()
    connection.close()
    assert pumped(pool, until=lambda: pool.lost_since is not None) == []
    assert (pool.idle, pool.watched()) == (0, [])
    pool.close(0)


def test_where_nothing_listens_is_a_broker_error(server: Server) -> None:
    server.close()
    with pytest.raises(BrokerError):
        HttpPool[str](server.endpoint, "test", 2, PATIENCE_S, PROOF)
