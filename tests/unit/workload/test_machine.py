"""What a workload asks of the machine: planned where it can be had, refused with the line where it cannot."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from brokerlab.errors import MachineError, WorkloadError
from brokerlab.machine.cgroups import Place
from brokerlab.model.plan import Endpoint, MachinePlan
from brokerlab.workload import machine
from brokerlab.workload.load import plan_workload

HERE = sorted(os.sched_getaffinity(0))
SMALL = """\
name: small
question: Where does it run?
broker: able
producers: {rate: 100/s}
consumers: {groups: 1}
phases: {measure: 1s}
"""


@pytest.fixture
def plan(written, broker_named):
    return lambda text, **given: plan_workload(written(text), broker_named=broker_named, **given)


@pytest.fixture
def said(plan):
    def said(text: str, **given) -> list[str]:
        with pytest.raises(WorkloadError) as caught:
            plan(text, **given)
        return [f"{p.line} {p.field}: {p.message}" for p in caught.value.problems]

    return said


@pytest.fixture(autouse=True)
def _groups_can_be_made(monkeypatch):
    monkeypatch.setattr(machine, "place_of", lambda _kind: None)


def test_nothing_asked_is_the_machine_as_it_is(plan):
    assert plan(SMALL).cells[0].machine == MachinePlan()


def test_cores_and_share_are_planned_and_swept(plan):
    text = SMALL + f"placement: {{nodes: [{HERE[0]}, {HERE[0]}], producers: [{HERE[-1]}]}}\n"
    made = plan(text + "sweep: {cluster.cpu_share_per_node: [0.3, 1]}\n")
    assert [c.machine.cpu_share_per_node for c in made.cells] == [0.3, 1]
    assert made.cells[0].machine.node_cores == (HERE[0],)
    assert made.cells[0].machine.producer_cores == (HERE[-1],)
    assert made.cells[0].cluster_key() is None


def test_kept_clusters_differ_where_nodes_are_held_to_something_else(plan):
    made = plan(
        SMALL + "cluster: {kept: true}\nsweep: {cluster.cpu_share_per_node: [0.3, 1], producers.rate: [1/s, 2/s]}\n"
    )
    assert len({c.cluster_key() for c in made.cells}) == 2
    agents = plan(SMALL + f"cluster: {{kept: true}}\nsweep: {{placement: [null, {{producers: [{HERE[0]}]}}]}}\n")
    assert len({c.cluster_key() for c in agents.cells}) == 1


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("placement: {nodes: [999]}", f"7 placement.nodes[0]: must be a core that this command may use: {', '.join(map(str, HERE))}"),
        ("placement: {nodes: []}", "7 placement.nodes: must not be empty"),
        ("placement: {node: [0]}", "7 placement.node: is not a field"),
        ("cluster: {cpu_share_per_node: 0.05}", "7 cluster.cpu_share_per_node: must be at least 0.1"),
        ("cluster: {link_cap: 30}", "7 cluster.link_cap: must be bytes a second such as 30MB/s or 512KiB/s"),
        ("cluster: {link_cap: 1GB/s}", "7 cluster.link_cap: must be at most 500,000,000"),
        ("cluster: {cpu_share_per_node: 1000}", f"7 cluster.cpu_share_per_node: must be at most the {len(HERE)} processors"),
    ],
)  # fmt: skip
def test_what_is_impossible_is_refused_with_its_line(said, more, expected):
    (found,) = said(SMALL + more + "\n")
    assert found.startswith(expected)


def test_consumers_that_do_not_exist_cannot_be_placed(said):
    (found,) = said(SMALL.replace("consumers: {groups: 1}\n", "") + f"placement: {{consumers: [{HERE[0]}]}}\n")
    assert found == "6 placement.consumers: places consumers, and this workload has none"


def test_without_control_groups_a_share_is_refused_with_the_reason(said, monkeypatch):
    def impossible(_kind):
        raise MachineError("a CPU share per node is not possible on this machine: no control groups are mounted")

    monkeypatch.setattr(machine, "place_of", impossible)
    (found,) = said(SMALL + "cluster: {cpu_share_per_node: 0.3}\n")
    assert found.endswith("not possible on this machine: no control groups are mounted")


def test_a_link_is_capped_only_where_clients_cannot_find_another_way(plan, said, broker_named, monkeypatch):
    able = broker_named("able")
    (found,) = said(SMALL + "cluster: {link_cap: 30MB/s}\n")
    assert found == "7 cluster.link_cap: clients of able find their way to the nodes beside a capped link: leave it out"
    monkeypatch.setattr(able, "capabilities", replace(able.capabilities, link_cap=(1,)))
    assert plan(SMALL + "cluster: {link_cap: 30MB/s}\n").cells[0].machine.link_bytes_per_s == 30_000_000
    (found,) = said(SMALL + "cluster: {link_cap: 30MB/s, nodes: 3}\ndurability: L2\n")
    assert "clients of able with 3 nodes find their way" in found


@pytest.mark.parametrize(("version", "level", "refused"), [(1, "L4", True), (1, "L3", False), (2, "L4", False)])
def test_a_disk_cap_that_would_not_hold_is_refused(plan, said, monkeypatch, version, level, refused):
    monkeypatch.setattr(machine, "place_of", lambda _kind: Place(Path("/"), version))
    text = SMALL + f"cluster: {{disk_write_cap: 30MB/s}}\ndurability: {level}\n"
    if refused:
        (found,) = said(text)
        assert "7 cluster.disk_write_cap: with control groups of version 1" in found
        assert found.endswith("durability must be L1 or L3, and is L4")
    else:
        assert plan(text).cells[0].machine.disk_write_bytes_per_s == 30_000_000


def test_a_memory_limit_reaches_the_plan_and_is_at_most_what_there_is(plan, said):
    (cell,) = plan(SMALL + "cluster: {memory_limit_per_node: 512MiB}\n").cells
    assert cell.machine.memory_limit_bytes_per_node == 512 << 20
    assert "MB of memory for each node, cached files included" in cell.machine.words()
    (found,) = said(SMALL + "cluster: {memory_limit_per_node: 900000GB}\n")
    assert found.startswith("7 cluster.memory_limit_per_node: must be at most the ")
    (found,) = said(SMALL + "cluster: {memory_limit_per_node: 1kB}\n")
    assert "must be at least" in found


def test_an_fsync_floor_reaches_the_plan_and_is_named(plan, said):
    (cell,) = plan(SMALL + "cluster: {fsync_floor: 2ms}\n").cells
    assert cell.machine.fsync_floor_ns == 2_000_000
    assert "each fsync of a node takes at least 2 ms" in cell.machine.words()
    (found,) = said(SMALL + "cluster: {fsync_floor: 20s}\n")
    assert "must be at most 10" in found


def test_a_cold_backlog_needs_a_backlog(plan, said):
    backlog = SMALL.replace("{groups: 1}", "{groups: 1, start: after_backlog, page_cache: dropped}")
    assert plan(backlog).cells[0].machine.drop_page_cache
    (found,) = said(SMALL.replace("{groups: 1}", "{groups: 1, page_cache: dropped}"))
    assert (
        found
        == "5 consumers.page_cache: dropped is for a backlog: set start to after_backlog, {after: ...} or {backlog: ...}"
    )


def test_ceilings_are_the_whole_run_s(plan, said):
    assert plan(SMALL + "ceilings: true\n").ceilings
    assert plan(SMALL + "ceilings: true\n").fingerprint != plan(SMALL).fingerprint
    (found,) = said(SMALL + "sweep: {ceilings: [true, false]}\n")
    assert "ceilings cannot be swept" in found


def test_nodes_of_a_broker_the_user_runs_are_left_alone(said):
    text = SMALL + f"cluster: {{cpu_share_per_node: 0.3}}\nplacement: {{nodes: [{HERE[0]}], producers: [{HERE[0]}]}}\n"
    found = said(text, endpoints={"able": Endpoint(addresses=("127.0.0.1:1",))})
    assert [f.partition(":")[0] for f in found] == ["7 cluster.cpu_share_per_node", "8 placement.nodes"]
