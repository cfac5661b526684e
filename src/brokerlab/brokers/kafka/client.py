"""The client's configuration, as librdkafka properties: one place for the Python driver and the native one."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.kafka.security import client_properties
from brokerlab.brokers.kafka.settings import CONSUMER_SETTINGS, PRODUCER_SETTINGS, SHARED_SETTINGS, wanted_acks
from brokerlab.model.plan import AgentPlan, Endpoint

_MOST_KBYTES = "2147483647"
COMMIT_INTERVAL = "auto.commit.interval.ms"
_COMMIT_EVERY_MS = "100"  # a commit is a write to Kafka too
NEVER_NS = 1 << 62


def window(plan: AgentPlan) -> int:
    """Most messages a producer may have unacknowledged: where a driver stops taking."""
    assert plan.producers is not None
    return max(plan.producers.schedule.window or 0, plan.producers.window_limit)


def commit_every_ns(plan: AgentPlan) -> int:
    """How often a consumer commits positions while it reads, whoever asks for it: at every receive where each message is
    acknowledged; otherwise after `auto.commit.interval.ms`, of which 0 means not before it closes, as in librdkafka."""
    assert plan.consumers is not None
    if plan.consumers.acknowledge == "each":
        return 0
    return int(plan.client_settings.get(COMMIT_INTERVAL, _COMMIT_EVERY_MS)) * 1_000_000 or NEVER_NS


def producer_properties(plan: AgentPlan) -> dict[str, str]:
    """Properties of one producer. acks follows the cell's durability unless the client settings say otherwise.

    Nothing is retried by drivers; librdkafka itself retries what is safe to retry until the send timeout. Idempotence
    is on only when asked for, so a retry after a lost connection may store a message twice, as with any such client.
    """
    assert plan.producers is not None
    return {
        **_connection(plan),
        "linger.ms": "5",
        "message.timeout.ms": str(max(int(plan.producers.send_timeout_s * 1000), 10)),
        # The count is the limit, never the bytes: drivers stop at `window` themselves, so the queue is never full.
        "queue.buffering.max.messages": str(window(plan) + 1),
        "queue.buffering.max.kbytes": _MOST_KBYTES,
        **_own(plan, PRODUCER_SETTINGS),
        "acks": wanted_acks(plan.durability, plan.client_settings),
    }


def consumer_properties(plan: AgentPlan) -> dict[str, str]:
    """Properties of one consumer of the plan's group; positions begin at the start of each partition."""
    assert plan.consumers is not None
    assert plan.group is not None
    automatic = plan.consumers.acknowledge == "automatic"
    return {
        **_connection(plan),
        "group.id": plan.group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "true" if automatic else "false",
        COMMIT_INTERVAL: _COMMIT_EVERY_MS,
        # `range` would give all one-partition topics to the first consumer.
        "partition.assignment.strategy": "roundrobin",
        # The default of 1000 ms leaves a fast consumer without messages whenever its queue was full for a moment.
        "fetch.queue.backoff.ms": "5",
        **_own(plan, CONSUMER_SETTINGS),
    }


def marker_properties(plan: AgentPlan) -> dict[str, str]:
    """Properties of a producer that a consumer has for itself: as safe as the cell's own, and never waiting for more."""
    return {
        **_connection(plan),
        "log_level": "0",  # what goes wrong reaches the consumer as an outcome
        "linger.ms": "0",
        "queue.buffering.max.messages": "10000000",
        "queue.buffering.max.kbytes": _MOST_KBYTES,
        "acks": wanted_acks(plan.durability, plan.client_settings),
    }


def admin_properties(endpoint: Endpoint, client_settings: Mapping[str, str]) -> dict[str, str]:
    """Properties of an administrative client: where and how to connect, nothing else."""
    security = {n: v for n, v in client_settings.items() if n.startswith(("security.", "ssl.", "sasl."))}
    return {
        "bootstrap.servers": ",".join(endpoint.addresses),
        "client.id": "brokerlab-admin",
        "log_level": "0",  # what goes wrong is raised; nodes that start and stop are no news
        **endpoint.options,
        **client_properties(endpoint.security),
        **security,
    }


def _connection(plan: AgentPlan) -> dict[str, str]:
    return {
        "bootstrap.servers": ",".join(plan.endpoint.addresses),
        "client.id": plan.agent,
        "allow.auto.create.topics": "false",
        **plan.endpoint.options,
        **client_properties(plan.endpoint.security),
    }


def _own(plan: AgentPlan, role: frozenset[str]) -> dict[str, str]:
    """The workload's client settings that concern this role; acks are normalised elsewhere."""
    names = (role | SHARED_SETTINGS) - {"acks", "request.required.acks"}
    return {name: value for name, value in plan.client_settings.items() if name in names}
