"""What is wrong with a workload: all of it at once, each with file, line, field, value and what was probably meant."""

from __future__ import annotations

import pytest

from brokerlab.errors import Problem, WorkloadError
from brokerlab.model.plan import Endpoint
from brokerlab.workload.load import plan_workload

GOOD = """\
name: good
question: Does it work?
broker: able
cluster:
  nodes: 1
durability: L4
destinations:
  count: 1
  partitions: 2
producers:
  count: 2
  rate: 100/s
  message: 1KiB
consumers:
  groups: 1
  per_group: 1
phases:
  warm_up: 0
  measure: 1s
objectives:
  - lost == 0
"""


@pytest.fixture
def problems_of(written, broker_named):
    def problems(text: str, **given) -> list[Problem]:
        path = written(text)
        with pytest.raises(WorkloadError) as caught:
            plan_workload(path, broker_named=broker_named, **given)
        for problem in caught.value.problems:
            assert problem.file == str(path) or problem.line == 0
        return caught.value.problems

    return problems


def test_the_good_one_is_good(written, broker_named):
    assert plan_workload(written(GOOD), broker_named=broker_named).cells


CHANGES = [
    # old text, new text, line, field, part of the message, value, nearest
    (
        "  per_group: 1",
        "  start: {after: 1s}",
        16,
        "consumers.start.after",
        "before the end of measure (1 s)",
        "1s",
        None,
    ),
    ("  per_group: 1", "  agents: 2", 16, "consumers.agents", "must be at most the number of groups (1)", "2", None),
    ("  per_group: 1", "  start: {backlog: big}", 16, "consumers.start.backlog", "must be a size such as", "big", None),
    ("  per_group: 1", "  start: {after: 0, befor: 1s}", 16, "consumers.start.befor", "is not a field", None, None),
    ("  groups: 1\n  per_group: 1", "  - {groups: 1}", 15, "consumers[0].name", "is missing", None, None),
    (
        "  groups: 1\n  per_group: 1",
        "  - {name: Late}",
        15,
        "consumers[0].name",
        "must be a lower-case letter",
        "Late",
        None,
    ),
    (
        "  groups: 1\n  per_group: 1",
        "  - name: a\n  - name: a",
        16,
        "consumers[1].name",
        "names another set",
        "a",
        None,
    ),
    (
        "  groups: 1\n  per_group: 1",
        "  - {name: a, groups: 0}",
        15,
        "consumers[0].groups",
        "leave the set out",
        "0",
        None,
    ),
    (
        "  groups: 1\n  per_group: 1",
        "  - {name: a, groop: 1}",
        15,
        "consumers[0].groop",
        "is not a field",
        None,
        "groups",
    ),
    ("  rate: 100/s", "  ratee: 100/s", 12, "producers.ratee", "is not a field", None, "rate"),
    ("  rate: 100/s", "  rate: 100/s\n  xyzzy: 1", 13, "producers.xyzzy", "known here: count, agents", None, None),
    ("  rate: 100/s", "  rate: fast", 12, "producers.rate", "must be a rate such as 20_000/s", "fast", None),
    ("  rate: 100/s", "  rate: 100", 12, "producers.rate", "the unit is missing", "100", None),
    ("  rate: 100/s", "  rate: 100/s\n  window: 5", 13, "producers.window", "not both", "5", None),
    ("  rate: 100/s", "  agents: 1", 10, "producers.rate", "give rate (open loop) or window", None, None),
    ("  rate: 100/s", "  window: 5\n  arrival: poisson", 13, "producers.arrival", "closed loop", "poisson", None),
    ("  rate: 100/s", "  rate: 0/s", 12, "producers.rate", "must be at least 0.001/s", "0/s", None),
    (
        "  rate: 100/s",
        "  rate: 9/s\n  agents: 3",
        13,
        "producers.agents",
        "must be at most the number of producers (2)",
        "3",
        None,
    ),
    (
        "  rate: 100/s",
        "  rate: 9/s\n  arrival: poison",
        13,
        "producers.arrival",
        "must be uniform or poisson",
        "poison",
        "poisson",
    ),
    (
        "  rate: 100/s",
        "  rate: 9/s\n  arrival:\n    burst:\n      rate: 1/s\n      length: 3s\n      every: 2s",
        16,
        "producers.arrival.burst.length",
        "not longer than every",
        "3s",
        None,
    ),
    (
        "  rate: 100/s",
        "  rate: 9/s\n  arrival: {burst: {rate: 1/s, length: 3s}}",
        13,
        "producers.arrival.burst.every",
        "is missing",
        None,
        None,
    ),
    ("  message: 1KiB", "  message: 47B", 13, "producers.message", "must be at least 48 bytes", "47B", None),
    ("  message: 1KiB", "  message: 1Kib", 13, "producers.message", "must be a size such as", "1Kib", None),
    (
        "  message: 1KiB",
        "  message:\n    - {size: 1KiB}\n    - {size: 8B}",
        15,
        "producers.message[1].size",
        "must be at least 48 bytes",
        "8B",
        None,
    ),
    (
        "  message: 1KiB",
        "  message:\n    - {size: 1KiB}\n    - {sise: 80B, size: 80B}",
        15,
        "producers.message[1].sise",
        "is not a field",
        None,
        "size",
    ),
    ("  message: 1KiB", "  payload: {file: x}", 13, "producers.payload.file", "not used by kind random", "x", None),
    (
        "  message: 1KiB",
        "  payload: {kind: lines, file: no.tsv}",
        13,
        "producers.payload.file",
        "no such file",
        "no.tsv",
        None,
    ),
    (
        "  message: 1KiB",
        "  payload: {files: [x]}",
        13,
        "producers.payload.files",
        "not used by kind random",
        "[x]",
        None,
    ),
    (
        "  message: 1KiB",
        "  payload: {kind: lines, files: [no.tsv]}",
        13,
        "producers.payload.files[0]",
        "no such file",
        "no.tsv",
        None,
    ),
    (
        "  message: 1KiB",
        "  payload: {kind: lines, files: []}",
        13,
        "producers.payload.files",
        "not be empty",
        "[]",
        None,
    ),
    ("  message: 1KiB", "  payload: {kind: file}", 13, "producers.payload.file", "is missing", None, None),
    (
        "  message: 1KiB",
        "  payload: {read_in_ram: true}",
        13,
        "producers.payload.read_in_ram",
        "only for kinds lines and sensors",
        "true",
        None,
    ),
    ("  message: 1KiB", "  payload: {kind: sensors}", 13, "producers.payload.lines", "is missing", None, None),
    ("  message: 1KiB", "  payload: {lines: 5}", 13, "producers.payload.lines", "only for kind sensors", "5", None),
    (
        "  message: 1KiB",
        "  payload: {kind: sensors, lines: 5, file: a.tsv}",
        13,
        "producers.payload.file",
        "not used by kind sensors",
        "a.tsv",
        None,
    ),
    ("  groups: 1", "  groups: -1", 15, "consumers.groups", "must be at least 0", "-1", None),
    (
        "  per_group: 1",
        "  agents_per_group: 2",
        16,
        "consumers.agents_per_group",
        "must be at most the number of consumers",
        "2",
        None,
    ),
    (
        "  per_group: 1",
        "  acknowledge: all",
        16,
        "consumers.acknowledge",
        "must be each, batch or automatic",
        "all",
        None,
    ),
    ("  measure: 1s", "  measure: 0s", 19, "phases.measure", "must be above 0", "0s", None),
    ("  measure: 1s", "  measure: 721h", 19, "phases.measure", "must be at most 720 h", "721h", None),
    ("  message: 1KiB", "  message: 257MiB", 13, "producers.message", "must be at most 256 MiB", "257MiB", None),
    ("  rate: 100/s", "  rate: 1001M/s", 12, "producers.rate", "must be at most 1,000,000,000/s", "1001M/s", None),
    (
        "name: good",
        "smallest_difference: {rates: 2}\nname: good",
        1,
        "smallest_difference.rates",
        "must be a percentage such as 2%",
        "2",
        None,
    ),
    (
        "name: good",
        "smallest_difference: {latencies: 101%}\nname: good",
        1,
        "smallest_difference.latencies",
        "must be at most 100%",
        "101%",
        None,
    ),
    (
        "name: good",
        "smallest_difference: {rate: 2%}\nname: good",
        1,
        "smallest_difference.rate",
        "is not a field",
        None,
        "rates",
    ),
    ("  measure: 1s", "  drain_limit: 1s", 17, "phases.measure", "is missing", None, None),
    ("  measure: 1s", "  measure: 5m", 19, "phases.measure", "must be a duration such as", "5m", None),
    ("durability: L4", "durability: L5", 6, "durability", "must be L1, L2, L3, L4, strongest or weakest", "L5", None),
    (
        "durability: L4",
        "durability: L2",
        6,
        "durability",
        "able does not offer L2 with 1 node: it offers L3, L4",
        "L2",
        None,
    ),
    ("  nodes: 1", "  nodes: 2", 5, "cluster.nodes", "able runs with 1 or 3 nodes here", "2", None),
    ("  nodes: 1", "  nodes: yes", 5, "cluster.nodes", "must be a whole number", "yes", None),
    ("  partitions: 2", "  partitions: 70_000", 9, "destinations.partitions", "must be at most 65,535", "70_000", None),
    ("broker: able", "broker: abel", 3, "broker", "no broker is called 'abel'", None, None),
    (
        "  rate: 100/s",
        "  rate: 1/s\n  batch: {least: 1, most: 2}",
        13,
        "producers.batch",
        "together with rate",
        "{least: 1, most: 2}",
        None,
    ),
    ("  rate: 100/s", "  batch: {least: 3, most: 2}", 12, "producers.batch.least", "largest batch (2)", "3", None),
    (
        "  rate: 100/s",
        "  rate: 1/s\n  keys: {count: 2}\n  stripe: 5",
        14,
        "producers.stripe",
        "no meaning with keys",
        "5",
        None,
    ),
    ("  per_group: 1", "  receive_most: 5000", 16, "consumers.receive_most", "must be at most 2,048", "5000", None),
    ("  rate: 100/s", "  rate: 100/s\n  messages: 1", 13, "producers.messages", "one for each producer (2)", "1", None),
    ("  rate: 100/s", "  rate: 100/s\n  messages: 0", 13, "producers.messages", "must be at least 1", "0", None),
    ("  rate: 100/s", "  rate: 100/s\n  messages: 5s", 13, "producers.messages", "must be a whole number", "5s", None),
    ("broker: able", "broker: able\nbrokers: [able]", 3, "broker", "keep one of them", "able", None),
    ("broker: able", "brokers: [able, able]", 3, "brokers", "names a broker twice", "[able, able]", None),
    ("broker: able\n", "", 1, "brokers", "is missing: name a broker", None, None),
    ("name: good", "name: Not Good", 1, "name", "must be lower-case letters", "Not Good", None),
    ("question: Does it work?\n", "", 1, "question", "is missing", None, None),
    ("  - lost == 0", "  - lst == 0", 21, "objectives[0]", "lst is not measured", "lst == 0", "lost"),
    ("  groups: 1", "  groups: 0", 21, "objectives[0]", "lost needs consumers", "lost == 0", None),
    ("name: good", "name: good\nname: better", 2, "name", "is given twice, first in line 1", None, None),
    (
        "objectives:",
        "sweep: {producers: {rate: [1/s]}}\nobjectives:",
        20,
        "sweep.producers",
        "must be a list of values",
        "{rate: [1/s]}",
        None,
    ),
    ("objectives:", "sweep:\n  repeats: [1, 2]\nobjectives:", 21, "sweep.repeats", "cannot be swept", None, None),
    (
        "objectives:",
        "sweep:\n  producers.rat: [1/s, 2/s]\nobjectives:",
        21,
        "producers.rat",
        "is not a field",
        None,
        "rate",
    ),
    (
        "objectives:",
        "sweep:\n  producers.rate: [1/s,\n    quick]\nobjectives:",
        22,
        "producers.rate",
        "must be a rate",
        "quick",
        None,
    ),
    ("objectives:", "sweep:\n  broker.x: []\nobjectives:", 21, "sweep.broker.x", "has no values", None, None),
    (
        "objectives:",
        "sweep:\n  durability.x: [1]\nobjectives:",
        21,
        "sweep.durability.x",
        "has no fields of its own",
        None,
        None,
    ),
    (
        "objectives:",
        "broker_settings:\n  able:\n    flish: 1\nobjectives:",
        22,
        "broker_settings.able.flish",
        "no such setting",
        "1",
        None,
    ),
    (
        "objectives:",
        "client_settings:\n  abel: {x: 1}\nobjectives:",
        21,
        "client_settings.abel",
        "no broker is called",
        None,
        None,
    ),
    (
        "objectives:",
        "broker_settings: {able: {threads: [1]}}\nobjectives:",
        20,
        "broker_settings.able.threads",
        "must be text, a number",
        "[1]",
        None,
    ),
]


@pytest.mark.parametrize(("old", "new", "line", "field", "message", "value", "nearest"), CHANGES)
def test_each_kind_of_problem_names_its_line_and_field(problems_of, old, new, line, field, message, value, nearest):
    assert old in GOOD
    (problem,) = problems_of(GOOD.replace(old, new, 1))
    assert (problem.line, problem.field) == (line, field)
    assert message in problem.message
    assert (problem.value, problem.nearest) == (value, nearest)


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("  partitions: 2", "  partitions: 3", 9, "destinations.partitions", "plain has no partitions"),
        ("  groups: 1", "  groups: 2", 15, "consumers.groups", "plain delivers a message to one group only"),
        ("  per_group: 1", "  per_group: 2", 16, "consumers.per_group", "plain cannot share"),
        ("  per_group: 1", "  start: after_backlog", 16, "consumers.start", "plain keeps no messages"),
        ("  per_group: 1", "  acknowledge: each", 16, "consumers.acknowledge", "one by one"),
        ("  nodes: 1", "  nodes: 3", 5, "cluster.nodes", "plain runs with 1 node here"),
    ],
)
def test_what_the_broker_cannot_do_is_refused(problems_of, old, new, line, field, message):
    text = GOOD.replace("broker: able", "broker: plain").replace("partitions: 2", "partitions: 1")
    (problem,) = problems_of(text.replace(old.replace("partitions: 2", "partitions: 1"), new))
    assert (problem.line, problem.field) == (line, field)
    assert message in problem.message


def test_a_backlog_needs_somebody_to_receive_it(problems_of):
    text = GOOD.replace("  groups: 1", "  groups: 0\n  start: after_backlog").replace("lost == 0", "rejected == 0")
    (problem,) = problems_of(text)
    assert (problem.line, problem.field, problem.value) == (16, "consumers.start", "after_backlog")
    assert "groups is 0" in problem.message


def test_problems_of_every_kind_are_reported_together_in_the_order_of_the_file(problems_of):
    text = (
        GOOD.replace("nodes: 1", "nodes: 7").replace("rate: 100/s", "rate: quick").replace("measure: 1s", "mesure: 1s")
    )
    text = text.replace("groups: 1", "groups: 1\n  start: after_backlog").replace(
        "broker: able", "brokers: [able, plain]"
    )
    found = [(p.line, p.field) for p in problems_of(text, overrides=["seeed=3", "cluster.nodes.x=2"])]
    assert found == [
        (5, "cluster.nodes"),
        (5, "cluster.nodes"),
        (9, "destinations.partitions"),
        (12, "producers.rate"),
        (16, "consumers.start"),
        (18, "phases.measure"),
        (20, "phases.mesure"),
        (0, "cluster.nodes.x"),
        (0, "seeed"),
    ]


def test_what_the_broker_finds_itself_stands_at_the_field_it_names(problems_of):
    found = problems_of(GOOD + "broker_settings: {able: {threads: 0}}\n")
    assert [(p.line, p.field, p.message) for p in found] == [
        (6, "durability", "able: never without threads"),
    ]


def test_a_problem_reads_like_a_compilers(problems_of):
    (problem,) = problems_of(GOOD.replace("rate: 100/s", "rate: fast"))
    assert str(problem).endswith(
        "w.yaml:12: producers.rate: must be a rate such as 20_000/s, 20k/s or 1M/s (got 'fast')"
    )


@pytest.mark.parametrize(
    ("override", "field", "message"),
    [
        ("producers.rate=fast", "producers.rate", "must be a rate"),
        ("producers.raet=1/s", "producers.raet", "is not a field"),
        ("producers.rate", "producers.rate", "must be path=value"),
        ("producers..rate=1/s", "producers..rate", "names joined by dots"),
        ("producers.message.size=1KiB", "producers.message.size", "has no fields of its own"),
        ("cluster.nodes=[1", "cluster.nodes", "cannot be read as YAML"),
        ("cluster.nodes=4", "cluster.nodes", "able runs with 1 or 3 nodes"),
    ],
)
def test_a_problem_of_an_override_names_the_flag(problems_of, override, field, message):
    (problem,) = problems_of(GOOD, overrides=[override])
    assert (problem.file, problem.line, problem.field) == (f"--set {override}", 0, field)
    assert message in problem.message


def test_problems_of_other_flags_name_them(problems_of):
    (problem,) = problems_of(GOOD, brokers=["abel"])
    assert (problem.file, problem.line) == ("--broker abel", 0)
    (problem,) = problems_of(GOOD, repeats=0)
    assert (problem.file, problem.line, problem.field) == ("--repeats 0", 0, "repeats")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("name: a\nbrokers: [kafka\nquestion: b\n", 3, ""),
        ("- a\n- b\n", 1, "must have fields"),
        ("", 1, "must have fields"),
        ("a: \x01", 1, ""),
    ],
)
def test_what_is_no_yaml_mapping_is_one_problem(problems_of, text, line, message):
    (problem,) = problems_of(text)
    assert problem.line == line
    assert message in problem.message


def test_too_many_combinations_are_refused(problems_of):
    values = ", ".join(f"{i}/s" for i in range(1, 40))
    text = GOOD + f"sweep:\n  producers.rate: [{values}]\n  seeds: [1]\n  producers.window: [{values}]\n"
    assert "makes 1,521 combinations; at most 500 are run" in "\n".join(map(str, problems_of(text)))


FAULTY = """
name: f
question: q?
broker: {broker}
cluster: {{nodes: {nodes}}}
durability: {level}
producers: {{rate: 10/s}}
phases: {{measure: 10s}}
faults:
  - {{kill: leader, at: {at}}}
"""


@pytest.mark.parametrize(
    ("broker", "nodes", "level", "at", "endpoints", "said"),
    [
        ("plain", 1, "L4", "5s", {}, "plain with 1 node cannot lose it for good: set restart_after, to start it again"),
        (
            "able",
            1,
            "L4",
            "5s",
            {},
            "cannot lose it for good: set restart_after, to start it again, or set cluster.nodes to 3",
        ),
        (
            "kafka",
            3,
            "L1",
            "5s, restart_after: 1s",
            {},
            "kafka cannot start a killed node again here: leave restart_after out",
        ),
        ("kafka", 1, "L4", "5s", {}, "kafka with 1 node cannot lose it for good: set cluster.nodes to 3"),
        (
            "able",
            3,
            "L1",
            "5s",
            {"able": Endpoint(addresses=("h:1",))},
            "only nodes of a cluster started here can be killed",
        ),
        ("able", 3, "L1", "10s", {}, "faults[0].at: must be before the end of measure (10 s)"),
        ("able", 3, "L1", "5", {}, "faults[0].at: must be a duration"),
        ("able", 3, "L1", "5s, kil: x", {}, "faults[0].kil: is not a field; did you mean 'kill'?"),
        ("able", 3, "L1", "5s, restart_after: -1s", {}, "faults[0].restart_after: must be"),
        ("able", 3, "L1", "5s, restart_after: 2", {}, "faults[0].restart_after: must be a duration"),
        ("able", 3, "L1", "5s, restart_afer: 2s", {}, "did you mean 'restart_after'?"),
        (
            "able",
            3,
            "L1",
            "5s, restart_after: 5s",
            {},
            "faults[0].restart_after: must be less than 5 s: it counts from `at`, and measure ends at 10 s",
        ),
        (
            "able",
            3,
            "L1",
            "5s, restart_after: 1s",
            {"able": Endpoint(addresses=("h:1",))},
            "only nodes of a cluster started here can be killed",
        ),
    ],
)
def test_a_fault_that_cannot_be_made_is_refused(written, broker_named, broker, nodes, level, at, endpoints, said):
    file = written(FAULTY.format(broker=broker, nodes=nodes, level=level, at=at))
    with pytest.raises(WorkloadError) as caught:
        plan_workload(file, endpoints=endpoints, broker_named=broker_named)
    assert said in str(caught.value)
    assert "w.yaml:" in str(caught.value)


def test_killing_every_node_or_one_node_twice_is_refused(written, broker_named):
    kills = "\n".join(f"  - {{kill: {name}, at: 1s}}" for name in ("able-1", "able-1", "leader"))
    text = FAULTY.format(broker="able", nodes=3, level="L1", at="5s").partition("  - {")[0] + kills
    with pytest.raises(WorkloadError) as caught:
        plan_workload(written(text), broker_named=broker_named)
    assert "names a node that is dead by then" in str(caught.value)
    assert "must leave a node alive: 3 of 3 nodes would be dead at once" in str(caught.value)


@pytest.mark.parametrize(
    ("nodes", "kills", "said"),
    [
        (1, ["kill: follower, at: 1s, restart_after: 1s"], "able with 1 node has no follower: kill leader"),
        (1, ["kill: leader, at: 1s, restart_after: 3s", "kill: able-1, at: 3s, restart_after: 1s"], "must be started again before it is killed again"),
        (1, ["kill: leader, at: 1s, restart_after: 1s", "kill: leader, at: 5s"], "cannot lose it for good"),
        (3, ["kill: able-1, at: 1s, restart_after: 3s", "kill: able-1, at: 3s"], "faults[1].kill: names a node that is dead by then"),
        (3, ["kill: able-1, at: 3s", "kill: able-2, at: 1s", "kill: able-3, at: 2s, restart_after: 2s"], "3 of 3 nodes would be dead at once"),
        (1, ["kill: leader, at: 1s, restart_after: 2s", "kill: able-1, at: 4s, restart_after: 0s"], None),
        (1, ["kill: leader, at: 1s, restart_after: 2s", "kill: leader, at: 3s, restart_after: 1s"], "must be started again before it is killed again"),
        (3, ["kill: able-1, at: 3s", "kill: able-1, at: 1s, restart_after: 1s"], None),
        (3, [f"kill: able-{i}, at: {i}s, restart_after: 1s" for i in (1, 2, 3)], None),
    ],
)  # fmt: skip
def test_only_nodes_that_are_alive_are_killed_and_one_stays_or_comes_back(written, broker_named, nodes, kills, said):
    text = FAULTY.format(broker="able", nodes=nodes, level="L4" if nodes == 1 else "L1", at="5s").partition("  - {")[0]
    file = written(text + "\n".join(f"  - {{{kill}}}" for kill in kills))
    if said is None:
        assert len(plan_workload(file, broker_named=broker_named).cells[0].faults) == len(kills)
        return
    with pytest.raises(WorkloadError) as caught:
        plan_workload(file, broker_named=broker_named)
    assert said in str(caught.value)
