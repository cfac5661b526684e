"""Events as they are written and as they are read back, those of 0.1.0 and of later versions too."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerlab.model import events
from brokerlab.model.events import AgentDied, BrokerFailed, Drain, KnownEvent, NodeDied, OtherEvent, event_of

KINDS = [event.model_fields["kind"].default for event in get_args(KnownEvent)]


def row(kind: str, **detail: Any) -> dict[str, Any]:
    return {"kind": kind, "detail": json.dumps(detail)}


EXAMPLES = [
    events.NodeStarted(pid=7),
    events.ClusterKept(started_for="c01-r1", executions=2),
    events.ClusterWarmedUp(seconds=60.0),
    events.AgentStarted(pid=8),
    events.PhaseBegun(phase="warm_up", start_mono_ns=5),
    events.BacklogComplete(),
    events.ConsumersStarted(consumer_set="late", because="4 s of measure were over", sent_bytes=9, reached=True),
    events.PageCacheDropped(files=2, bytes=300, held_before_bytes=200, held_after_bytes=100),
    Drain(complete=False, groups={"g1": events.GroupDrain(complete=True, because="all was seen")}),
    events.End(failure="x died"),
    events.Interrupted(error="Ctrl-C"),
    events.Failed(error="no disk"),
    events.Annotation(text="the fan came on"),
    events.TargetGone(target="kafka", why="nothing answers"),
    events.TargetBack(target="kafka", after_s=2.5),
    events.LeftBehind(what="a stream", what_to_do="delete it"),
    NodeDied(names=("a-1", "a-2"), text="out of memory"),
    AgentDied(names=("producer-1",), text="ended with code 1"),
    BrokerFailed(text="refused"),
    events.FaultBegun(
        fault="kill", target="leader", node="a-1", leader="a-1", was_leading=True, at_s=3.0, begun_mono_ns=4,
        measure_from_mono_ns=1, measure_until_mono_ns=9,
    ),
    events.FaultEnded(fault="kill", node="a-1", ended_mono_ns=8),
    events.FaultFailed(text="no answer"),
    events.TookOver(node="a-2", fault_node="a-1", after_s=0.5),
    events.NothingTookOver(fault_node="a-1", within_s=60.0),
]  # fmt: skip


def test_there_is_an_example_of_every_kind() -> None:
    assert sorted(e.kind for e in EXAMPLES) == sorted(KINDS)


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda e: str(e.kind))
def test_an_event_is_read_back_as_it_was_written(event: KnownEvent) -> None:
    assert event_of({"kind": event.kind, "detail": json.dumps(event.detail())}) == event


def test_deaths_of_0_1_0_have_names_and_text() -> None:
    node = event_of(row("node_died", node="kafka-1, kafka-2", log_lines="FATAL disk is gone\n"))
    assert node == NodeDied(names=("kafka-1", "kafka-2"), text="FATAL disk is gone\n")
    agent = event_of(row("agent_died", agent="producer-1", text="producer-1 ended with code -9"))
    assert agent == AgentDied(names=("producer-1",), text="producer-1 ended with code -9")
    failed = event_of(row("broker_failed", agent="producer-1:", text="producer-1: refused"))
    assert failed == BrokerFailed(names=("producer-1",), text="producer-1: refused")


def test_a_fault_of_0_1_0_is_read() -> None:
    written = {
        "fault": "kill", "what": "killed", "target": "leader", "node": "nats-3", "leader": "nats-3", "was_leading": True,
        "at_s": 3.0, "begun_mono_ns": 483811450132, "measure_from_mono_ns": 480810272120,
        "measure_until_mono_ns": 490810272120,
    }  # fmt: skip
    assert isinstance(event_of(row("fault_begun", **written)), events.FaultBegun)


def test_a_group_is_drained_by_its_own_answer_else_by_that_of_all() -> None:
    drain = Drain(complete=False, groups={"g1": events.GroupDrain(complete=True)})
    assert drain.is_complete("g1")
    assert not drain.is_complete("g2")


@pytest.mark.parametrize("detail", ["not json", "[1]", "", '{"names": 7}'])
def test_a_damaged_detail_does_not_hide_a_death(detail: str) -> None:
    assert isinstance(event_of({"kind": "agent_died", "detail": detail}), AgentDied)


def test_an_unknown_kind_and_a_detail_without_what_its_kind_needs_are_kept_as_written() -> None:
    assert event_of(row("earthquake", magnitude=5)) == OtherEvent(kind="earthquake", text='{"magnitude": 5}')
    assert isinstance(event_of(row("drain")), OtherEvent)


@given(st.sampled_from([*KINDS, "other"]), st.text(max_size=30))
def test_reading_an_event_never_raises(kind: str, detail: str) -> None:
    assert event_of({"kind": kind, "detail": detail}).kind == kind
