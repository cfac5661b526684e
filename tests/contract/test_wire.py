"""The wire does what the tests that break it rely on."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
from wire import Wire


@pytest.fixture
def echo() -> Iterator[str]:
    """A server that sends back what it gets."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(4096):
                connection.sendall(data)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(30)


@pytest.fixture
def wire(echo: str) -> Iterator[Wire]:
    made = Wire(echo)
    yield made
    made.close()


@contextlib.contextmanager
def connected(wire: Wire) -> Iterator[socket.socket]:
    host, _, port = wire.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        yield connection


def exactly(connection: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        data = connection.recv(count - len(got))
        assert data, f"the stream ended after {len(got)} of {count} bytes"
        got += data
    return got


def until_the_end(connection: socket.socket) -> bytes:
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(4096):
            got += data
    return got


def test_bytes_pass_unchanged_and_are_counted(wire: Wire) -> None:
    sent = bytes(range(256)) * 4000
    with connected(wire) as connection:
        thread = threading.Thread(target=connection.sendall, args=(sent,))
        thread.start()
        assert exactly(connection, len(sent)) == sent
        thread.join()
    wire.close()  # bytes arrive a moment before they are counted
    assert wire.passed == {"to_server": len(sent), "to_client": len(sent)}


def test_a_cut_ends_connections_and_turns_new_ones_away_until_it_is_healed(wire: Wire) -> None:
    with connected(wire) as connection:
        connection.sendall(b"one")
        assert exactly(connection, 3) == b"one"
        wire.cut()
        assert until_the_end(connection) == b""
    with contextlib.suppress(OSError), connected(wire) as connection:
        assert until_the_end(connection) == b""
    wire.heal()
    with connected(wire) as connection:
        connection.sendall(b"two")
        assert exactly(connection, 3) == b"two"


@pytest.mark.parametrize("direction", ["to_server", "to_client"])
def test_a_stalled_direction_holds_bytes_back_and_gives_all_of_them_later(wire: Wire, direction: str) -> None:
    with connected(wire) as connection:
        connection.sendall(b"before")
        assert exactly(connection, 6) == b"before"
        wire.stall((direction,))  # type: ignore[arg-type]
        connection.sendall(b"during")
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(60)
        wire.heal()
        assert exactly(connection, 6) == b"during"


@pytest.mark.parametrize(("direction", "echoed"), [("to_server", {0, 1, 2, 3, 4}), ("to_client", {4})])
def test_a_truncated_stream_ends_after_exactly_so_many_bytes(wire: Wire, direction: str, echoed: set[int]) -> None:
    with connected(wire) as connection:
        wire.truncate(direction, 4)  # type: ignore[arg-type]
        connection.sendall(b"0123456789")
        got = until_the_end(connection)
    assert len(got) in echoed
    assert b"0123".startswith(got)
    assert wire.is_cut.is_set()
    wire.close()
    assert wire.passed[direction] == 4  # type: ignore[index]
