"""A group on its streams: made if it does not exist, pulled from, asked what remains. The same for both paths."""

from __future__ import annotations

from brokerlab.brokers.nats.admin import consumer_config
from brokerlab.brokers.nats.link import JetStreamError, Link
from brokerlab.brokers.nats.settings import PULL_BYTES, PULL_MESSAGES
from brokerlab.model.plan import AgentPlan

PULL_EXPIRES_NS = 30_000_000_000
PULL_HEARTBEAT_NS = 1_000_000_000  # a pull that dies with its leader is known by its silence
PULL_REST = f',"expires":{PULL_EXPIRES_NS},"idle_heartbeat":{PULL_HEARTBEAT_NS}}}'  # of a request, behind its size
CONSUMER_NOT_FOUND = 10014
STANDARD_ACK_WAIT_NS = 30_000_000_000
PULL_FIRST = 1000  # messages, before their size is known
FRAME_BYTES = 32  # of a frame, besides its subjects and its content, about
SIZED_MOST = 1 << 16  # messages over which the mean size is taken


def ensure_group(link: Link, stream: str, group: str, plan: AgentPlan) -> str:
    """The group's acknowledgement policy; a group that does not exist is made and begins with the oldest message."""
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
    return f'{{"batch":{messages}{PULL_REST}'.encode()


class PullSize:
    """How many messages the open pulls of a stream may bring: as many as wanted, but no more bytes than a server keeps
    for a client that does not read. The same as native/nats_consumer.c does."""

    def __init__(self, plan: AgentPlan) -> None:
        self._most = int(plan.client_settings.get("pull_messages", PULL_MESSAGES))
        self._bytes = int(plan.client_settings.get("pull_bytes", PULL_BYTES)) // len(plan.destinations)
        self._sized = self._sized_bytes = 0

    def note(self, message_bytes: int) -> None:
        """One message has come, so large with its subjects."""
        self._sized += 1
        self._sized_bytes += FRAME_BYTES + message_bytes
        if self._sized == SIZED_MOST:
            self._sized //= 2
            self._sized_bytes //= 2

    def to_ask_for(self, credit: int) -> int:
        """How many more to ask for when the open pulls may still bring `credit`: none while that is most of them."""
        messages = self.messages()
        return messages - credit if credit * 4 <= messages * 3 else 0

    def messages(self) -> int:
        if self._sized == 0:
            return min(self._most, PULL_FIRST)
        return min(self._most, max(1, self._bytes * self._sized // self._sized_bytes))


def left_in_group(link: Link, streams: list[str], group: str) -> int:
    """Messages not delivered yet, and delivered ones not acknowledged."""
    left = 0
    for stream in streams:
        info = link.api(f"CONSUMER.INFO.{stream}.{group}")
        left += int(info["num_pending"]) + int(info["num_ack_pending"])
    return left
