"""Sockets with numbers that select cannot wait for."""

from __future__ import annotations

import os
import resource
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from brokerlab.brokers.kit.wire import Wire

SELECT_MOST = 1024
MINUTES_S = 120.0


@pytest.fixture
def low_numbers_taken() -> Iterator[None]:
    """File numbers below 1024 are in use, as in a process with many connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * SELECT_MOST
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this process may open {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    taken = [os.open(os.devnull, os.O_RDONLY)]
    try:
        while taken[-1] < SELECT_MOST:
            taken.append(os.dup(taken[0]))
        yield
    finally:
        for number in taken:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("low_numbers_taken")
def test_a_connection_with_a_high_number_waits_until_something_comes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        connection = Wire(f"127.0.0.1:{listening.getsockname()[1]}", None, 10.0)
        peer, _ = listening.accept()
        with peer:
            assert connection.watched()[0] >= SELECT_MOST
            connection.wait(0.0)
            telling = threading.Timer(0.05, peer.sendall, [b"1"])
            begun = time.monotonic()
            telling.start()
            connection.wait(MINUTES_S)
            assert time.monotonic() - begun < MINUTES_S
            telling.join()
        connection.close()
