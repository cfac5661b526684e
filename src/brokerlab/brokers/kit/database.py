"""Asking database servers whose data directory `initdb` makes, also those behind another product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from brokerlab.brokers.contract import Reading
from brokerlab.brokers.kit.database_metrics import DATABASE, WAL
from brokerlab.brokers.kit.probing import readings_of
from brokerlab.brokers.kit.wire import credentials, split_address
from brokerlab.model.plan import Security
from brokerlab.model.watched import WatchedMetric, fields_of

if TYPE_CHECKING:
    import psycopg

USER = "brokerlab"  # the first user, where no other is asked for
_ANSWER_S = 5


class Database:
    """Asked over a connection that is kept: a new one is a new process of the server."""

    def __init__(self, address: str, security: Security | None) -> None:
        self._address, self._security = address, security
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        """The rows of one statement, none where it gives none. Raises OSError."""
        import psycopg

        try:
            if self._connection is None or self._connection.broken:
                self._connection = psycopg.connect(self._conninfo(), autocommit=True)
            cursor = self._connection.execute(question.encode())
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as e:
            self.close()
            raise OSError(" ".join(str(e).split())) from e

    def settings(self, *names: str) -> dict[str, str]:
        """Those that the server has, by name. Raises OSError."""
        listed = ", ".join(f"'{name}'" for name in names)
        return dict(self.ask(f"SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({listed})"))

    def readings(self, subject: str, rows: Sequence[WatchedMetric]) -> list[Reading]:
        """The server's own figures, of those in kit.database_metrics. Raises OSError."""
        known = {**fields_of(rows, DATABASE), **fields_of(rows, WAL)}
        asked = f"SELECT {', '.join(known)} FROM {DATABASE}, {WAL} WHERE datname = current_database()"
        (values,) = self.ask(asked)
        return readings_of(subject, dict(zip(known, values, strict=True)), known)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def __del__(self) -> None:
        self.close()

    def _conninfo(self) -> str:
        """With the password in it: never shown, logged or given to another process."""
        from psycopg.conninfo import make_conninfo

        host, port = split_address(self._address)
        user, password = credentials(self._security, (USER, ""))
        login = {"user": user, **({"password": password} if password else {})}
        waits = {"connect_timeout": _ANSWER_S, "tcp_user_timeout": 1000 * _ANSWER_S}
        return make_conninfo("", host=host, port=port, dbname="postgres", gssencmode="disable", **waits, **login)
