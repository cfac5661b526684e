"""Connections on which every request has a number of ours, and its answer names that number."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from brokerlab.brokers.kit.link import CALL_S, Link
from brokerlab.model.plan import Security

Reply = TypeVar("Reply")


def number_in(fields: Mapping[str, str], name: str) -> int:
    """A field of an answer. Raises OSError where it is not a number of 64 bits."""
    try:
        found = int(fields[name])
    except (KeyError, ValueError) as e:
        raise OSError(f"unreadable answer: its field {name} is not a number") from e
    if not -(1 << 63) <= found < 1 << 63:
        raise OSError(f"unreadable answer: its field {name} is not a number of 64 bits")
    return found


def json_object(body: bytes) -> dict[str, Any]:
    """The body of an answer. Raises OSError where it is not an object."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise OSError("unreadable answer: not a JSON object")
    return found


class AskingLink(Link, Generic[Reply]):
    """See kit.link.Link. Left are the frames: `_take_frames` gives each answer to `_answered`."""

    def __init__(self, address: str, security: Security | None, name: str, connect_s: float = CALL_S) -> None:
        """A handshake is a request like any other here: a busy server has as long for it."""
        self._number = 0
        self._asked: dict[int, Callable[[Reply], None]] = {}
        super().__init__(address, security, name, connect_s)

    def _numbered(self, on_answer: Callable[[Reply], None]) -> int:
        """The number of a new request, and what to do when its answer has come."""
        self._number += 1
        self._asked[self._number] = on_answer
        return self._number

    def _answered(self, number: int, answer: Reply) -> None:
        """An answer that no request waits for is ignored."""
        on_answer = self._asked.pop(number, None)
        if on_answer is not None:
            on_answer(answer)

    def _wait_for_answer(self, what: str, got: list[Reply], seconds: float = CALL_S) -> Reply:
        """Until the answer is in `got`, where its request puts it. Raises OSError when it has not come in time."""
        until = time.monotonic() + seconds
        while not got:
            self._read_or_wait(until, f"answer to {what}")
        return got[0]
