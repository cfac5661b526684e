"""What an answer to SendMessageBatch says about its messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit.http_link import HttpAnswer, UnreadableAnswerError
from brokerlab.brokers.sqs.outcomes import batch_outcomes
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN


def answer(status: int, said: Any) -> HttpAnswer:
    return HttpAnswer(status, json.dumps(said).encode(), False)


def outcomes(given: HttpAnswer | OSError, count: int = 1) -> list[int]:
    return [outcome for outcome, _ in batch_outcomes(given, count)]


def test_each_entry_has_its_own_outcome() -> None:
    said = {
        "Successful": [{"Id": "2", "MessageId": "m"}, {"Id": "0", "MessageId": "m"}],
        "Failed": [
            {"Id": "1", "SenderFault": True, "Code": "InvalidMessageContents"},
            {"Id": "3", "SenderFault": False, "Code": "InternalError"},
        ],
    }
    found = batch_outcomes(answer(200, said), 5)
    assert [o for o, _ in found] == [ACKNOWLEDGED, REJECTED, ACKNOWLEDGED, UNKNOWN, UNKNOWN]
    assert [e for _, e in found] == [
        "",
        "InvalidMessageContents",
        "",
        "InternalError",
        "no word about it in the answer",
    ]


@pytest.mark.parametrize(
    ("status", "kind", "outcome"),
    [
        (400, "com.amazonaws.sqs#QueueDoesNotExist", REJECTED),
        (400, "AWS.SimpleQueueService.NonExistentQueue", REJECTED),
        (403, "com.amazon.coral.service#AccessDeniedException", REJECTED),
        (403, "com.amazonaws.sqs#RequestThrottled", REJECTED),
        (400, "com.amazonaws.sqs#SomethingNew", UNKNOWN),
        (500, "com.amazonaws.sqs#QueueDoesNotExist", UNKNOWN),
        (503, "ServiceUnavailable", UNKNOWN),
    ],
)
def test_a_refused_request_is_refused_for_all_only_where_nothing_can_have_been_stored(
    status: int, kind: str, outcome: int
) -> None:
    found = batch_outcomes(answer(status, {"__type": kind, "message": "No: sorry"}), 3)
    assert found == [(outcome, kind.rpartition("#")[2].rpartition(".")[2])] * 3


def test_without_an_answer_nothing_is_known() -> None:
    assert batch_outcomes(ConnectionResetError(104, "reset by peer"), 2) == [(UNKNOWN, "connection lost")] * 2
    assert batch_outcomes(UnreadableAnswerError("unreadable"), 1) == [(UNKNOWN, "unreadable")]
    assert batch_outcomes(TimeoutError("no answer in time"), 1) == [(UNKNOWN, "no answer in time")]


@pytest.mark.parametrize(
    "said",
    [
        [],
        "text",
        {"Successful": 7},
        {"Successful": [7]},
        {"Successful": [{"Id": "1", "MessageId": "m"}]},
        {"Successful": [{"Id": "-1", "MessageId": "m"}]},
        {"Successful": [{"Id": "x", "MessageId": "m"}]},
        {"Successful": [{"Id": "0"}]},
        {"Failed": [{}]},
    ],
)
def test_an_answer_that_cannot_be_understood_acknowledges_nothing(said: Any) -> None:
    assert outcomes(answer(200, said)) == [UNKNOWN]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["Successful", "Failed", "Id", "MessageId", "Code", "SenderFault", "__type", "message"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([200, 400, 403, 500]), st.integers(1, 10))
def test_whatever_json_comes_there_is_an_outcome_for_each(said: Any, status: int, count: int) -> None:
    found = batch_outcomes(answer(status, said), count)
    assert len(found) == count
    assert all((outcome == ACKNOWLEDGED) == (error == "") for outcome, error in found)


@given(st.binary(max_size=60))
def test_whatever_bytes_come_nothing_is_acknowledged_by_noise(body: bytes) -> None:
    assert ACKNOWLEDGED not in outcomes(HttpAnswer(200, body, False), 3)
