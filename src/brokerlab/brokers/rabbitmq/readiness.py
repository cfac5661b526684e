"""Readiness: a queue of the wanted kind whose members are all online has confirmed a write."""

from __future__ import annotations

import time

import numpy as np
from pika import spec

from brokerlab.brokers.kit.local import not_yet
from brokerlab.brokers.rabbitmq.admin import RabbitAdmin
from brokerlab.brokers.rabbitmq.amqp import AmqpLink
from brokerlab.brokers.rabbitmq.frames import Confirms, PublishEncoder, read_confirms
from brokerlab.brokers.rabbitmq.stream import StreamLink
from brokerlab.model.blocks import Block
from brokerlab.model.plan import CellPlan, Endpoint

READY = "brokerlab_ready"
_CONFIRM_S = 10.0


def confirmed_write(endpoint: Endpoint, cell: CellPlan) -> bool:
    """Whether it was confirmed. Raises OSError for "not yet"."""
    admin = RabbitAdmin(endpoint, cell)
    with not_yet():
        admin.create((READY,), 1, ())  # waits until the queue's members are online
        confirmed = all(_confirmed(endpoint, queue) for queue in admin.queues(READY))
        if "stream" in endpoint.options:
            for number in range(len(endpoint.addresses)):
                StreamLink.open(endpoint, "brokerlab-ready", number).close(time.monotonic_ns() + 2_000_000_000)
        admin.delete((READY,), ())
    return confirmed


def _confirmed(endpoint: Endpoint, queue: str) -> bool:
    """Publish one message straight to a queue and wait for its confirm."""
    link = AmqpLink.open(endpoint, "brokerlab-ready")
    came: list[Confirms] = []

    def on_frames(view: memoryview) -> tuple[int, bool]:
        confirms = read_confirms(view)
        if len(confirms.tags):
            came.append(confirms)
        return confirms.used_bytes, False

    link.on_frames = on_frames
    try:
        link.call(spec.Confirm.Select())
        one = np.ones(1, np.int32)
        block = Block(np.full(1, 63, np.uint8), np.zeros(1, np.int64), one, 0 * one, 0)
        link.write(PublishEncoder([("", queue)], link.frame_max).encode(block))
        until = time.monotonic() + _CONFIRM_S
        while not came and time.monotonic() < until:
            if not link.pump():
                link.wait(0.1)
    finally:
        link.close(time.monotonic_ns() + 2_000_000_000)
    return bool(came) and not bool(came[0].refused.any())
