"""The files of one PostgreSQL node: what it listens on, whom it lets in, whom it follows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from brokerlab.brokers.kit.certificates import Certificates
from brokerlab.brokers.kit.database_cluster import loopback_settings, quoted
from brokerlab.brokers.postgresql.settings import STANDBYS

AUTHENTICATION_TLS = "hostssl all,replication all 127.0.0.1/32 scram-sha-256\n"
AUTHENTICATION_PASSWORD = "host all,replication all 127.0.0.1/32 scram-sha-256\n"
AUTHENTICATION_NONE = "host all,replication all 127.0.0.1/32 trust\n"


def standby_name(number: int) -> str:
    """What node `number` (from 2) calls itself towards the primary."""
    return f"s{number}"


def server_file(port: int, settings: Mapping[str, str], standbys: int, certificates: Certificates | None) -> str:
    """What is added to postgresql.conf; the same on primary and standbys, but for the port."""
    values = dict(settings)
    synchronous = int(values.pop(STANDBYS))
    if standbys:
        values |= {"wal_level": "replica", "hot_standby": "on", "max_wal_senders": "10", "wal_keep_size": "256MB"}
    if synchronous:
        names = ", ".join(standby_name(number) for number in range(2, standbys + 2))
        values["synchronous_standby_names"] = f"ANY {synchronous} ({names})"
    if certificates is not None:
        values |= {
            "ssl": "on",
            "ssl_cert_file": str(certificates.certificate_file),
            "ssl_key_file": str(certificates.key_file),
        }
    return loopback_settings(port, values)


def follow_line(primary_port: int, number: int, user: str, password_file: Path | None, ca_file: Path | None) -> str:
    """Makes node `number` a standby of the primary. The password stays in its file."""
    parts = [
        "host=127.0.0.1",
        f"port={primary_port}",
        f"user={_word(user)}",
        f"application_name={standby_name(number)}",
    ]
    if password_file is not None:
        parts.append(f"passfile={_word(str(password_file))}")
    if ca_file is not None:
        parts += ["sslmode=verify-full", f"sslrootcert={_word(str(ca_file))}"]
    return f"primary_conninfo = {quoted(' '.join(parts))}\n"


def _word(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
