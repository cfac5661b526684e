"""Names in the broker. classic, quorum: an exchange for each destination, a queue for each group and partition bound
to it. stream: a stream for each partition, which all groups read."""

from __future__ import annotations

GUEST = ("guest", "guest")  # RabbitMQ's own user and password, for who comes from this machine
HEARTBEAT_S = 30
DEFAULT_GROUP = "default"  # where messages go before a group exists: nothing is lost meanwhile


def routing_key(partition: int) -> str:
    """Of one width, so that frames of different partitions are of one length."""
    return f"{partition:05d}"


def group_queue(destination: str, group: str, partition: int) -> str:
    return f"{destination}/{group}/{partition}"


def stream_name(destination: str, partition: int) -> str:
    return f"{destination}/{partition}"


def belongs_to(queue: str, destination: str) -> bool:
    return queue.startswith(f"{destination}/")


def first_queue(queues: list[str], destination: str) -> str:
    """The queue that stands for the first partition."""
    found = sorted((q for q in queues if belongs_to(q, destination)), key=lambda q: (int(q.rpartition("/")[2]), q))
    if not found:
        raise KeyError(destination)
    return found[0]
