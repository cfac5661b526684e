"""Which processes of this host are behind an endpoint the user gave: they are the broker, not a noisy neighbour."""

from __future__ import annotations

from collections.abc import Iterable

LOOPBACK = ("localhost", "::1", "[::1]")


def loopback_ports(addresses: Iterable[str]) -> list[int]:
    """Ports of the addresses that are on this host's loopback, in order."""
    ports = []
    for address in addresses:
        host, _, port = address.rpartition(":")
        if port.isdigit() and (host in LOOPBACK or host.startswith("127.")):
            ports.append(int(port))
    return ports


def listening_processes(addresses: Iterable[str]) -> list[int]:
    """Pids of the processes that listen there, each once. Those of other users stay unseen without root."""
    ports = loopback_ports(addresses)
    if not ports:
        return []
    import psutil

    try:
        sockets = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return []
    owners = {s.laddr.port: s.pid for s in sockets if s.laddr and s.status == psutil.CONN_LISTEN and s.pid}
    return list(dict.fromkeys(owners[port] for port in ports if port in owners))
