"""Undoing what an execution did: processes end, data and destinations are deleted, whatever happened before.

Each step is guarded alike. One that fails says what is left and how to get rid of it; it never changes the execution's
result, and the other steps still happen.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from types import TracebackType

from brokerlab.brokers.contract import Broker
from brokerlab.errors import BrokerError
from brokerlab.model.plan import CellPlan, Endpoint

DELETE_PATIENCE_S = 30.0  # a broker that the user runs may be out of reach for a while
TRY_AGAIN_S = 0.5

LeftBehind = Callable[[str, str], None]  # (what was left and why, what to do about it)


class TakeDown:
    """Steps that happen at the end of a `with` block, the last added first."""

    def __init__(self, left_behind: LeftBehind) -> None:
        self._left_behind = left_behind
        self._steps = contextlib.ExitStack()

    def add(self, what: str, step: Callable[[], object], what_to_do: str) -> None:
        """`what` names what is left if the step fails: "the data of the cluster"."""
        self._steps.callback(self._guarded, what, step, what_to_do)

    def _guarded(self, what: str, step: Callable[[], object], what_to_do: str) -> None:
        """An interrupt passes: ExitStack takes the other steps and then raises it."""
        try:
            step()
        except Exception as error:
            self._left_behind(f"{what}: {str(error).strip() or type(error).__name__}", what_to_do)

    def __enter__(self) -> TakeDown:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._steps.__exit__(kind, error, trace)


def delete_destinations(
    broker: Broker,
    endpoint: Endpoint,
    cell: CellPlan,
    destinations: tuple[str, ...],
    groups: tuple[str, ...],
    patience_s: float = DELETE_PATIENCE_S,
    waiting: Callable[[str], None] = lambda _text: None,
) -> None:
    """Delete them in a broker that the user runs. Each try has a connection of its own: one that was open during the
    load may have been lost meanwhile. `waiting` is called once, after a first try that failed. Raises the last error when
    none succeeds in time."""
    until = time.monotonic() + patience_s
    has_failed = False
    while True:
        try:
            _delete_once(broker, endpoint, cell, destinations, groups)
            return
        except (BrokerError, OSError) as error:
            if time.monotonic() >= until:
                raise
            if not has_failed:
                waiting(f"deleting what was made in {broker.name}, for {patience_s:.0f} s at most: {error}")
                has_failed = True
        time.sleep(TRY_AGAIN_S)


def _delete_once(
    broker: Broker, endpoint: Endpoint, cell: CellPlan, destinations: tuple[str, ...], groups: tuple[str, ...]
) -> None:
    admin = broker.admin(endpoint, cell)
    try:
        admin.delete(destinations, groups)
    finally:
        with contextlib.suppress(BrokerError, OSError):  # what is deleted is deleted
            admin.close()


def deletion_by_hand(broker: Broker, endpoint: Endpoint, cell: CellPlan, destinations: tuple[str, ...]) -> str:
    """How the user deletes what could not be deleted."""
    where = ", ".join(endpoint.addresses)
    how = broker.capabilities.delete_by_hand
    if not how:
        return f"delete everything of {', '.join(destinations)} at {where} with the broker's own tools"
    known = {"address": endpoint.addresses[0], "level": cell.durability.value.lower()}
    return f"delete it at {where}: {'; '.join(how.format(name=name, **known) for name in destinations)}"
