"""Publishing: SendMessageBatch, one under way on each of several connections."""

from __future__ import annotations

import numpy as np

from brokerlab.brokers.kit.aws_json import with_tls
from brokerlab.brokers.kit.batches import batches_of
from brokerlab.brokers.kit.http_link import HttpAnswer
from brokerlab.brokers.kit.http_pool import HttpPool
from brokerlab.brokers.kit.settling import Settling
from brokerlab.brokers.sqs.outcomes import batch_outcomes
from brokerlab.brokers.sqs.protocol import LIMITS, encoded, encoded_bytes, harmless, queue_urls, requests_to, send_body
from brokerlab.brokers.sqs.settings import client_settings
from brokerlab.model.blocks import ACKNOWLEDGED, Block, Settlements
from brokerlab.model.plan import AgentPlan

PATH = "python (SQS JSON protocol over HTTP/1.1)"
_ANSWER_S = 60.0  # then the connection is given up; the engine has called the messages unknown before


class SqsProducer:
    """See brokers.contract.Producer. What is due while all connections are busy goes with the next batches, so batches
    fill by themselves as the load grows."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        endpoint = with_tls(plan.endpoint)
        self._requests = requests_to(endpoint)
        self._urls = queue_urls(self._requests, endpoint, plan)
        connections = client_settings(plan.client_settings)["connections"]
        name, proof = f"{plan.agent}-{number}", harmless(self._requests)
        self._pool: HttpPool[list[int]] = HttpPool(endpoint, name, connections, _ANSWER_S, proof)
        self._settling = Settling()

    def send(self, block: Block) -> int:
        self._pool.drop_closed()
        idle = self._pool.idle
        if len(block) == 0 or idle == 0:
            return 0
        some = block.first(idle * LIMITS.messages)
        sizes = [encoded_bytes(length) for length in some.lengths.tolist()]
        batches = batches_of(some.partitions.tolist(), sizes, LIMITS, idle)
        taken = sum(len(batch.places) for batch in batches)
        payloads = some.first(taken).payloads()
        for batch in batches:
            body = send_body(self._urls[batch.partition], (encoded(payloads[i]) for i in batch.places))
            numbers = [block.first_index + i for i in batch.places]
            self._pool.ask(self._requests.of("SendMessageBatch", body), numbers)
        return taken

    def settled(self) -> Settlements:
        for numbers, answer in self._pool.pump():
            self._settle(numbers, answer)
        return self._settling.take()

    def _settle(self, numbers: list[int], answer: HttpAnswer | OSError) -> None:
        outcomes = batch_outcomes(answer, len(numbers))
        stored = [n for n, (outcome, _) in zip(numbers, outcomes, strict=True) if outcome == ACKNOWLEDGED]
        self._settling.add(np.array(stored, np.int64), ACKNOWLEDGED)
        for number, (outcome, error) in zip(numbers, outcomes, strict=True):
            if outcome != ACKNOWLEDGED:
                self._settling.add_one(number, outcome, error)

    def watched(self) -> list[tuple[int, bool]]:
        return self._pool.watched()

    def close(self, deadline_mono_ns: int) -> None:
        self._pool.close(deadline_mono_ns)
