"""What every kind of fault offers, and what is known once one has begun."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Aim:
    """The node a fault will strike, and the node that took writes when it was chosen."""

    node: str
    leader: str

    @property
    def was_leading(self) -> bool:
        return self.node == self.leader


class Fault(Protocol):
    """One fault of one execution. Its methods are called once each, in this order."""

    lasts_s: float | None  # from `begin` to `end`; None where it is not undone

    def check(self) -> None:
        """Before any load: can this ever happen? Raises UserError with the names that would do."""

    def aim(self, destination: str) -> Aim:
        """Choose the node, by asking the broker who leads `destination` now. May take seconds."""

    def begin(self, aim: Aim) -> None:
        """Make it happen. Returns at once."""

    def end(self, aim: Aim) -> None:
        """Undo it, `lasts_s` after it began or when the execution ends, whichever is first. Returns at once. Not called
        where `lasts_s` is None. Comes from another thread, while `took_over` may be under way."""

    def took_over(self, aim: Aim, destination: str) -> str | None:
        """The other node that leads `destination` now; None while there is none, or the broker does not answer."""
