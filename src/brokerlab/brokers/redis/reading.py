"""One connection that reads streams for a consumer: first what is pending for it, then what is new."""

from __future__ import annotations

import time
from dataclasses import dataclass

import hiredis

from brokerlab.brokers.redis.connection import Connection, ServerError, pack
from brokerlab.brokers.redis.entries import Chunk, chunk_of

BLOCK_MS = 5000


@dataclass(frozen=True)
class Membership:
    """As whom to read."""

    group: str
    consumer: str
    automatic: bool  # acknowledged by being read
    read_messages: int


class Reading:
    """Always has one XREADGROUP open, so that messages come as soon as they are there.

    `keys` are read by one command: several on a single server, one in a cluster, where a command may not span slots.
    """

    def __init__(self, connection: Connection, keys: list[str], member: Membership) -> None:
        self.connection = connection
        self.keys = keys
        self._member = member
        self._count = max(10, member.read_messages // len(keys))
        self._client_id = connection.call("CLIENT", "ID")
        # What was read by an earlier connection of this name and not acknowledged comes first, from id 0 on.
        self._after: dict[str, bytes] = {} if member.automatic else dict.fromkeys(keys, b"0")
        self.gone: list[tuple[str, bytes]] = []
        self._ask()

    @property
    def client_id(self) -> int:
        assert isinstance(self._client_id, int)
        return self._client_id

    @property
    def catching_up(self) -> bool:
        """Whether it still reads what is pending for this consumer from earlier."""
        return bool(self._after)

    def _ask(self) -> None:
        keys = list(self._after) or self.keys
        places = list(self._after.values()) or [b">"] * len(keys)
        words: list[str | int] = [
            "XREADGROUP",
            "GROUP",
            self._member.group,
            self._member.consumer,
            "COUNT",
            self._count,
        ]
        words += ["BLOCK", BLOCK_MS] if not self._after else []
        words += ["NOACK"] if self._member.automatic else []
        self.connection.write(pack(*words, "STREAMS", *keys, *places))

    def take(self, *, ask_again: bool = True) -> list[Chunk] | None:
        """What the open command has brought, None while it is still open. Raises OSError, ServerError."""
        self.connection.flush()
        replies = self.connection.replies()
        if not replies:
            return None
        reply = replies[0]
        if isinstance(reply, hiredis.ReplyError):
            raise ServerError(f"{self.connection.address}: XREADGROUP", reply)
        pending = bool(self._after)
        chunks = self._chunks(reply if isinstance(reply, list) else [], pending)
        if ask_again:
            self._ask()
        return chunks

    def _chunks(self, streams: list[list[object]], pending: bool) -> list[Chunk]:
        now_ns = time.monotonic_ns()
        chunks = []
        for name, entries in streams:
            assert isinstance(name, bytes)
            assert isinstance(entries, list)
            key = name.decode()
            if pending:
                if not entries:
                    del self._after[key]
                    continue
                self._after[key] = entries[-1][0]
            chunk, gone = chunk_of(key, entries, pending, now_ns)
            self.gone += [(key, each) for each in gone]
            if chunk.ids:
                chunks.append(chunk)
        return chunks
