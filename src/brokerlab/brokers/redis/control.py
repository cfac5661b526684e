"""A consumer's second connection to a node: acknowledgements and claims whose answers are taken when they come."""

from __future__ import annotations

import time
from collections import deque

import hiredis

from brokerlab.brokers.redis.connection import Command, Connection, ServerError, pack
from brokerlab.brokers.redis.entries import Chunk, chunk_of

_IDS_AT_ONCE = 1000
ASK_S = 10.0


class Control:
    """Nothing here waits for the server except `ask`."""

    def __init__(self, connection: Connection, keys: list[str], group: str, consumer: str) -> None:
        self.connection = connection
        self.keys = keys
        self._group, self._consumer = group, consumer
        self._due: deque[str | None] = deque()  # answers to come: the stream of a claim, None for an acknowledgement
        self._claimed: list[Chunk] = []

    @property
    def claiming(self) -> bool:
        return any(key is not None for key in self._due)

    def acknowledge(self, key: str, ids: list[bytes]) -> None:
        """Raises OSError."""
        for begin in range(0, len(ids), _IDS_AT_ONCE):
            self._due.append(None)
            self.connection.write(pack("XACK", key, self._group, *ids[begin : begin + _IDS_AT_ONCE]))

    def claim(self, idle_ms: int) -> None:
        """Ask for what any consumer of the group has held for so long. Raises OSError."""
        for key in self.keys:
            self._due.append(key)
            command = ("XAUTOCLAIM", key, self._group, self._consumer, idle_ms, "0", "COUNT", _IDS_AT_ONCE)
            self.connection.write(pack(*command))

    def step(self) -> list[Chunk]:
        """What claims have brought since the last time. Raises OSError, ServerError."""
        if self._due:
            self.connection.flush()
            for reply in self.connection.replies():
                self._on_reply(self._due.popleft(), reply)
        claimed, self._claimed = self._claimed, []
        return claimed

    def _on_reply(self, key: str | None, reply: object) -> None:
        if isinstance(reply, hiredis.ReplyError):
            raise ServerError("XACK" if key is None else "XAUTOCLAIM", reply)
        if key is not None:
            assert isinstance(reply, list)
            chunk, _ = chunk_of(key, reply[1], True, time.monotonic_ns())
            if chunk.ids:
                self._claimed.append(chunk)

    def ask(self, commands: list[Command], seconds: float = ASK_S) -> list[object]:
        """Send commands and wait for their answers. Raises OSError, and ServerError for the first that is an error."""
        until = time.monotonic() + seconds
        while self._due:
            self._claimed = self.step()
            if self._due:
                if time.monotonic() >= until:
                    raise TimeoutError(f"no answer within {seconds:g} s")
                self.connection.wait(until - time.monotonic())
        replies = self.connection.call_many(commands, seconds)
        for reply in replies:
            if isinstance(reply, hiredis.ReplyError):
                raise ServerError(str(commands[0][0]), reply)
        return replies
