"""Publishing and receiving: a driver for each master that a plan's partitions are on, each with one connection."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from brokerlab.brokers.kit.arrived import Arrived
from brokerlab.brokers.kit.asking import number_in
from brokerlab.brokers.kit.outcomes import OutcomeTable
from brokerlab.brokers.kit.placing import Queues, spread_consumer, spread_producer
from brokerlab.brokers.kit.pulling import PulledQueue, PullingConsumer
from brokerlab.brokers.kit.queued import Learnt, QueuedProducer
from brokerlab.brokers.rocketmq import remoting
from brokerlab.brokers.rocketmq.remoting import Answer, RemotingLink, expect, send_fields, stored_messages
from brokerlab.brokers.rocketmq.settings import client_settings
from brokerlab.model.plan import AgentPlan

# A broker stores first and waits then: what it calls a timeout, or a slave that is not there, is stored on the master.
OUTCOMES = OutcomeTable(
    acknowledged="SUCCESS",
    rejected="SYSTEM_BUSY REQUEST_CODE_NOT_SUPPORTED MESSAGE_ILLEGAL SERVICE_NOT_AVAILABLE NO_PERMISSION TOPIC_NOT_EXIST",
    unknown="SYSTEM_ERROR FLUSH_DISK_TIMEOUT SLAVE_NOT_AVAILABLE FLUSH_SLAVE_TIMEOUT",
)
_PATH = "python (remoting frames)"
_HOLD_MS = 15_000  # a broker answers a pull that finds nothing after so long, and at once when a message comes
_WAIT_AND_SUBSCRIBE, _EVERYTHING = 2 | 4, {"subscription": "*", "subVersion": "0", "expressionType": "TAG"}


class MasterProducer(QueuedProducer[RemotingLink]):
    """See brokers.contract.Producer. `queues` are by the cell's partition numbers."""

    link_class = RemotingLink
    path = _PATH
    _overhead_bytes = remoting.BATCH_OVERHEAD_BYTES

    def __init__(self, plan: AgentPlan, number: int, queues: Queues) -> None:
        self._queues = queues
        names = ("pending_bytes", "batch_messages", "batch_bytes")
        super().__init__(plan, number, *(int(client_settings(plan.client_settings)[name]) for name in names))

    def _request(self, link: RemotingLink, partition: int, payloads: list[bytes], learnt: Learnt) -> bytes:
        """A batch is stored whole or not at all, and has one answer."""
        batch = len(payloads) > 1
        fields = send_fields(*self._queues[partition], batch=batch)
        body = remoting.batch_body(payloads) if batch else payloads[0]

        def on_answer(answer: Answer) -> None:
            name = remoting.CODES.get(answer.code, f"code {answer.code}")
            learnt(OUTCOMES.of(name), None if answer.code == remoting.SUCCESS else name)

        return link.request(remoting.SEND_BATCH if batch else remoting.SEND, fields, on_answer, body)


class MasterConsumer(PullingConsumer[RemotingLink]):
    """See brokers.contract.Consumer. A group is a name under which the broker keeps offsets."""

    link_class = RemotingLink
    path = _PATH

    def __init__(self, plan: AgentPlan, number: int, queues: Queues) -> None:
        settings = client_settings(plan.client_settings)
        self._pull_messages = settings["pull_messages"]
        super().__init__(plan, number, queues, int(settings["prefetch"]))

    def _about(self, queue: PulledQueue[RemotingLink], **more: object) -> dict[str, str]:
        fields = {"consumerGroup": self._group, "topic": queue.topic, "queueId": queue.number, **more}
        return {name: str(value) for name, value in fields.items()}

    def _committed(self, queue: PulledQueue[RemotingLink]) -> int:
        fields = self._about(queue, setZeroIfNotFound="false")
        answer = queue.link.call(remoting.QUERY_OFFSET, fields, b"", remoting.NOT_FOUND)
        return number_in(answer.fields, "offset") if answer.code == remoting.SUCCESS else 0

    def _end(self, queue: PulledQueue[RemotingLink]) -> int:
        """With messages that were acknowledged a moment ago and cannot be pulled yet."""
        answer = queue.link.call(remoting.MAX_OFFSET, self._about(queue, committed="false"))
        return number_in(answer.fields, "offset")

    def _request_pull(self, queue: PulledQueue[RemotingLink], pulled: Callable[[int, Arrived | None], None]) -> bytes:
        def on_answer(answer: Answer) -> None:
            expect(answer, remoting.NO_MESSAGE, remoting.RETRY_PULL, remoting.OFFSET_MOVED)
            came = stored_messages(answer.body, time.monotonic_ns()) if answer.code == remoting.SUCCESS else None
            pulled(number_in(answer.fields, "nextBeginOffset"), came)

        where = self._about(queue, queueOffset=queue.next, commitOffset=0, sysFlag=_WAIT_AND_SUBSCRIBE)
        most = {"maxMsgNums": self._pull_messages, "suspendTimeoutMillis": str(_HOLD_MS)}
        return queue.link.request(remoting.PULL, where | most | _EVERYTHING, on_answer)

    def _request_commit(self, queue: PulledQueue[RemotingLink], confirmed: Callable[[], None]) -> bytes:
        def on_answer(answer: Answer) -> None:
            expect(answer)
            confirmed()

        return queue.link.request(remoting.COMMIT_OFFSET, self._about(queue, commitOffset=queue.done), on_answer)


producer, consumer = partial(spread_producer, MasterProducer), partial(spread_consumer, MasterConsumer)
