"""A server that speaks RESP and answers as it is told, for what real servers do too rarely."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import hiredis

Answer = Callable[[list[bytes]], bytes | None]  # None: close the connection

ROLE = b"*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
OK = b"+OK\r\n"
ID = b"$3\r\n1-1\r\n"


@contextmanager
def stub_server(answer: Answer) -> Iterator[str]:
    """The address of a server that answers ROLE, CLIENT and AUTH by itself and everything else by `answer`."""
    listening = socket.create_server(("127.0.0.1", 0))
    open_sockets: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            open_sockets.append(connection)
            threads.append(threading.Thread(target=serve, args=(connection, answer)))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        accepting.join()
        for connection in open_sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


def serve(connection: socket.socket, answer: Answer) -> None:
    reader = hiredis.Reader()
    with connection:
        while True:
            try:
                data = connection.recv(65536)
            except OSError:
                return
            if not data:
                return
            reader.feed(data)
            while (command := reader.gets()) is not False:
                reply = {b"ROLE": ROLE, b"CLIENT": OK, b"AUTH": OK}.get(command[0].upper()) or answer(command)
                if reply is None:
                    return
                try:
                    connection.sendall(reply)
                except OSError:
                    return
