"""Receiving: pull requests kept open on each stream, messages collected as they come."""

from __future__ import annotations

import contextlib
import time
from collections import deque

import numpy as np
from nats.aio.msg import Msg
from nats.errors import Error

from brokerlab.brokers.nats.groups import PullSize, ensure_group, left_in_group, pull_request, pull_subject
from brokerlab.brokers.nats.link import PATH, Link, broker_name
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import Deliveries, no_deliveries
from brokerlab.model.plan import AgentPlan

# As in native/nats_consumer.c: when open pulls have died with their leader, when to ask another server, and how long a
# group may have no leader.
SILENT_NS = 5_000_000_000
SILENCES_MOST = 2
ABSENT_RETRY_NS = 200_000_000
ABSENT_MOST_NS = 20_000_000_000
_ENDED = ("Consumer Deleted", "Consumer Shutdown")


class NatsConsumer:
    """See brokers.contract.Consumer. The library heals a lost connection; pulls are opened again then."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.group is not None
        self._size = PullSize(plan)
        self._streams = [broker_name(d) for d in plan.destinations]
        self._group = broker_name(plan.group)
        self._endpoint, self._name, self._turn = plan.endpoint, f"{plan.agent}-{number}", number
        self._arrived: deque[Msg] = deque()
        self._unacknowledged: dict[str, None] = {}  # ack subjects of what was handed out, in order
        self._number = {stream: i for i, stream in enumerate(self._streams)}
        self._credit = [0] * len(self._streams)  # how many messages the open pulls may still bring
        self._heard_ns = [0] * len(self._streams)
        self._silences = [0] * len(self._streams)  # since the last word
        self._absent_since_ns = 0
        self._pull_after_ns = 0
        self._ended = ""
        self._link = self._connected()
        self._inbox = self._link.client.new_inbox() + "."
        self._policies = [ensure_group(self._link, stream, self._group, plan) for stream in self._streams]
        self._link.run(self._subscribe(), 10.0)
        self._link.run_now(self._pull())
        self._link.step()

    def _connected(self) -> Link:
        """To another server each time, where there are several. Raises BrokerError."""
        link = Link(self._endpoint, self._name, first_address=self._turn)
        self._turn += 1
        link.on_disconnect = self._lose
        link.on_reconnect = link.wake
        return link

    async def _subscribe(self) -> None:
        self._subscription = await self._link.client.subscribe(
            f"{self._inbox}*", cb=self._on_message, pending_msgs_limit=0, pending_bytes_limit=0
        )
        await self._link.client.flush()

    async def _pull(self) -> None:
        """Open a pull on every stream whose open ones may bring clearly less than we want."""
        now = time.monotonic_ns()
        for number, stream in enumerate(self._streams):
            wanted = self._size.to_ask_for(self._credit[number])
            if not wanted:
                continue
            if self._credit[number] == 0:
                self._heard_ns[number] = now
            self._credit[number] += wanted
            await self._link.client.publish(
                pull_subject(stream, self._group), pull_request(wanted), reply=f"{self._inbox}{number}"
            )

    async def _on_message(self, message: Msg) -> None:
        """Messages come under the subject they were published to; the answer about a pull under the pull's inbox."""
        if message.subject.startswith(self._inbox):
            number = int(message.subject[len(self._inbox) :])
            self._on_status(message, number)
        else:
            number = self._number[message.subject.rpartition(".")[0]]
            self._arrived.append(message)
            self._size.note(len(message.data) + len(message.subject) + len(message.reply))
            self._credit[number] -= 1
            self._absent_since_ns = 0
        self._heard_ns[number] = time.monotonic_ns()
        self._silences[number] = 0
        self._link.wake()

    def _on_status(self, message: Msg, number: int) -> None:
        """A pull has ended before it was filled: 404, 408 and 409 say how many messages it did not bring. 503: no server
        answers it; between two leaders that lasts seconds. 100 is a heartbeat."""
        headers = message.headers or {}
        status, text = headers.get("Status", ""), headers.get("Description", "")
        if status == "100":
            return
        missing = int(headers.get("Nats-Pending-Messages", self._credit[number]))
        self._credit[number] = max(0, self._credit[number] - missing)
        now = time.monotonic_ns()
        if status == "503":
            self._absent_since_ns = self._absent_since_ns or now
            self._pull_after_ns = now + ABSENT_RETRY_NS
            if now - self._absent_since_ns > ABSENT_MOST_NS:
                self._ended = "no responders"
            return
        self._absent_since_ns = 0
        if text.startswith(_ENDED):
            self._ended = text
        elif status not in ("404", "408"):
            self._pull_after_ns = now + ABSENT_RETRY_NS // 10

    def _lose(self) -> None:
        """Pulls end with their connection. What arrived but was not acknowledged comes again after `ack_wait`."""
        self._credit = [0] * len(self._streams)

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
        now = time.monotonic_ns()
        if not self._link.client.is_connected or now < self._pull_after_ns:
            return
        if self._is_deaf(now):
            self._go_elsewhere()
        if self._size.to_ask_for(min(self._credit)):
            self._link.run_now(self._pull())

    def _is_deaf(self, now_ns: int) -> bool:
        """Notice silence. Returns whether it has lasted too long on every stream."""
        for number, heard_ns in enumerate(self._heard_ns):
            if self._credit[number] and now_ns - heard_ns > SILENT_NS:
                self._credit[number] = 0
                self._silences[number] += 1
        return min(self._silences) >= SILENCES_MOST

    def _go_elsewhere(self) -> None:
        """This server does not reach the leaders of our streams; another one may."""
        self._silences = [0] * len(self._streams)
        old = self._link
        try:
            self._link = self._connected()
        except BrokerError:
            return  # there is none better: this one is asked again
        old.close(time.monotonic_ns() + 1_000_000_000)
        self._lose()
        with contextlib.suppress(Error, OSError, TimeoutError):  # then there is silence again
            self._link.run(self._subscribe(), 10.0)

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
        return left_in_group(self._link, self._streams, self._group)

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
