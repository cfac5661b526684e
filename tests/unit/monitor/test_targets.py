"""TARGETs and monitor.yaml: what may be written, and every problem with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.errors import UserError, WorkloadError
from brokerlab.model.plan import TargetPlan
from brokerlab.monitor.targets import parse_target, watched


@pytest.mark.parametrize(
    ("text", "planned"),
    [
        ("host", TargetPlan(kind="host", name="host")),
        ("process=12", TargetPlan(kind="process", name="process-12", pid=12)),
        ("jvm=12", TargetPlan(kind="jvm", name="jvm-12", pid=12)),
        ("jvm=http://127.0.0.1:8778/jolokia", TargetPlan(kind="jvm", name="127.0.0.1:8778", url="http://127.0.0.1:8778/jolokia")),
        ("kafka=127.0.0.1:9092,127.0.0.1:9093", TargetPlan(kind="broker", name="kafka", broker="kafka", addresses=("127.0.0.1:9092", "127.0.0.1:9093"))),
    ],
)  # fmt: skip
def test_targets_of_the_command_line(text: str, planned: TargetPlan) -> None:
    assert parse_target(text) == planned


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("kafak=127.0.0.1:9092", "TARGET must be host", "did you mean 'kafka'?"),
        ("kafka=127.0.0.1", "must be HOST:PORT", "give host"),
        ("kafka=user:secret@127.0.0.1:9092", "must be HOST:PORT", "give host"),
        ("process=self", "process=self", "give host"),
        ("jvm=service:jmx:rmi:///jndi/rmi://127.0.0.1:1/jmxrmi", "can only be read by Java", "give host"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(text: str, said: str, hint: str) -> None:
    with pytest.raises(UserError, match=said) as refused:
        parse_target(text)
    assert str(refused.value.hint).startswith(hint)


def test_a_target_given_twice_is_watched_once_and_names_are_made_different() -> None:
    found = watched(["host", "host", "kafka=127.0.0.1:9092", "kafka=127.0.0.1:9093"], attach=False)
    assert [t.name for t in found.targets] == ["host", "kafka", "kafka-2"]


def test_no_target_is_said() -> None:
    with pytest.raises(UserError, match="TARGET is missing"):
        watched([], attach=False)


def test_a_file_stands_for_its_targets(tmp_path: Path) -> None:
    file = tmp_path / "monitor.yaml"
    file.write_text("""name: shop
interval: 2s
targets:
  - host: true
  - {broker: nats, address: "127.0.0.1:4222", options: {monitoring: "http://127.0.0.1:8222"}, name: events}
  - {jvm: 42, attach: true}
export: [graphite=127.0.0.1:2003]
""")
    found = watched([str(file)], attach=False)
    assert (found.name, found.interval_s) == ("shop", 2.0)
    assert [(t.kind, t.name, t.attach) for t in found.targets] == [
        ("host", "host", False),
        ("broker", "events", False),
        ("jvm", "jvm-42", True),
    ]
    assert [e.words for e in found.exports] == ["127.0.0.1:2003"]


def test_every_problem_of_a_file_has_its_line_field_and_nearest_name(tmp_path: Path) -> None:
    file = tmp_path / "monitor.yaml"
    file.write_text("""intervall: 2s
targets:
  - {broker: kafak, address: "127.0.0.1:9092"}
  - {process: 12, jvm: 13}
  - {broker: kafka, address: "127.0.0.1"}
""")
    with pytest.raises(WorkloadError) as refused:
        watched([str(file)], attach=False)
    said = [(p.line, p.field, p.nearest) for p in refused.value.problems]
    assert said == [
        (1, "intervall", "interval"),
        (3, "targets[0].broker", "kafka"),
        (4, "targets[1]", None),
        (5, "targets[2].address[0]", None),
    ]


def test_an_option_that_the_broker_does_not_have_is_refused_with_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "monitor.yaml"
    file.write_text('targets:\n  - {broker: kafka, address: "127.0.0.1:9092", options: {jolokai: "http://x"}}\n')
    with pytest.raises(WorkloadError) as refused:
        watched([str(file)], attach=False)
    (problem,) = refused.value.problems
    assert (problem.line, problem.nearest) == (2, "jolokia")
