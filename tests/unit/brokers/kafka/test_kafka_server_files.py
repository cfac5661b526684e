from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from brokerlab.brokers.contract import Reading
from brokerlab.brokers.kafka.metrics import METRICS
from brokerlab.brokers.kafka.probe import READABLE
from brokerlab.brokers.kafka.server import (
    NodeLayout,
    java_command,
    jvm_size,
    meta_properties,
    new_id,
    server_properties,
)
from brokerlab.brokers.kit.jolokia import AgentAndJars, policy, readings_of
from brokerlab.model.watched import Bean

NODES = [NodeLayout(i, 9000 + i, 9100 + i, 9200 + i, Path(f"/data/kafka-{i}")) for i in (1, 2, 3)]


def properties(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


def test_every_listener_is_on_loopback_and_internal_topics_are_replicated() -> None:
    made = properties(server_properties(NODES[1], NODES, {}))
    assert made["listeners"] == "PLAINTEXT://127.0.0.1:9002,CONTROLLER://127.0.0.1:9102"
    assert made["controller.quorum.voters"] == "1@127.0.0.1:9101,2@127.0.0.1:9102,3@127.0.0.1:9103"
    assert made["offsets.topic.replication.factor"] == "3"
    assert properties(server_properties(NODES[0], NODES[:1], {}))["offsets.topic.replication.factor"] == "1"


def test_of_many_nodes_the_first_three_are_controllers_and_the_rest_brokers_only() -> None:
    nine = [NodeLayout(i, 9000 + i, 9100 + i, 9200 + i, Path(f"/data/kafka-{i}")) for i in range(1, 10)]
    made = [properties(server_properties(node, nine, {})) for node in nine]
    assert [m["process.roles"] for m in made] == ["broker,controller"] * 3 + ["broker"] * 6
    assert {m["controller.quorum.voters"] for m in made} == {"1@127.0.0.1:9101,2@127.0.0.1:9102,3@127.0.0.1:9103"}
    assert made[8]["listeners"] == "PLAINTEXT://127.0.0.1:9009"
    assert made[8]["log.cleaner.dedupe.buffer.size"] == "8388608"
    assert made[8]["offsets.topic.replication.factor"] == "3"
    assert jvm_size(9).heap_mb == 192
    assert jvm_size(9).collector == ("-XX:+UseSerialGC",)


def test_a_heap_and_a_collector_of_the_workload_take_the_place_of_ours() -> None:
    jars = AgentAndJars(Path("agent.jar"), (Path("kafka.jar"),))
    ours = java_command(Path("java"), jars, NODES[0], jvm_size(3))
    assert {"-Xms512m", "-Xmx512m", "-XX:+UseG1GC"} <= set(ours)
    own = ["-Xmx2g", "-XX:+UseZGC", "-XX:TieredStopAtLevel=1"]
    theirs = java_command(Path("java"), jars, NODES[0], jvm_size(3), own=own)
    assert set(own) <= set(theirs)
    assert not {"-Xms512m", "-Xmx512m", "-XX:+UseG1GC"} & set(theirs)


def test_every_listener_speaks_the_protocol_asked_for() -> None:
    made = properties(server_properties(NODES[0], NODES, {}, "SASL_SSL", {"ssl.keystore.type": "PEM"}))
    assert made["listeners"] == "SASL_SSL://127.0.0.1:9001,CONTROLLER://127.0.0.1:9101"
    assert made["listener.security.protocol.map"] == "SASL_SSL:SASL_SSL,CONTROLLER:SASL_SSL"
    assert made["inter.broker.listener.name"] == "SASL_SSL"
    assert made["ssl.keystore.type"] == "PEM"


def test_the_workloads_server_settings_win() -> None:
    made = properties(server_properties(NODES[0], NODES, {"num.io.threads": "2", "broker.session.timeout.ms": "9"}))
    assert (made["num.io.threads"], made["broker.session.timeout.ms"]) == ("2", "9")


def test_each_data_directory_gets_its_own_id_within_one_cluster() -> None:
    first, second = (properties(meta_properties(node, "the-cluster")) for node in NODES[:2])
    assert first["cluster.id"] == second["cluster.id"] == "the-cluster"
    assert (first["node.id"], second["node.id"]) == ("1", "2")
    assert first["directory.id"] != second["directory.id"]
    assert all(len(new_id()) == 22 and not new_id().startswith("-") for _ in range(200))


def test_the_policy_allows_reading_what_the_probe_asks_for_and_no_command() -> None:
    root = ElementTree.fromstring(policy(READABLE).encode())
    commands = root.find("commands")
    assert commands is not None
    assert list(commands) == []
    allowed = {
        (bean.findtext("name"), attribute.text)
        for bean in root.iterfind("allow/mbean")
        for attribute in bean.iterfind("attribute[@mode='read']")
    }
    beans = [row.source for row in METRICS if isinstance(row.source, Bean)]
    assert allowed == {(bean.name, bean.attribute) for bean in beans}
    assert list(root.iterfind("allow/mbean/operation")) == []


def test_answers_become_readings_and_beans_that_are_not_there_give_none() -> None:
    answers = [
        {
            "status": 200,
            "request": {"mbean": "java.lang:type=Memory"},
            "value": {"HeapMemoryUsage": {"used": 5, "committed": 9, "max": 10}},
        },
        {
            "status": 200,
            "request": {"mbean": "java.lang:name=*,type=GarbageCollector"},
            "value": {
                "a": {"CollectionCount": 2, "CollectionTime": 30},
                "b": {"CollectionCount": 1, "CollectionTime": 5},
            },
        },
        {"status": 404, "request": {"mbean": "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions"}},
        {
            "status": 200,
            "request": {"mbean": "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce"},
            "value": {"Count": 4, "Mean": "NaN", "99thPercentile": 1.5},
        },
    ]
    assert set(readings_of("kafka-1", METRICS, answers)) == {
        Reading("jvm:kafka-1", "gc_count_total", 3.0, "1"),
        Reading("jvm:kafka-1", "gc_time_seconds_total", 0.035, "s"),
        Reading("jvm:kafka-1", "heap_used_bytes", 5.0, "B"),
        Reading("jvm:kafka-1", "heap_committed_bytes", 9.0, "B"),
        Reading("broker:kafka-1", "produce_requests_total", 4.0, "1"),
        Reading("broker:kafka-1", "produce_request_time_p99_ms", 1.5, "ms"),
    }


def test_a_node_behind_a_link_listens_at_its_own_port_and_sends_others_to_the_link() -> None:
    made = properties(server_properties(NODES[0], NODES, {}, advertised_port=4))
    assert made["advertised.listeners"] == "PLAINTEXT://127.0.0.1:4"
    assert f"PLAINTEXT://127.0.0.1:{NODES[0].client_port}" in made["listeners"]
