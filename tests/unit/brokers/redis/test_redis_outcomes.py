"""What answers and errors mean for a message."""

from __future__ import annotations

import inspect

import hiredis
import pytest
from redis._parsers.base import BaseParser

from brokerlab.brokers.redis.outcomes import REPLIES, confirmed, outcome_of_error
from brokerlab.model.blocks import REJECTED, UNKNOWN


def test_every_error_word_the_library_knows_is_in_the_table() -> None:
    assert set(BaseParser.EXCEPTION_CLASSES) <= REPLIES.names


def test_hiredis_has_no_error_class_nobody_thought_of() -> None:
    kinds = {n for n, c in inspect.getmembers(hiredis, inspect.isclass) if issubclass(c, Exception)}
    assert kinds == {"HiredisError", "ProtocolError", "ReplyError"}


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("OOM command not allowed when used memory > 'maxmemory'.", REJECTED),
        ("MOVED 3999 127.0.0.1:6381", REJECTED),
        ("MISCONF Errors writing to the AOF file", REJECTED),
        ("CLUSTERDOWN The cluster is down", REJECTED),
        ("UNBLOCKED force unblock from blocking operation", UNKNOWN),
        ("SOMETHINGNEW happened", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_an_error_reply_settles_its_message(text: str, outcome: int) -> None:
    found, kind = outcome_of_error(hiredis.ReplyError(text))
    assert found == outcome
    assert kind == text.partition(" ")[0]


@pytest.mark.parametrize(
    ("reply", "replicas", "good"),
    [
        (2, 1, True),
        (0, 1, False),
        (1, 2, False),
        ([1, 1], 1, True),
        ([0, 2], 1, False),
        ([1, 0], 1, False),
        (hiredis.ReplyError("ERR unknown command 'WAITAOF'"), 1, False),
        (b"OK", 1, False),
        (None, 1, False),
    ],
)
def test_a_wait_confirms_only_with_enough_replicas(reply: object, replicas: int, good: bool) -> None:
    assert confirmed(reply, replicas)[0] is good
