"""plan, init, list workloads, list brokers, install: what can be said before anything starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from brokerlab import lab
from brokerlab.brokers.registry import BROKERS
from brokerlab.cli.main import cli
from brokerlab.cli.planning import given_endpoints
from brokerlab.errors import UserError


@pytest.fixture(autouse=True)
def _own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))


def _brokerlab(*args: str) -> Result:
    return CliRunner().invoke(cli, list(args))


def _json(*args: str) -> Any:
    result = _brokerlab(*args, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_plan_shows_cells_order_time_disk_and_settings(tmp_path: Path) -> None:
    out = _brokerlab("plan", "steady", "--broker", "memory", "--repeats", "2").stdout
    for part in ("c01", "order: c01 x2", "(2 executions)", "time:  about", "disk:  up to", "c01 would use:", "driver"):
        assert part in out
    assert not (tmp_path / "runs").exists()


def test_plan_as_json_holds_plan_estimate_and_settings() -> None:
    said = _json("plan", "steady", "--broker", "memory,faulty", "--repeats", "2", "--set", "phases.measure=4s")
    assert [c["broker"] for c in said["plan"]["cells"]] == ["memory", "faulty"]
    assert [c["phases"]["measure_s"] for c in said["plan"]["cells"]] == [4.0, 4.0]
    assert [e["cell"] for e in said["plan"]["order"]] == ["c01", "c02", "c02", "c01"]
    assert said["estimate"]["seconds"] > 4 * 4
    assert said["settings"]["c01"]["durability"] == "L4"
    assert said["settings"]["c01"]["driver"] == "auto"


def test_a_broker_that_starts_slowly_and_many_partitions_take_longer_in_the_estimate() -> None:
    fast, slow = (lab.estimate(lab.plan("steady", brokers=[name], repeats=1)).seconds for name in ("kafka", "pulsar"))
    assert slow - fast == pytest.approx(6.0)
    many = lab.plan("steady", brokers=["kafka"], repeats=1, overrides=["destinations.partitions=1_000"])
    few = lab.plan("steady", brokers=["kafka"], repeats=1, overrides=["destinations.partitions=1"])
    assert lab.estimate(many).seconds - lab.estimate(few).seconds == pytest.approx(9.99)


def test_the_estimate_grows_with_repeats_and_knows_no_disk_for_a_closed_loop() -> None:
    one = lab.estimate(lab.plan("steady", brokers=["memory"], repeats=1))
    two = lab.estimate(lab.plan("steady", brokers=["memory"], repeats=2))
    assert two.seconds > one.seconds
    assert two.evidence_bytes == 2 * one.evidence_bytes
    assert two.broker_data_bytes == one.broker_data_bytes
    closed = lab.estimate(lab.plan("max-throughput", brokers=["memory"], repeats=1))
    assert closed.broker_data_bytes is None


def test_a_number_of_messages_makes_time_and_disk_known() -> None:
    changes = ["producers.messages=100_000", "producers.message=1000B", "phases.measure=10min"]
    cleared = ["producers.rate=null", "producers.arrival=null", "producers.window=50", "phases.warm_up=0"]
    closed = lab.plan("steady", brokers=["memory"], repeats=1, overrides=[*changes, *cleared])
    assert lab.estimate(closed).broker_data_bytes == 100_000 * 1000
    assert lab.estimate(closed).seconds > 600, "nothing is known of its rate but the limit"
    rated = lab.plan("steady", brokers=["memory"], repeats=1, overrides=[*changes, "producers.rate=10_000/s"])
    assert lab.estimate(rated).seconds < 100
    shown = _brokerlab("plan", "steady", "--broker", "memory", "--set", changes[0], "--set", changes[2]).stdout
    assert "100,000 messages, at most 10 min" in shown


def test_an_endpoint_stands_in_the_plan_and_in_what_is_used() -> None:
    said = _json("plan", "steady", "--broker", "memory", "--endpoint", "memory=127.0.0.1:9092,127.0.0.1:9093")
    assert said["plan"]["cells"][0]["endpoint"] == ["127.0.0.1:9092", "127.0.0.1:9093"]
    assert "127.0.0.1:9092" in said["settings"]["c01"]["broker"]


def test_options_of_an_endpoint_stand_in_the_plan() -> None:
    given = ("rabbitmq-stream=127.0.0.1:5672", "rabbitmq-stream.stream=127.0.0.1:5552,127.0.0.1:5553")
    flags = [word for text in given for word in ("--endpoint", text)]
    said = _json("plan", "steady", "--broker", "rabbitmq-stream", "--set", "durability=L4", *flags)
    assert said["plan"]["cells"][0]["endpoint_options"] == {"stream": "127.0.0.1:5552,127.0.0.1:5553"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ("rabbitmq-stream=127.0.0.1:5672", "rabbitmq-stream.steam=127.0.0.1:5552"),
            "rabbitmq-stream.stream=HOST:PORT",
        ),
        (("kafka=127.0.0.1:9092", "kafka.web=http://127.0.0.1:1"), "it has no options"),
        (("pulsar.web=http://127.0.0.1:8080",), "pulsar=HOST:PORT"),
        (("nats=127.0.0.1:4222", "nats.monitoring="), "nats.monitoring=http"),
    ],
)
def test_an_option_nobody_offers_is_refused_with_those_there_are(given: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError) as caught:
        given_endpoints(given)
    assert said in str(caught.value.hint)


@pytest.mark.parametrize("text", ["127.0.0.1:9092", "memory=127.0.0.1", "memory=:9092", "memory=a:99999", "memory="])
def test_an_endpoint_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UserError) as caught:
        given_endpoints((text,))
    assert "BROKER=127.0.0.1:9092" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("no-such-file.yaml",), "no-such-file.yaml"),
        (("stead",), "steady"),
        (("steady", "--broker", "memroy"), "did you mean 'memory'"),
        (("steady", "--broker", ","), "names no broker"),
        (("steady", "--broker", "memory", "--set", "producers.rat=5/s"), "rate"),
        (("steady", "--broker", "memory", "--set", "nonsense"), "nonsense"),
        (("steady", "--broker", "memory", "--endpoint", "mem=127.0.0.1:1"), "mem"),
        (("steady", "--repeats", "0"), "repeats"),
        (("steady", "--repeats", "many"), "many"),
        ((), "FILE"),
    ],
)
def test_nonsense_is_a_users_mistake_said_clearly(arguments: tuple[str, ...], said: str) -> None:
    for verb in ("plan", "run"):
        result = _brokerlab(verb, *arguments)
        assert result.exit_code == 2, result.output
        assert said in result.stderr
        assert "unexpected" not in result.stderr
        assert result.stdout == ""


@pytest.mark.parametrize("content", [b"\xff\xfe\x00\x01", b"a: [1, 2", b"", b"- just\n- a list\n", b"42\n", b"\x00"])
def test_a_file_that_is_no_workload_is_a_users_mistake(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "odd.yaml"
    file.write_bytes(content)
    result = _brokerlab("plan", str(file))
    assert result.exit_code == 2, result.output
    assert "odd.yaml" in result.stderr
    assert "unexpected" not in result.stderr


def test_init_writes_a_file_that_plans_and_never_overwrites_unasked(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    assert _brokerlab("init", str(file)).exit_code == 0
    assert _brokerlab("plan", str(file), "--broker", "memory").exit_code == 0
    file.write_text("precious")
    refused = _brokerlab("init", str(file))
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert file.read_text() == "precious"
    assert _brokerlab("init", str(file), "--force").exit_code == 0
    assert file.read_text() != "precious"


def test_init_where_nothing_can_be_written_is_a_users_mistake(tmp_path: Path) -> None:
    result = _brokerlab("init", str(tmp_path / "missing" / "mine.yaml"))
    assert result.exit_code == 2
    assert "cannot write" in result.stderr


def test_the_schema_is_json() -> None:
    result = _brokerlab("init", "--schema")
    assert json.loads(result.stdout)["type"] == "object"


def test_every_broker_is_listed_with_what_it_can_do_and_whether_it_runs_here() -> None:
    rows = {r["name"]: r for r in _json("list", "brokers")}
    assert {"kafka", "nats", "memory", "faulty"} <= set(rows) == set(BROKERS)
    wanted = {
        "name",
        "product",
        "version",
        "nodes",
        "durability_levels",
        "capabilities",
        "installed",
        "runs_here",
        "reason",
    }
    assert all(wanted <= set(r) for r in rows.values())
    assert rows["memory"]["installed"] is True
    assert rows["memory"]["durability_levels"] == {"1": ["L4"]}
    assert rows["kafka"]["capabilities"]["partitions"] is True
    lines = _brokerlab("list", "brokers").stdout.splitlines()
    assert len(lines) == 1 + len(rows)


def test_shipped_workloads_are_listed_with_their_question() -> None:
    rows = {r["name"]: r for r in _json("list", "workloads")}
    assert "demo" in rows
    assert all(r["question"] and r["executions"] >= 1 for r in rows.values())
    assert "demo" in _brokerlab("list", "workloads").stdout


def test_installing_what_is_there_does_nothing() -> None:
    said = _json("install", "memory")
    assert said["installed"] is True
    assert "installed" in _brokerlab("install", "memory").stdout


def test_install_all_goes_on_after_one_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    from brokerlab.brokers import registry
    from brokerlab.brokers.memory.broker import BROKER
    from brokerlab.errors import MachineError

    class NotToBeHad:
        name = "away"

        def install(self, _progress: object) -> object:
            raise MachineError("no server in any registry", hint="give --endpoint")

    known = {"away": NotToBeHad(), "memory": BROKER}
    monkeypatch.setattr(registry, "BROKERS", dict.fromkeys(known, ""))
    monkeypatch.setattr(registry, "broker_named", lambda name: known[name])
    result = _brokerlab("install", "all", "--quiet")
    assert result.exit_code == 3
    assert result.stdout.splitlines() == [
        "away: not installed: no server in any registry (give --endpoint)",
        "memory 1: installed",
    ]


def test_a_broker_that_only_users_run_is_listed_with_the_reason_and_no_failure_of_install_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from brokerlab.brokers import registry

    only = [name for name in BROKERS if not registry.broker_named(name).capabilities.nodes]
    rows = {r["name"]: r for r in _json("list", "brokers")}
    assert only
    assert all(rows[name]["runs_here"] is False and "--endpoint" in rows[name]["reason"] for name in only)
    monkeypatch.setattr(registry, "BROKERS", {name: BROKERS[name] for name in (*only, "memory")})
    result = _brokerlab("install", "all", "--quiet")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].startswith(f"{only[0]}: not installed: ")
    assert _brokerlab("install", only[0]).exit_code == 2


def test_an_unknown_thing_to_list_names_the_known_ones() -> None:
    result = _brokerlab("list", "brokrs")
    assert result.exit_code == 2
    assert "brokers" in result.stderr


def test_sensors_writes_the_same_file_for_the_same_seed(tmp_path: Path) -> None:
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    for file in (first, second):
        assert _brokerlab("sensors", str(file), "--lines", "50", "--seed", "3").exit_code == 0
    assert first.read_bytes() == second.read_bytes()
    assert [len(line.split(b"\t")) for line in first.read_bytes().splitlines()] == [66] * 50


def test_sensors_where_nothing_can_be_written_says_so(tmp_path: Path) -> None:
    result = _brokerlab("sensors", str(tmp_path / "missing" / "a.tsv"), "--lines", "5")
    assert result.exit_code == 3
    assert "cannot write" in result.stderr
