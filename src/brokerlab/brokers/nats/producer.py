"""Publishing: core publish with a reply inbox of our own whose last token is the message's number."""

from __future__ import annotations

from nats.aio.msg import Msg
from nats.errors import Error

from brokerlab.brokers.kit.settling import Settling
from brokerlab.brokers.nats.link import PATH, Link, subject_of
from brokerlab.brokers.nats.outcomes import error_name, outcome_of_answer, outcome_of_error, was_not_taken
from brokerlab.brokers.nats.settings import PENDING_BYTES
from brokerlab.model.blocks import ACKNOWLEDGED, UNKNOWN, Block, Settlements
from brokerlab.model.plan import AgentPlan


class NatsProducer:
    """See brokers.contract.Producer."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        self._pending_bytes = int(plan.client_settings.get("pending_bytes", PENDING_BYTES))
        name = f"{plan.agent}-{number}"
        self._link = Link(plan.endpoint, name, first_address=number, pending_bytes=self._pending_bytes)
        self._subjects = [subject_of(d, p) for d in plan.destinations for p in range(plan.partitions)]
        self._unsettled: set[int] = set()
        self._settling = Settling()
        self._inbox = f"_R.{self._link.client.new_inbox().rsplit('.', 1)[-1]}."
        self._link.on_disconnect = self._lose
        self._link.run(self._subscribe(), 10.0)

    async def _subscribe(self) -> None:
        # Limits of 0 mean none: an answer that the library drops would look like a lost message.
        await self._link.client.subscribe(
            f"{self._inbox}*", cb=self._on_answer, pending_msgs_limit=0, pending_bytes_limit=0
        )
        await self._link.client.flush()

    async def _on_answer(self, message: Msg) -> None:
        index = int(message.subject[len(self._inbox) :])
        if index not in self._unsettled:
            return  # its connection was lost meanwhile and it has been called unknown
        data = message.data
        if data.startswith(b'{"stream"'):
            self._settle(index, ACKNOWLEDGED, None)
        else:
            status = message.headers.get("Status") if message.headers else None
            self._settle(index, *outcome_of_answer(data, status))

    def _settle(self, index: int, outcome: int, error: str | None) -> None:
        self._unsettled.discard(index)
        self._settling.add_one(index, outcome, error)

    def _lose(self) -> None:
        for index in sorted(self._unsettled):
            self._settle(index, UNKNOWN, "connection lost")

    def send(self, block: Block) -> int:
        client = self._link.client
        if len(block) == 0 or not client.is_connected or client.pending_data_size >= self._pending_bytes:
            return 0
        room = self._pending_bytes - client.pending_data_size
        return self._link.run_now(self._publish(block.first(block.fitting(room))))

    async def _publish(self, block: Block) -> int:
        """Hand messages to the library, which only buffers them: nothing here waits."""
        publish, subjects, inbox, unsettled = self._link.client.publish, self._subjects, self._inbox, self._unsettled
        index = block.first_index
        for payload, partition in zip(block.payloads(), block.partitions.tolist(), strict=True):
            unsettled.add(index)
            try:
                await publish(subjects[partition], payload, reply=f"{inbox}{index}")
            except Error as e:
                if was_not_taken(e):
                    unsettled.discard(index)
                    break
                self._settle(index, outcome_of_error(e), error_name(type(e)))
            index += 1
        return index - block.first_index

    def settled(self) -> Settlements:
        self._link.step_if_needed()
        return self._settling.take()

    def close(self, deadline_mono_ns: int) -> None:
        self._link.close(deadline_mono_ns)
