"""A server that listens on all interfaces is reached by 127.0.0.1 only."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from brokerlab.brokers.kit.loopback import check_closed, loopback_environment
from brokerlab.errors import BrokerError

LISTENS = """
import socket, sys
listener = socket.socket(getattr(socket, sys.argv[1]))
listener.bind((sys.argv[2], 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("family", "address", "closed"),
    [
        ("AF_INET", "0.0.0.0", True),
        ("AF_INET6", "::", True),
        ("AF_INET", "127.0.0.2", False),  # what was asked for by name is left as it is
    ],
)
def test_only_what_is_bound_to_every_address_is_bound_to_loopback(family: str, address: str, closed: bool) -> None:
    assert _is_closed(family, address, loopback_environment()) == closed


def test_without_the_library_an_open_port_is_found() -> None:
    assert not _is_closed("AF_INET", "0.0.0.0", {})


def _is_closed(family: str, address: str, environment: dict[str, str]) -> bool:
    command = [sys.executable, "-c", LISTENS, family, address]
    with subprocess.Popen(
        command, env=os.environ | environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        try:
            check_closed([port])
        except BrokerError as e:
            assert str(port) in e.message  # noqa: PT017
            return False
        finally:
            server.communicate("")
    return True
