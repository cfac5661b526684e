from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import pytest

from brokerlab.cluster import ports
from brokerlab.cluster.ports import all_refuse, free_ports
from brokerlab.errors import MachineError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path))
    return tmp_path


def test_free_ports_are_different_and_can_be_bound() -> None:
    found = free_ports(5)
    assert len(set(found)) == 5
    for port in found:
        with socket.socket() as one:
            one.bind(("127.0.0.1", port))


def kernel_gives(monkeypatch: pytest.MonkeyPatch, first_and_last: str) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _: first_and_last)


@pytest.mark.usefixtures("cache")
def test_no_connection_gets_one_of_them_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_gives(monkeypatch, "21000\t65535\n")
    assert all(20_000 <= port < 21_000 for port in free_ports(20))


@pytest.mark.usefixtures("cache")
def test_nobody_else_is_given_them_before_a_server_listens() -> None:
    with ThreadPoolExecutor(4) as pool:  # a lock of a file is held by its opening: threads stand for processes
        found = list(chain.from_iterable(pool.map(free_ports, [3] * 40)))
    assert len(set(found)) == 120


def test_one_that_is_in_use_is_passed_over(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = free_ports(3)
    monkeypatch.setattr(ports, "_candidates", lambda: [first, second, third])
    (cache / "last-port").write_text(str(first))
    with socket.create_server(("127.0.0.1", second)):
        assert free_ports(2) == [third, first]
        with pytest.raises(MachineError, match=r"3 free ports are needed .* only 2 are free"):
            free_ports(3)


def test_where_the_last_one_is_not_known_it_begins_anywhere(cache: Path) -> None:
    (cache / "last-port").write_text("nonsense")
    assert len(set(free_ports(3))) == 3


@pytest.mark.parametrize("given", ["1024 65535", "20100 65535", "nonsense"])
def test_where_connections_may_have_nearly_every_port_so_may_we(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_gives(monkeypatch, given)
    assert ports._candidates() == list(range(20_000, 65_536))


def test_addresses_at_which_nobody_listens_refuse() -> None:
    first, second = free_ports(2)
    assert all_refuse([f"127.0.0.1:{first}", f"localhost:{second}"])


def test_one_who_listens_is_enough() -> None:
    (port,) = free_ports(1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not all_refuse([f"127.0.0.1:{port}", f"127.0.0.1:{server.getsockname()[1]}"])


def test_what_cannot_be_asked_has_not_refused() -> None:
    assert not all_refuse(["no-such-host.invalid:1"])
    assert not all_refuse(["127.0.0.1:no-number"])
