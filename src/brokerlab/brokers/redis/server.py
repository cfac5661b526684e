"""The configuration file of one node."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from brokerlab.brokers.kit.certificates import Certificates
from brokerlab.brokers.redis.settings import ServerSettings


@dataclass(frozen=True)
class Access:
    """Who may connect: TLS with these certificates, this user with this password. Nothing of it: everybody."""

    certificates: Certificates | None = None
    user: str | None = None  # None with a password: the default user
    password: str | None = None


@dataclass(frozen=True)
class Place:
    """Where a node listens and what it is."""

    port: int
    data: Path
    master_port: int | None = None  # follows the node there
    bus_port: int | None = None  # a member of a cluster


def configuration(place: Place, settings: ServerSettings, access: Access) -> str:
    """May hold the password in clear, because replicas need it: the file must be readable by its owner only."""
    values = [
        ("bind", "127.0.0.1"),
        ("daemonize", "no"),
        ("logfile", ""),
        ("dir", str(place.data)),
        ("save", ""),
        ("appendonly", settings.appendonly),
        ("appendfsync", settings.appendfsync),
        ("maxmemory", settings.maxmemory),
        ("maxmemory-policy", "noeviction"),  # refuse rather than drop
        ("repl-diskless-sync-delay", "0"),  # the default waits 5 s for more replicas to come
        *_listening(place, access),
        *_users(access),
    ]
    if place.master_port is not None:
        values.append(("replicaof", f"127.0.0.1 {place.master_port}"))
    if place.bus_port is not None:
        values += [
            ("cluster-enabled", "yes"),
            ("cluster-config-file", "nodes.conf"),
            ("cluster-port", str(place.bus_port)),
            ("cluster-node-timeout", "5000"),
            ("cluster-allow-replica-migration", "no"),  # keeps 3 x (1 + 2)
        ]
    return "".join(f"{name} {value if name in _SEVERAL_WORDS else quoted(value)}\n" for name, value in values)


_SEVERAL_WORDS = ("replicaof", "user")


def _listening(place: Place, access: Access) -> list[tuple[str, str]]:
    if access.certificates is None:
        return [("port", str(place.port))]
    files = access.certificates
    return [
        ("port", "0"),
        ("tls-port", str(place.port)),
        ("tls-cert-file", str(files.certificate_file)),
        ("tls-key-file", str(files.key_file)),
        ("tls-ca-cert-file", str(files.ca_file)),
        ("tls-auth-clients", "no"),
        ("tls-replication", "yes"),
        *([("tls-cluster", "yes")] if place.bus_port is not None else []),
    ]


def _users(access: Access) -> list[tuple[str, str]]:
    if access.password is None:
        return []
    if access.user is None:
        return [("requirepass", access.password), ("masterauth", access.password)]
    digest = hashlib.sha256(access.password.encode()).hexdigest()
    return [
        ("user", "default off"),
        ("user", f"{access.user} on #{digest} ~* &* +@all"),
        ("masteruser", access.user),
        ("masterauth", access.password),
    ]


def quoted(value: str) -> str:
    """As the server's configuration files want it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
