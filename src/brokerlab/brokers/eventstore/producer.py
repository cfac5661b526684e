"""Publishing: a batch is one append for each stream that has messages in it."""

from __future__ import annotations

import time

from kurrentdbclient import NewEvent, StreamState
from kurrentdbclient.exceptions import GrpcError, KurrentDBClientError, NodeIsNotLeaderError

from brokerlab.brokers.eventstore.connection import ERRORS, PATH, REFUSALS, connect, login_of, stream_of
from brokerlab.brokers.eventstore.settings import client_settings
from brokerlab.brokers.kit.blocking import Batch, BlockingProducer, Told
from brokerlab.brokers.kit.names import of_partitions
from brokerlab.errors import BrokerError
from brokerlab.model.blocks import ACKNOWLEDGED
from brokerlab.model.plan import AgentPlan

AGAIN_S = 0.2
CHECK_S = 5.0


class EventstoreProducer(BlockingProducer):
    """See brokers.contract.Producer."""

    path = PATH

    def __init__(self, plan: AgentPlan, number: int) -> None:
        assert plan.producers is not None
        settings = client_settings(plan.client_settings)
        self._endpoint, self._name = plan.endpoint, f"{plan.agent}-{number}"
        self._timeout_s = plan.producers.send_timeout_s
        self._streams = of_partitions(stream_of, plan.destinations, plan.partitions)
        self._lost = False
        self._client = connect(plan.endpoint, self._name)
        with REFUSALS.at(plan.endpoint):
            self._client.get_current_version(self._streams[0], timeout=CHECK_S)
        super().__init__(self._name, settings["batch_messages"], settings["batch_bytes"], partitions=1)

    def _publish(self, number: int, batch: Batch) -> list[Told]:
        if self._lost:
            self._connect_again()
        return [self._append(self._streams[number], batch)]

    def _connect_again(self) -> None:
        """As long as a send may take: gRPC refuses calls for seconds after it has lost a connection, and the leader may
        be another node now."""
        until = time.monotonic() + self._timeout_s
        while self._lost and time.monotonic() < until and not self._closed:
            try:
                self._client.close()
                self._client = connect(self._endpoint, self._name)
                self._client.gossip.read(timeout=CHECK_S)
                self._lost = False
            except (KurrentDBClientError, BrokerError):
                time.sleep(AGAIN_S)

    def _append(self, stream: str, batch: Batch) -> Told:
        events = [NewEvent("brokerlab", payload, content_type="application/octet-stream") for payload in batch.payloads]
        login = login_of(self._client, self._endpoint)
        try:
            self._client.streams.batch_append(stream, StreamState.ANY, events, self._timeout_s, credentials=login)
        except KurrentDBClientError as e:
            self._lost, kind = isinstance(e, GrpcError | NodeIsNotLeaderError), type(e).__name__
            return batch.told(ERRORS.of(kind), kind)
        return batch.told(ACKNOWLEDGED)

    def _disconnect(self) -> None:
        self._client.close()
