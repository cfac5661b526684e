from __future__ import annotations

import resource
import socket
from collections.abc import Iterator

import pytest

from brokerlab.errors import MachineError
from brokerlab.processes.ports import HeldPorts, all_refuse


def can_be_bound(port: int) -> bool:
    """By a program that looks for a free port."""
    with socket.socket() as another:
        try:
            another.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def listening(port: int) -> socket.socket:
    """As servers do it: create_server sets SO_REUSEADDR."""
    return socket.create_server(("127.0.0.1", port))


def test_held_ports_are_different_and_a_server_may_listen_there_again_and_again() -> None:
    held = HeldPorts(5)
    assert len(set(held.numbers)) == 5
    for port in (*held.numbers, *held.numbers):
        with listening(port) as server, socket.create_connection(("127.0.0.1", port)):
            server.accept()[0].close()


def test_a_port_and_the_one_below_it_are_both_held() -> None:
    held = HeldPorts(20, also_below=2)
    assert len({port - below for port in held.numbers for below in (0, 2)}) == 40
    assert not any(can_be_bound(port - below) for port in held.numbers for below in (0, 2))


def test_two_clusters_never_share_one() -> None:
    clusters = [HeldPorts(20) for _ in range(40)]
    assert len({port for held in clusters for port in held.numbers}) == 800


def test_nobody_looking_for_a_free_port_gets_one_until_they_are_given_back_with_the_object() -> None:
    held = HeldPorts(20)
    ports = held.numbers
    assert not any(map(can_be_bound, ports))
    del held
    assert any(map(can_be_bound, ports))  # not all: others look for free ports at the same time


@pytest.fixture
def few_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket() as next_file:
        resource.setrlimit(resource.RLIMIT_NOFILE, (next_file.fileno() + 3, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("few_files")
def test_where_there_are_not_enough_it_is_said_and_none_is_kept() -> None:
    for _ in range(3):
        with pytest.raises(MachineError, match=r"100 free ports are needed .* after \d+ of them: Too many open files"):
            HeldPorts(100)
    assert len(HeldPorts(1).numbers) == 1


def test_addresses_at_which_nobody_listens_refuse() -> None:
    held = HeldPorts(2)
    assert all_refuse([f"127.0.0.1:{held.numbers[0]}", f"localhost:{held.numbers[1]}"])


def test_one_who_listens_is_enough() -> None:
    held = HeldPorts(1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not all_refuse([f"127.0.0.1:{held.numbers[0]}", f"127.0.0.1:{server.getsockname()[1]}"])


def test_what_cannot_be_asked_has_not_refused() -> None:
    assert not all_refuse(["no-such-host.invalid:1"])
    assert not all_refuse(["127.0.0.1:no-number"])
