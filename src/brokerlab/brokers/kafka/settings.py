"""Kafka's settings as pure functions: a durability level to settings, settings read back to a level, and the names a
workload may set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from brokerlab.brokers.contract import CellProblem, ComputedDurability
from brokerlab.brokers.kit.durability import level_of
from brokerlab.brokers.kit.jvm_options import JVM_OPTIONS, JVM_SETTING
from brokerlab.brokers.kit.names import names
from brokerlab.brokers.kit.setting_checks import one_of, unknown_names
from brokerlab.model.plan import CellPlan, Durability

# Where clients are sent: a way to put something between them and the server.
ADVERTISED_SETTING = "advertised.listeners"
# Ours, not Kafka's: every JVM also answers remote JMX, on loopback and without a login, for tools that read nothing else.
JMX_SETTING = "jmx.remote"
_OF_THE_JVM = frozenset({JMX_SETTING, JVM_SETTING})
REPLICATION_SETTING = "default.replication.factor"  # topics are created with this many replicas

# What a workload may set as broker_settings. A name that is a topic's goes to the topics, the rest to the servers.
TOPIC_SETTINGS = names("""
    cleanup.policy compression.gzip.level compression.lz4.level compression.type compression.zstd.level
    delete.retention.ms file.delete.delay.ms flush.messages flush.ms index.interval.bytes max.compaction.lag.ms
    max.message.bytes message.timestamp.after.max.ms message.timestamp.before.max.ms message.timestamp.type
    min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas preallocate retention.bytes retention.ms
    segment.bytes segment.index.bytes segment.jitter.ms segment.ms unclean.leader.election.enable
""")
SERVER_SETTINGS = names("""
    advertised.listeners auto.leader.rebalance.enable background.threads broker.heartbeat.interval.ms
    broker.session.timeout.ms connections.max.idle.ms default.replication.factor fetch.max.bytes
    fetch.purgatory.purge.interval.requests group.initial.rebalance.delay.ms group.max.session.timeout.ms
    group.min.session.timeout.ms leader.imbalance.check.interval.seconds log.cleaner.backoff.ms
    log.cleaner.dedupe.buffer.size log.cleaner.enable log.cleaner.threads log.flush.interval.messages
    log.flush.interval.ms log.flush.offset.checkpoint.interval.ms log.flush.scheduler.interval.ms
    log.flush.start.offset.checkpoint.interval.ms log.index.interval.bytes log.index.size.max.bytes
    log.message.timestamp.type log.preallocate log.retention.bytes log.retention.check.interval.ms log.retention.ms
    log.roll.ms log.segment.bytes log.segment.delete.delay.ms max.connections max.connections.per.ip message.max.bytes
    num.io.threads num.network.threads num.recovery.threads.per.data.dir num.replica.fetchers
    offsets.commit.timeout.ms offsets.load.buffer.size producer.purgatory.purge.interval.requests
    queued.max.request.bytes queued.max.requests replica.fetch.backoff.ms replica.fetch.max.bytes
    replica.fetch.min.bytes replica.fetch.response.max.bytes replica.fetch.wait.max.ms
    replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms replica.socket.receive.buffer.bytes
    replica.socket.timeout.ms request.timeout.ms socket.listen.backlog.size socket.receive.buffer.bytes
    socket.request.max.bytes socket.send.buffer.bytes
""")
_ACKS_NAMES = ("acks", "request.required.acks")
# Names of librdkafka, which both driver paths stand on.
PRODUCER_SETTINGS = names("""
    acks batch.num.messages batch.size compression.codec compression.level compression.type enable.gapless.guarantee
    enable.idempotence linger.ms message.send.max.retries queue.buffering.backpressure.threshold
    queue.buffering.max.ms request.required.acks request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms
    sticky.partitioning.linger.ms
""")
CONSUMER_SETTINGS = names("""
    auto.commit.interval.ms check.crcs fetch.error.backoff.ms fetch.max.bytes fetch.message.max.bytes fetch.min.bytes
    fetch.queue.backoff.ms fetch.wait.max.ms group.protocol heartbeat.interval.ms isolation.level
    max.partition.fetch.bytes max.poll.interval.ms partition.assignment.strategy queued.max.messages.kbytes
    queued.min.messages session.timeout.ms
""")
SHARED_SETTINGS = names("""
    broker.address.family broker.address.ttl client.rack connections.max.idle.ms debug max.in.flight
    max.in.flight.requests.per.connection message.copy.max.bytes message.max.bytes metadata.max.age.ms
    receive.message.max.bytes reconnect.backoff.max.ms reconnect.backoff.ms sasl.mechanism security.protocol
    socket.connection.setup.timeout.ms socket.keepalive.enable socket.max.fails socket.nagle.disable
    socket.receive.buffer.bytes socket.send.buffer.bytes socket.timeout.ms ssl.ca.location ssl.certificate.location
    ssl.endpoint.identification.algorithm ssl.key.location
""")
# Ours to decide, with the workload field to use instead.
DECIDED_ELSEWHERE = {
    "auto.offset.reset": "consumers always read from the beginning of their run's destinations",
    "bootstrap.servers": "use endpoint",
    "client.id": "it is the agent's name",
    "enable.auto.commit": "use consumers.acknowledge",
    "group.id": "use consumers.groups",
    "listeners": "ports are chosen free",
    "log.dirs": "data is kept where runs are kept",
    "message.timeout.ms": "use producers.send_timeout",
    "delivery.timeout.ms": "use producers.send_timeout",
    "node.id": "use cluster size",
    "num.partitions": "use destinations and partitions",
    "process.roles": "use cluster size",
    "queue.buffering.max.kbytes": "use the producers' window",
    "queue.buffering.max.messages": "use the producers' window",
    "sasl.password": "use security.password, by reference",
    "sasl.username": "use security.user",
}


@dataclass(frozen=True)
class TopicDurability:
    """What a durability level asks of a topic and of its producers."""

    replication_factor: int
    topic: dict[str, str]
    acks: str


LEVELS = {
    Durability.L1: TopicDurability(3, {"min.insync.replicas": "2", "flush.messages": "1"}, "all"),
    Durability.L2: TopicDurability(3, {"min.insync.replicas": "2"}, "all"),
    Durability.L3: TopicDurability(1, {"min.insync.replicas": "1", "flush.messages": "1"}, "all"),
    Durability.L4: TopicDurability(1, {"min.insync.replicas": "1"}, "1"),
}


def wanted_acks(level: Durability, client_settings: Mapping[str, str]) -> str:
    """The acknowledgement producers ask for, as "all", "1" or "0": the level's, unless the client settings say."""
    given = client_settings.get("acks", client_settings.get("request.required.acks", LEVELS[level].acks))
    return "all" if given in ("-1", "all") else given


def topic_settings(level: Durability, broker_settings: Mapping[str, str]) -> dict[str, str]:
    """Settings of every topic of a cell: the level's, then the workload's own."""
    own = {name: value for name, value in broker_settings.items() if name in TOPIC_SETTINGS}
    return {**LEVELS[level].topic, **own}


def server_settings(broker_settings: Mapping[str, str]) -> dict[str, str]:
    """The part of a workload's broker settings that goes into server.properties."""
    return {name: value for name, value in broker_settings.items() if name not in TOPIC_SETTINGS | _OF_THE_JVM}


def wants_jmx(broker_settings: Mapping[str, str]) -> bool:
    return broker_settings.get(JMX_SETTING) == "true"


def replication_factor(level: Durability, broker_settings: Mapping[str, str]) -> int:
    return int(broker_settings.get(REPLICATION_SETTING, LEVELS[level].replication_factor))


def computed_durability(
    *, replication_factor: int, min_insync_replicas: int, flush_messages: int, acks: str
) -> ComputedDurability:
    """The level that follows from settings, whatever their origin.

    Replicated: an acknowledgement waits for at least two copies. Fsynced: every append is flushed before it is
    answered (`flush.messages` = 1, on followers too, which acks=all waits for). acks=0 promises nothing at all.
    """
    replicated = acks == "all" and replication_factor >= 2 and min_insync_replicas >= 2
    fsynced = acks != "0" and flush_messages <= 1
    because = {
        "acks": acks,
        "replication_factor": str(replication_factor),
        "min.insync.replicas": str(min_insync_replicas),
        "flush.messages": str(flush_messages),
    }
    return ComputedDurability(level_of(replicated=replicated, fsynced=fsynced), because)


def planned_durability(cell: CellPlan) -> ComputedDurability:
    """The level a cell's own settings would give, before any broker is asked."""
    topic = topic_settings(cell.durability, cell.broker_settings)
    flush_default = cell.broker_settings.get("log.flush.interval.messages", str(2**63 - 1))
    return computed_durability(
        replication_factor=replication_factor(cell.durability, cell.broker_settings),
        min_insync_replicas=int(topic["min.insync.replicas"]),
        flush_messages=int(topic.get("flush.messages", flush_default)),
        acks=wanted_acks(cell.durability, cell.client_settings),
    )


def problems(cell: CellPlan) -> list[CellProblem]:
    """Unknown names, with the nearest valid one; names that brokerlab sets itself; impossible values."""
    client_names = PRODUCER_SETTINGS | CONSUMER_SETTINGS | SHARED_SETTINGS
    found = [
        *_name_problems("broker_settings", cell.broker_settings, TOPIC_SETTINGS | SERVER_SETTINGS | _OF_THE_JVM),
        *_name_problems("client_settings", cell.client_settings, client_names),
    ]
    for name in _ACKS_NAMES:
        said = one_of("all", "-1", "1", "0")(cell.client_settings.get(name, "all"))
        if said is not None:
            found.append(CellProblem(("client_settings", name), said, cell.client_settings[name]))
    for name, check in ((JMX_SETTING, one_of("true", "false")), (JVM_SETTING, JVM_OPTIONS)):
        said = check(cell.broker_settings[name]) if name in cell.broker_settings else None
        if said is not None:
            found.append(CellProblem(("broker_settings", name), said, cell.broker_settings[name]))
    interval = cell.client_settings.get("auto.commit.interval.ms", "0")
    if not interval.isdecimal() or int(interval) > 86_400_000:
        said = "must be a whole number of milliseconds, at most 86400000; 0: positions are committed at the end only"
        found.append(CellProblem(("client_settings", "auto.commit.interval.ms"), said, interval))
    if all(name in cell.client_settings for name in _ACKS_NAMES):
        said = "acks and request.required.acks are two names of one setting; give one"
        found.append(CellProblem(("client_settings",), said))
    if ADVERTISED_SETTING in cell.broker_settings and cell.nodes > 1:
        said = f"one address cannot stand for {cell.nodes} nodes"
        found.append(CellProblem(("broker_settings", ADVERTISED_SETTING), said))
    if ADVERTISED_SETTING in cell.broker_settings and cell.machine.link_bytes_per_s is not None:
        said = "cannot be given together with cluster.link_cap, which sends clients to its own address"
        found.append(CellProblem(("broker_settings", ADVERTISED_SETTING), said))
    return found or _number_problems(cell)


def _number_problems(cell: CellPlan) -> list[CellProblem]:
    try:
        planned_durability(cell)
        factor = replication_factor(cell.durability, cell.broker_settings)
    except ValueError as e:
        return [CellProblem(("broker_settings",), f"not a whole number: {e}")]
    if not cell.endpoint and factor > cell.nodes:
        return [CellProblem(("durability",), f"{factor} replicas do not fit on {cell.nodes} node(s)")]
    return []


def _name_problems(field: str, given: Mapping[str, str], known: frozenset[str]) -> list[CellProblem]:
    ours = [
        CellProblem((field, name), f"decided by brokerlab: {why}")
        for name, why in DECIDED_ELSEWHERE.items()
        if name in given
    ]
    return ours + unknown_names(field, sorted(given.keys() - DECIDED_ELSEWHERE.keys()), known)
