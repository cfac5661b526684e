"""Publishing: one library producer per partition; the library's thread calls back for every message."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import _pulsar  # type: ignore[import-not-found]  # compiled, without types
import numpy as np
import pulsar

from brokerlab.brokers.pulsar.client import close_in_time, connect_for, explained, path, topics_of
from brokerlab.brokers.pulsar.outcomes import RESULTS
from brokerlab.brokers.pulsar.settings import client_settings_of
from brokerlab.model.blocks import ACKNOWLEDGED, NOTHING_SETTLED, Block, Settlements
from brokerlab.model.plan import AgentPlan

# Opening a partition is mostly waiting for the broker, and the library's call waits without the interpreter's lock.
_OPENED_AT_ONCE = 32


class PulsarProducer:
    """See brokers.contract.Producer."""

    def __init__(self, plan: AgentPlan, number: int) -> None:  # noqa: ARG002 - all producers are configured alike
        assert plan.producers is not None
        self.path = path()
        self._window = max(plan.producers.schedule.window or 0, plan.producers.window_limit)
        self._in_flight = 0
        self._done: deque[tuple[int, Any, int]] = deque()  # (index, result, when): appended by the library's thread
        self._client = connect_for(plan)
        try:
            with ThreadPoolExecutor(_OPENED_AT_ONCE) as opening:
                self._senders = list(opening.map(lambda topic: self._open(topic, plan), topics_of(plan)))
        except pulsar.PulsarException as e:
            close_in_time(self._client, 0)
            raise explained("cannot publish", e) from e

    def _open(self, topic: str, plan: AgentPlan) -> Callable[..., None]:
        """The `send_async` below the library's Python layer, which would build every message from ten arguments."""
        assert plan.producers is not None
        settings = client_settings_of(plan.client_settings)
        producer = self._client.create_producer(
            topic,
            send_timeout_millis=max(int(plan.producers.send_timeout_s * 1000), 10),
            max_pending_messages=self._window + 1,  # `send` stops at the window, so this queue is never full
            block_if_queue_full=False,
            batching_enabled=settings["batching_enabled"] == "true",
            batching_max_messages=int(settings["batching_max_messages"]),
            batching_max_allowed_size_in_bytes=int(settings["batching_max_allowed_size_in_bytes"]),
            batching_max_publish_delay_ms=int(settings["batching_max_publish_delay_ms"]),
            compression_type=getattr(_pulsar.CompressionType, settings["compression_type"]),
        )
        send: Callable[..., None] = producer._producer.send_async
        return send

    def send(self, block: Block) -> int:
        taken = min(len(block), self._window - self._in_flight)
        if taken <= 0:
            return 0
        builder, senders, done = _pulsar.MessageBuilder, self._senders, self._done.append
        partitions = block.partitions.tolist()
        keys = None if block.keys is None else block.keys.tolist()
        self._in_flight += taken
        for i, payload in enumerate(block.payloads()[:taken]):
            message = builder().content(payload)
            if keys is not None:
                message = message.partition_key(str(keys[i]))
            # An exception inside a callback would end the process: it does nothing that can fail.
            senders[partitions[i]](message.build(), _callback(done, block.first_index + i))
        return taken

    def settled(self) -> Settlements:
        count = len(self._done)
        if not count:
            return NOTHING_SETTLED
        pop = self._done.popleft
        indices, results, times = zip(*[pop() for _ in range(count)], strict=True)
        self._in_flight -= count
        kinds = Counter(results)
        outcomes: Any = np.zeros(count, np.uint8)
        errors: dict[str, int] = {}
        if len(kinds) > 1 or _pulsar.Result.Ok not in kinds:
            outcomes = np.array([RESULTS.of(result.name) for result in results], np.uint8)
            errors = {r.name: n for r, n in kinds.items() if RESULTS.of(r.name) != ACKNOWLEDGED}
        return Settlements(np.array(indices, np.int64), outcomes, np.array(times, np.int64), errors)

    def watched(self) -> list[tuple[int, bool]]:
        """Nothing: each callback notes its own time."""
        return []

    def close(self, deadline_mono_ns: int) -> None:
        close_in_time(self._client, deadline_mono_ns)


def _callback(done: Callable[[tuple[int, Any, int]], None], index: int) -> Callable[[Any, Any], None]:
    now = time.monotonic_ns

    def settle(result: Any, message_id: Any) -> None:  # noqa: ARG001 - the library gives it
        done((index, result, now()))

    return settle
