"""A group on its streams: made if nobody made it, pulled from, asked what remains. The same for both paths."""

from __future__ import annotations

import json

from brokerlab.brokers.nats.admin import consumer_config
from brokerlab.brokers.nats.link import JetStreamError, Link
from brokerlab.model.plan import AgentPlan

PULL_EXPIRES_NS = 30_000_000_000
PULL_HEARTBEAT_NS = 1_000_000_000  # a pull that dies with its leader is known by its silence
CONSUMER_NOT_FOUND = 10014
STANDARD_ACK_WAIT_NS = 30_000_000_000


def ensure_group(link: Link, stream: str, group: str, plan: AgentPlan) -> str:
    """The group's acknowledgement policy; a group nobody made begins with the oldest message."""
    assert plan.consumers is not None
    try:
        info = link.api(f"CONSUMER.INFO.{stream}.{group}")
    except JetStreamError as e:
        if e.err_code != CONSUMER_NOT_FOUND:
            raise
        policy = "none" if plan.consumers.acknowledge == "automatic" else "explicit"
        config = consumer_config(group, policy, STANDARD_ACK_WAIT_NS)
        request = {"stream_name": stream, "config": config}
        info = link.api(f"CONSUMER.DURABLE.CREATE.{stream}.{group}", request)
    return str(info["config"]["ack_policy"])


def pull_subject(stream: str, group: str) -> str:
    return f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{group}"


def pull_request(messages: int) -> bytes:
    """What asks for the next so many messages, as they come."""
    request = {"batch": messages, "expires": PULL_EXPIRES_NS, "idle_heartbeat": PULL_HEARTBEAT_NS}
    return json.dumps(request).encode()


def left_in_group(link: Link, streams: list[str], group: str) -> int:
    """Messages not delivered yet, and delivered ones not acknowledged."""
    left = 0
    for stream in streams:
        info = link.api(f"CONSUMER.INFO.{stream}.{group}")
        left += int(info["num_pending"]) + int(info["num_ack_pending"])
    return left
