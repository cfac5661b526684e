"""Receiving: pull requests kept open on each stream, messages collected as they come."""

from __future__ import annotations

import contextlib
import json
import time
from collections import deque

import numpy as np
from nats.aio.msg import Msg
from nats.errors import Error

from brokerlab.brokers.nats.admin import consumer_config
from brokerlab.brokers.nats.link import PATH, JetStreamError, Link, broker_name
from brokerlab.brokers.nats.settings import PULL_MESSAGES
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, no_deliveries
from brokerlab.model.plan import AgentPlan

PULL_EXPIRES_NS = 30_000_000_000
CONSUMER_NOT_FOUND = 10014
_ENDED = ("Consumer Deleted", "Consumer Shutdown")


class NatsConsumer:
    """See brokers.contract.Consumer. The library heals a lost connection; pulls are opened anew then."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.consumers is not None
        assert plan.group is not None
        self._pull_messages = int(plan.client_settings.get("pull_messages", PULL_MESSAGES))
        self._streams = [broker_name(d) for d in plan.destinations]
        self._group = broker_name(plan.group)
        self._link = Link(plan.endpoint, f"{plan.agent}-{number}", first_address=number)
        self._link.on_disconnect = self._lose
        self._link.on_reconnect = self._wake
        self._arrived: deque[Msg] = deque()
        self._unacknowledged: dict[str, None] = {}  # ack subjects of what was handed out, in order
        self._number = {stream: i for i, stream in enumerate(self._streams)}
        self._credit = [0] * len(self._streams)  # how many messages the open pulls may still bring
        self._ended = ""
        self._inbox = self._link.client.new_inbox() + "."
        self._policies = [self._ensure_group(stream, plan) for stream in self._streams]
        self._link.run(self._subscribe(), 10.0)
        self._link.run_now(self._pull())
        self._link.step()

    def _ensure_group(self, stream: str, plan: AgentPlan) -> str:
        """The group's acknowledgement policy; a group nobody made begins with the oldest message."""
        assert plan.consumers is not None
        try:
            info = self._link.api(f"CONSUMER.INFO.{stream}.{self._group}")
        except JetStreamError as e:
            if e.err_code != CONSUMER_NOT_FOUND:
                raise
            policy = "none" if plan.consumers.acknowledge == "automatic" else "explicit"
            config = consumer_config(self._group, policy, 30_000_000_000)
            request = {"stream_name": stream, "config": config}
            info = self._link.api(f"CONSUMER.DURABLE.CREATE.{stream}.{self._group}", request)
        return str(info["config"]["ack_policy"])

    async def _subscribe(self) -> None:
        self._subscription = await self._link.client.subscribe(
            f"{self._inbox}*", cb=self._on_message, pending_msgs_limit=0, pending_bytes_limit=0
        )
        await self._link.client.flush()

    async def _pull(self) -> None:
        """Open a pull on every stream whose open ones may bring less than half of what we want."""
        for number, stream in enumerate(self._streams):
            if self._credit[number] * 2 >= self._pull_messages:
                continue
            self._credit[number] += self._pull_messages
            request = json.dumps({"batch": self._pull_messages, "expires": PULL_EXPIRES_NS}).encode()
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{self._group}"
            await self._link.client.publish(subject, request, reply=f"{self._inbox}{number}")

    async def _on_message(self, message: Msg) -> None:
        """Messages come under the subject they were published to; the answer about a pull under the pull's inbox."""
        if message.subject.startswith(self._inbox):
            self._on_status(message)
        else:
            self._arrived.append(message)
            self._credit[self._number[message.subject.rpartition(".")[0]]] -= 1
        self._link.wake()

    def _on_status(self, message: Msg) -> None:
        """A pull has ended before it was filled: 404, 408 and 409 say how many messages it did not bring."""
        headers = message.headers or {}
        status, text = headers.get("Status", ""), headers.get("Description", "")
        if status == "503" or text.startswith(_ENDED):
            self._ended = text or "no responders"
        if status != "100":
            number = int(message.subject[len(self._inbox) :])
            missing = int(headers.get("Nats-Pending-Messages", self._credit[number]))
            self._credit[number] = max(0, self._credit[number] - missing)

    def _lose(self) -> None:
        """Pulls end with their connection. What arrived but was not acknowledged comes again after `ack_wait`."""
        self._credit = [0] * len(self._streams)

    def _wake(self) -> None:
        self._link.wake()

    def receive(self, most: int, deadline_mono_ns: int) -> Deliveries:
        self._link.step_if_needed()
        while not self._arrived:
            if time.monotonic_ns() >= deadline_mono_ns:
                return no_deliveries(time.monotonic_ns())
            self._refill()
            self._link.wait(deadline_mono_ns)
        arrived_mono_ns = time.monotonic_ns()
        messages = [self._arrived.popleft() for _ in range(min(most, len(self._arrived)))]
        self._refill()
        replies = [m.reply for m in messages]
        self._unacknowledged.update(dict.fromkeys(replies))
        return _deliveries(messages, replies, arrived_mono_ns)

    def _refill(self) -> None:
        if self._ended:
            raise BrokerError(f"the group {self._group} cannot be read: {self._ended}")
        if self._link.client.is_connected and min(self._credit) * 2 < self._pull_messages:
            self._link.run_now(self._pull())

    def acknowledge(self, deliveries: Deliveries) -> None:
        if len(deliveries) == 0:
            return
        replies: list[str] = deliveries.token  # type: ignore[assignment]
        for reply in replies:
            self._unacknowledged.pop(reply, None)
        if self._policies[0] == "none":
            return
        if self._policies[0] == "all":
            # The last of each stream acknowledges all before it.
            replies = list({_stream(reply): reply for reply in replies}.values())
        self._link.run_now(self._tell(replies, b"+ACK"))

    async def _tell(self, replies: list[str], word: bytes) -> None:
        publish = self._link.client.publish
        for reply in replies:
            try:
                await publish(reply, word)
            except Error:
                return  # the connection is gone: what was not acknowledged comes again

    def remaining(self) -> int | None:
        left = 0
        for stream in self._streams:
            info = self._link.api(f"CONSUMER.INFO.{stream}.{self._group}")
            left += int(info["num_pending"]) + int(info["num_ack_pending"])
        return left

    def close(self, deadline_mono_ns: int) -> None:
        """Give back what was not acknowledged, so that others need not wait for `ack_wait`."""
        if not self._link.loop.is_closed() and self._link.client.is_connected and self._policies[0] != "none":
            seconds = max(0.1, (deadline_mono_ns - time.monotonic_ns()) / 2e9)
            with contextlib.suppress(Error, OSError, TimeoutError):
                self._link.run(self._give_back(), seconds)
        self._link.close(deadline_mono_ns)

    async def _give_back(self) -> None:
        # First end the open pulls, or the server would send what is given back straight to us again.
        await self._subscription.drain()  # type: ignore[no-untyped-call]
        await self._tell([*self._unacknowledged, *(m.reply for m in self._arrived)], b"-NAK")
        await self._link.client.flush()


def _stream(reply: str) -> str:
    parts = reply.split(".")
    return parts[2] if len(parts) == 9 else parts[4]


def _deliveries(messages: list[Msg], replies: list[str], arrived_mono_ns: int) -> Deliveries:
    """Position and delivery count are in the ack subject: $JS.ACK.[domain.account.]stream.consumer.count.sequence..."""
    fields = [reply.split(".") for reply in replies]
    at = [4 if len(f) == 9 else 6 for f in fields]
    positions = np.array([int(f[a + 1]) for f, a in zip(fields, at, strict=True)], np.int64)
    again = np.array([f[a] != "1" for f, a in zip(fields, at, strict=True)], np.uint8)
    return Deliveries.from_payloads([m.data for m in messages], arrived_mono_ns, positions, again, replies)
