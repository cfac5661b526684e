"""A capped link: a process that stands between clients and one node, and lets a given number of bytes a second pass.

`python -m brokerlab.machine.link`: arguments in `main`. Everything that connects to the node through it shares the cap, which holds
for each direction by itself, as it does on a network card. Two threads carry a connection; a process of ours adds some
tenths of a millisecond to every message and has processor time of its own, so results name it.
"""

from __future__ import annotations

import argparse
import contextlib
import mmap
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

PIECE_BYTES = 64 << 10
BUFFER_BYTES = 256 << 10  # small: what waits in buffers is a queue in front of the link
BURST_S = 0.005  # of silence is made up for
MOST_BYTES_PER_S = 500_000_000  # what the process itself can carry with some reserve
COUNTS = struct.Struct("<QQ")  # bytes to the node, bytes from it


class Bucket:
    """How long to wait until `bytes_per_s` allows so many more bytes. Used by several threads."""

    def __init__(self, bytes_per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._s_per_byte = 1 / bytes_per_s
        self._clock = clock
        self._free_at = clock()
        self._one_at_a_time = threading.Lock()

    def wait_s(self, count: int) -> float:
        """Takes room for `count` bytes; they may pass after this many seconds."""
        with self._one_at_a_time:
            now = self._clock()
            self._free_at = max(self._free_at, now - BURST_S) + count * self._s_per_byte
            return max(self._free_at - now, 0.0)


class Counter:
    """Bytes that have passed each way, in a file that anybody can read meanwhile."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(COUNTS.size))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), COUNTS.size)
        self._passed = [0, 0]
        self._one_at_a_time = threading.Lock()

    def add(self, way: int, count: int) -> None:
        with self._one_at_a_time:
            self._passed[way] += count
            COUNTS.pack_into(self._map, 0, *self._passed)


def passed_bytes(path: Path) -> tuple[int, int]:
    """What a link has carried: (to the node, from it)."""
    to_node, from_node = COUNTS.unpack(path.read_bytes())
    return to_node, from_node


def carry(source: socket.socket, target: socket.socket, bucket: Bucket, count: Callable[[int], None]) -> None:
    """Forward bytes until the source has ended or either side breaks; then close the target's sending side."""
    buffer = bytearray(PIECE_BYTES)
    view = memoryview(buffer)
    with contextlib.suppress(OSError):
        while got := source.recv_into(buffer):
            wait_s = bucket.wait_s(got)
            if wait_s > 0:
                time.sleep(wait_s)
            target.sendall(view[:got])
            count(got)
    for side, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with contextlib.suppress(OSError):
            side.shutdown(how)


class Link:
    """Accepts connections and carries each to the node."""

    def __init__(self, listener: socket.socket, target: tuple[str, int], bytes_per_s: float, counter: Counter) -> None:
        self._listener = listener
        self._target = target
        self._to_node, self._from_node = Bucket(bytes_per_s), Bucket(bytes_per_s)
        self._counter = counter

    def serve(self) -> None:
        while True:
            client, _ = self._listener.accept()
            threading.Thread(target=self._connection, args=(client,), daemon=True).start()

    def _connection(self, client: socket.socket) -> None:
        with client:
            try:
                node = socket.create_connection(self._target, timeout=10)
            except OSError:  # the node does not listen, so neither do we
                return
            with node:
                node.settimeout(None)
                for side in (client, node):
                    side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                back = threading.Thread(
                    target=carry, args=(node, client, self._from_node, lambda n: self._counter.add(1, n)), daemon=True
                )
                back.start()
                carry(client, node, self._to_node, lambda n: self._counter.add(0, n))
                back.join()


def listening_socket(port: int) -> socket.socket:
    """Sockets that are accepted inherit the small buffers."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for buffer in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        listener.setsockopt(socket.SOL_SOCKET, buffer, BUFFER_BYTES)
    listener.bind(("127.0.0.1", port))
    listener.listen(512)
    return listener


def main() -> int:
    parser = argparse.ArgumentParser(description="carry connections to a node, so many bytes a second each way")
    parser.add_argument("--listen", type=int, required=True, metavar="PORT")
    parser.add_argument("--node", type=int, required=True, metavar="PORT")
    parser.add_argument("--bytes-per-s", type=float, required=True)
    parser.add_argument("--counts", type=Path, required=True, metavar="FILE", help="bytes carried, for passed_bytes")
    given = parser.parse_args()
    counter = Counter(given.counts)
    Link(listening_socket(given.listen), ("127.0.0.1", given.node), given.bytes_per_s, counter).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
