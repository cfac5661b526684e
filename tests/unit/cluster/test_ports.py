from __future__ import annotations

import socket

from brokerlab.cluster.ports import all_refuse, free_ports


def test_free_ports_are_different_and_can_be_bound() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    for port in ports:
        with socket.socket() as one:
            one.bind(("127.0.0.1", port))


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
