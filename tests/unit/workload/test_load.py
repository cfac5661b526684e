"""A workload file becomes the plan it says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from brokerlab.errors import NotFoundError, WorkloadError
from brokerlab.model.plan import Endpoint, RunPlan, SmallestDifference
from brokerlab.workload.load import plan_workload
from brokerlab.workload.sensors import make_sensor_file

NOW = 1_800_000_000.0

FULL = """\
name: full
question: |
  Does it
  work?
brokers: [able, other]
cluster: {nodes: 3}
durability: L2
destinations: {count: 2, partitions: 4}
producers:
  count: 4
  agents: 2
  rate: 20_000/s
  arrival: poisson
  message: [{size: 200B, weight: 9}, {size: 1KiB}]
  payload: {compressibility: 0.5}
  keys: {count: 100, distribution: zipf}
  send_timeout: 10s
consumers: {groups: 2, per_group: 3, agents_per_group: 3, start: after_backlog, acknowledge: each}
phases: {warm_up: 500ms, measure: 2min, drain_limit: 30s}
repeats: 3
objectives: [lost == 0, p99(end_to_end_latency) < 20ms]
broker_settings: {able: {flush.messages: 1_000, threads: true}}
client_settings: {other: {linger: 0.5}}
driver: python
keep_messages: true
seed: 9
"""

SMALL = """\
name: small
question: Does it work?
broker: able
producers: {rate: 100/s}
phases: {measure: 1s}
"""


@pytest.fixture
def plan(written, broker_named):
    def planned(text: str, **given) -> RunPlan:
        return plan_workload(written(text), broker_named=broker_named, now_unix_s=NOW, **given)

    return planned


def test_every_field_reaches_the_plan(plan):
    run = plan(FULL, tag="try")
    assert (run.name, run.question, run.seed, run.repeats, run.tag) == ("full", "Does it work?", 9, 3, "try")
    assert run.workload_text == FULL
    assert run.run == f"20270115T080000Z-full-{run.fingerprint[:6]}"
    assert [o.measure for o in run.objectives] == ["lost", "end_to_end_latency"]
    able, other = run.cells
    assert (able.broker, able.nodes, able.durability, able.destinations, able.partitions) == ("able", 3, "L2", 2, 4)
    assert (able.label, other.label) == ("able", "other")
    producers = able.producers
    assert (producers.count, producers.agents, producers.send_timeout_s) == (4, 2, 10)
    assert (producers.schedule.arrival, producers.schedule.rate_per_s) == ("poisson", 5000)
    assert [(s.message_bytes, s.weight) for s in producers.payload.sizes] == [(200, 9), (1024, 1)]
    assert producers.payload.compressibility == 0.5
    assert producers.keys is not None
    assert (producers.keys.count, producers.keys.distribution) == (100, "zipf")
    assert able.consumers.model_dump(exclude_defaults=True) == {
        "groups": 2,
        "per_group": 3,
        "agents_per_group": 3,
        "start": "after_backlog",
        "acknowledge": "each",
    }
    assert able.phases.model_dump() == {
        "warm_up_s": 0.5,
        "measure_s": 120,
        "drain_limit_s": 30,
        "first_warm_up_s": None,
    }
    assert (able.broker_settings, other.broker_settings) == ({"flush.messages": "1000", "threads": "true"}, {})
    assert (able.client_settings, other.client_settings) == ({}, {"linger": "0.5"})
    assert (able.driver, able.keep_messages) == ("python", True)


def test_the_least_that_can_be_said_has_sensible_defaults(plan):
    (cell,) = plan(SMALL).cells
    assert (cell.nodes, cell.durability, cell.destinations, cell.partitions) == (1, "L4", 1, 1)
    assert cell.producers.schedule.arrival == "uniform"
    assert [s.message_bytes for s in cell.producers.payload.sizes] == [1024]
    assert cell.consumers.groups == 0
    assert (cell.phases.warm_up_s, cell.phases.drain_limit_s) == (5, 30)


def test_burst_and_ramp_rates_are_shared_among_producers(plan):
    base = SMALL.replace("{rate: 100/s}", "{rate: 100/s, count: 4, arrival: ARRIVAL}")
    burst = plan(base.replace("ARRIVAL", "{burst: {rate: 1k/s, length: 1s, every: 5s}}")).cells[0].producers.schedule
    assert (burst.arrival, burst.rate_per_s, burst.burst_rate_per_s) == ("burst", 25, 250)
    assert (burst.burst_s, burst.burst_every_s) == (1, 5)
    ramp = plan(base.replace("ARRIVAL", "{ramp: {to: 400/s}}")).cells[0].producers.schedule
    assert (ramp.arrival, ramp.rate_per_s, ramp.ramp_to_rate_per_s) == ("ramp", 25, 100)


def test_a_window_is_a_closed_loop_for_each_producer(plan):
    schedule = plan(SMALL.replace("rate: 100/s", "window: 50, count: 2")).cells[0].producers.schedule
    assert (schedule.arrival, schedule.window, schedule.rate_per_s) == ("closed", 50, None)


def test_a_file_of_sensors_is_made_in_the_cache_once_and_only_when_it_is_missing(plan, tmp_path, monkeypatch):
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    text = SMALL.replace("{rate: 100/s}", "{rate: 100/s, payload: {kind: sensors, lines: 50, read_in_ram: false}}")
    payload = plan(text).cells[0].producers.payload
    assert (payload.kind, payload.sensor_lines, payload.read_in_ram) == ("lines", 50, False)
    file = Path(payload.path)
    assert file.is_relative_to(tmp_path / "home")
    assert not file.exists()
    make_sensor_file(file, 50)
    assert len(file.read_bytes().splitlines()) == 50
    file.write_bytes(b"kept\n")
    make_sensor_file(file, 50)
    assert file.read_bytes() == b"kept\n"


def test_a_data_file_is_found_beside_the_workload(plan, tmp_path):
    (tmp_path / "data.tsv").write_text("a\nb\n")
    text = SMALL.replace("{rate: 100/s}", "{rate: 100/s, payload: {kind: lines, file: data.tsv, read_in_ram: false}}")
    payload = plan(text).cells[0].producers.payload
    assert (payload.kind, payload.path, payload.read_in_ram, payload.sizes) == (
        "lines",
        str(tmp_path / "data.tsv"),
        False,
        (),
    )


def test_a_number_of_messages_is_divided_among_the_producers(plan):
    producers = plan(SMALL.replace("rate: 100/s", "window: 5, count: 3, messages: 1_000")).cells[0].producers
    assert producers.messages == 1000
    assert [producers.messages_of(i) for i in range(3)] == [334, 333, 333]
    assert plan(SMALL).cells[0].producers.messages_of(0) is None


def test_batches_stripes_and_what_a_consumer_takes_reach_the_plan(plan):
    text = SMALL.replace("rate: 100/s", "batch: {least: 1, most: 10}, stripe: 1") + "consumers: {receive_most: 10}\n"
    cell = plan(text).cells[0]
    schedule = cell.producers.schedule
    assert (schedule.arrival, schedule.window, schedule.batch_least) == ("closed", 10, 1)
    assert (cell.producers.stripe, cell.consumers.receive_most) == (1, 10)
    usual = plan(SMALL + "consumers: {}\n").cells[0]
    assert (usual.producers.stripe, usual.consumers.receive_most) == (64, 2048)


def test_each_producer_may_have_a_data_file_of_its_own(plan, tmp_path):
    for name in ("a.tsv", "b.tsv"):
        (tmp_path / name).write_text("x\n")
    text = SMALL.replace("{rate: 100/s}", "{rate: 100/s, count: 2, payload: {kind: lines, files: [a.tsv, b.tsv]}}")
    payload = plan(text).cells[0].producers.payload
    assert (payload.path, payload.paths) == (None, (str(tmp_path / "a.tsv"), str(tmp_path / "b.tsv")))


def test_a_sweep_makes_a_cell_for_every_broker_and_combination(plan):
    text = SMALL.replace("broker: able", "brokers: [able, other]")
    run = plan(text + "sweep:\n  producers.rate: [1_000/s, 2k/s]\n  cluster.nodes: [1]\n  durability: [L3, L4]\n")
    assert [c.cell for c in run.cells] == [f"c{i:02d}" for i in range(1, 9)]
    assert [(c.broker, c.producers.schedule.rate_per_s, c.durability.value) for c in run.cells] == [
        (broker, rate, level) for rate in (1000, 2000) for level in ("L3", "L4") for broker in ("able", "other")
    ]
    assert run.cells[0].parameters == {"producers.rate": "1_000/s", "cluster.nodes": "1", "durability": "L3"}
    assert run.cells[-1].label == "other, rate 2,000/s, nodes 1, durability L4"


def test_a_swept_setting_may_have_dots_and_multiplies_only_its_own_broker(plan):
    text = SMALL.replace("broker: able", "brokers: [able, other]")
    run = plan(text + "sweep: {broker_settings.able.flush.messages: [1, 10]}\n")
    assert [(c.broker, c.broker_settings) for c in run.cells] == [
        ("able", {"flush.messages": "1"}),
        ("other", {}),
        ("able", {"flush.messages": "10"}),
    ]
    assert run.cells[0].parameters == {"broker_settings.able.flush.messages": "1"}
    assert run.cells[0].label == "able, flush.messages 1"


@pytest.mark.parametrize(
    ("value", "setting"),
    [
        ("no", "no"), ("yes", "yes"), ("Off", "Off"), ("on", "on"), ("true", "true"), ("TRUE", "true"), ("0.10", "0.10"),
        ("010", "010"), ("0x1F", "0x1F"), ("1_000", "1000"), ("1:30", "1:30"), ("2020-01-01", "2020-01-01"), ("'1_0'", "1_0"),
    ],
)  # fmt: skip
def test_a_setting_is_what_was_written_not_what_yaml_makes_of_it(plan, value, setting):
    text = SMALL.replace("broker: able", "brokers: [able, other]")
    given = plan(text + f"broker_settings: {{able: {{threads: {value}}}}}\nclient_settings: {{able: {{a: {value}}}}}\n")
    assert (given.cells[0].broker_settings, given.cells[0].client_settings) == ({"threads": setting}, {"a": setting})
    swept = plan(text + f"sweep: {{broker_settings.able.threads: [{value}, 5]}}\n")
    assert [c.broker_settings.get("threads") for c in swept.cells] == [setting, None, "5"]
    flag = plan(text, overrides=[f"broker_settings.able.threads={value}"])
    assert flag.cells[0].broker_settings == {"threads": setting}


def test_whole_structures_can_be_swept(plan):
    run = plan(SMALL + "sweep: {producers.arrival: [uniform, {ramp: {to: 5/s}}]}\n")
    assert [c.producers.schedule.arrival for c in run.cells] == ["uniform", "ramp"]
    assert run.cells[1].parameters == {"producers.arrival": "{ramp: {to: 5/s}}"}


def test_repeats_are_interleaved(plan):
    run = plan(SMALL + "repeats: 3\nsweep: {producers.rate: [1/s, 2/s, 3/s, 4/s]}\n")
    assert [f"{e.repeat} {e.cell}" for e in run.order] == [
        *("1 c01", "1 c02", "1 c03", "1 c04"),
        *("2 c02", "2 c04", "2 c01", "2 c03"),
        *("3 c04", "3 c03", "3 c02", "3 c01"),
    ]


def test_the_smallest_difference_worth_calling_can_be_set_and_decides_the_plan(plan):
    usual = plan(SMALL)
    assert (usual.smallest_difference.rates, usual.smallest_difference.latencies) == (0.02, 0.05)
    other = plan(SMALL + "smallest_difference: {latencies: 0.5%}\n")
    assert (other.smallest_difference.rates, other.smallest_difference.latencies) == (0.02, 0.005)
    assert other.fingerprint != usual.fingerprint


def test_a_plan_of_the_first_version_has_the_usual_smallest_difference(plan):
    document = plan(SMALL).model_dump(mode="json")
    del document["smallest_difference"]
    assert RunPlan.model_validate(document).smallest_difference == SmallestDifference()


def test_flags_come_after_the_file(plan):
    run = plan(
        FULL,
        overrides=["producers.rate=100/s", "consumers.start=tailing", "broker_settings.able.flush.messages=7"],
        brokers=["able"],
        repeats=2,
        endpoints={"able": Endpoint(addresses=("127.0.0.1:9",))},
    )
    (cell,) = run.cells
    assert cell.producers.schedule.rate_per_s == 25
    assert cell.consumers.start == "tailing"
    assert cell.broker_settings["flush.messages"] == "7"
    assert cell.endpoint == ("127.0.0.1:9",)
    assert run.repeats == 2
    assert run.overrides[0] == "producers.rate=100/s"


def test_a_field_that_is_set_is_swept_no_longer(plan):
    text = SMALL + "sweep: {producers.rate: [1/s, 2/s], destinations.partitions: [1, 2]}\n"
    run = plan(text, overrides=["producers.rate=9/s", "sweep.destinations.partitions=[4]"])
    assert [(c.producers.schedule.rate_per_s, c.partitions) for c in run.cells] == [(9, 4)]


def test_null_takes_a_field_away(plan):
    run = plan(SMALL, overrides=["producers.rate=null", "producers.window=10"])
    assert run.cells[0].producers.schedule.window == 10


def test_the_fingerprint_depends_on_what_decides_the_plan_and_on_nothing_else(plan):
    first = plan(FULL).fingerprint
    assert len(first) == 64
    assert plan("# a comment\n" + FULL).fingerprint == first
    assert plan(FULL.replace("20_000/s", "20k/s")).fingerprint == first
    others = [
        plan(FULL, tag="x"),
        plan(FULL, repeats=4),
        plan(FULL, brokers=["able"]),
        plan(FULL, overrides=["seed=9"]),
        plan(FULL.replace("seed: 9", "seed: 8")),
        plan(FULL.replace("< 20ms", "< 21ms")),
        plan(FULL, endpoints={"able": Endpoint(addresses=("127.0.0.1:9",))}),
    ]
    assert len({first, *(run.fingerprint for run in others)}) == len(others) + 1


def test_a_name_that_is_neither_file_nor_shipped_gets_the_nearest(broker_named):
    with pytest.raises(NotFoundError, match="did you mean 'steady'"):
        plan_workload("stedy", broker_named=broker_named)


def test_an_endpoint_of_a_broker_that_is_not_asked_is_a_problem(plan):
    with pytest.raises(WorkloadError, match="--endpoint other: brokers: other is not among"):
        plan(SMALL, endpoints={"other": Endpoint(addresses=("127.0.0.1:9",))})


def test_the_plan_survives_json(plan):
    run = plan(FULL)
    assert RunPlan.model_validate_json(run.model_dump_json()) == run


def test_faults_are_planned_in_order_of_time_and_keep_messages(written, broker_named):
    text = """
name: f
question: q?
broker: able
cluster: {nodes: 3}
durability: L1
producers: {rate: 10/s}
phases: {measure: 10s}
faults:
  - {kill: able-2, at: 5s}
  - {kill: leader, at: 500ms, restart_after: 2s}
"""
    (cell,) = plan_workload(written(text), broker_named=broker_named).cells
    planned = [(f.kind, f.target, f.at_s, f.restart_after_s) for f in cell.faults]
    assert planned == [("kill", "leader", 0.5, 2.0), ("kill", "able-2", 5.0, None)]
    assert [f.words() for f in cell.faults] == [
        "kill leader 0.5 s into measure, start it again 2 s later",
        "kill able-2 5 s into measure",
    ]
    assert cell.keep_messages


def test_a_pipe_is_read_like_a_file(broker_named):
    reader, writer = os.pipe()
    os.write(writer, SMALL.encode())
    os.close(writer)
    try:
        run = plan_workload(f"/dev/fd/{reader}", broker_named=broker_named, now_unix_s=NOW)
    finally:
        os.close(reader)
    assert run.cells[0].broker == "able"
