"""What lag probes share: readings of destinations and groups, and a list of what there is that is not asked for every time.

A lag probe (`Parts.lag`) is made with the endpoint, its nodes and the target's name. It asks only for what a server has
counted already. What cannot be read is left out and named by `missing`; BrokerError means that nothing can be read.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Generic, TypeVar

from brokerlab.brokers.contract import Reading
from brokerlab.model.subjects import destination_subject, group_subject
from brokerlab.model.watched import Asked, Bean, WatchedMetric
from brokerlab.model.watched_here import DESTINATION, GROUP

LIST_EVERY_S = 5.0
MOST_DESTINATIONS = 1000  # of one target: a broker with more is read in part
One = TypeVar("One")


def lag_rows(
    *, taken_in: str | Bean = "", held: str | Bean = "", behind: str | Bean = "", behind_in_entries: str = ""
) -> tuple[WatchedMetric, ...]:
    """Rows of the table of metrics: what is asked for each, in words or as a bean; what is not told has none."""
    told = (
        (DESTINATION["messages_in_total"], taken_in),
        (DESTINATION["messages"], held),
        (GROUP["lag_messages"], behind),
        (GROUP["lag_entries"], behind_in_entries),
    )
    return tuple(row.read_from(Asked(what) if isinstance(what, str) else what) for row, what in told if what)


BY_OFFSETS = lag_rows(
    taken_in="end offsets of all partitions, added up",
    held="end offsets less first offsets",
    behind="end offset of a partition less the offset that the group has committed",
)


def destination_readings(
    broker: str, destination: str, *, taken_in: float | None = None, held: float | None = None
) -> list[Reading]:
    """`broker` is the target's name. What is None is not known and not told."""
    subject = destination_subject(broker, destination)
    told = (DESTINATION["messages_in_total"], taken_in), (DESTINATION["messages"], held)
    return [Reading.of(row, subject, value) for row, value in told if value is not None]


def lag_reading(broker: str, group: str, destination: str, behind: float, partition: int = 0) -> Reading:
    """Never below zero: a server may have counted an acknowledgement before the message."""
    return Reading.of(GROUP["lag_messages"], group_subject(broker, group, destination, partition), max(behind, 0))


def entries_reading(broker: str, group: str, destination: str, behind: float, partition: int = 0) -> Reading:
    """Of a broker that counts batches of messages, and not what is in them."""
    return Reading.of(GROUP["lag_entries"], group_subject(broker, group, destination, partition), max(behind, 0))


def queue_readings(broker: str, queue: str, waiting: float, taken_in: float | None = None) -> list[Reading]:
    """A queue is a destination with one group, which has the queue's name: what waits there is what it is behind."""
    readings = destination_readings(broker, queue, taken_in=taken_in, held=waiting)
    return [*readings, lag_reading(broker, queue, queue, waiting)]


def beyond_most(of_what: str) -> dict[str, str]:
    """For `missing` of a probe that found more than MOST_DESTINATIONS."""
    return {f"the rest of its {of_what}": f"only {MOST_DESTINATIONS:,} {of_what} are read"}


class Listing(Generic[One]):
    """What there is, as `ask` tells it: asked for every LIST_EVERY_S, MOST_DESTINATIONS of it at most."""

    def __init__(self, ask: Callable[[], Iterable[One]], of_what: str) -> None:
        self._ask, self._of_what = ask, of_what
        self._due_s = -math.inf
        self._known: tuple[One, ...] = ()
        self._beyond = False

    def now(self) -> tuple[One, ...]:
        """Raises what `ask` raises."""
        if time.monotonic() >= self._due_s:
            found = tuple(islice(self._ask(), MOST_DESTINATIONS + 1))
            self._known, self._beyond = found[:MOST_DESTINATIONS], len(found) > MOST_DESTINATIONS
            self._due_s = time.monotonic() + LIST_EVERY_S
        return self._known

    def forget(self) -> None:
        """Ask the next time: something in it has changed."""
        self._due_s = -math.inf

    def missing(self) -> dict[str, str]:
        """For `missing` of a probe."""
        return beyond_most(self._of_what) if self._beyond else {}
