"""What the errors of a client library say about a published message."""

from __future__ import annotations

from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN


class OutcomeTable:
    """Outcomes by the errors' names, given as text with a name a word.

    Only what is surely not stored is `rejected`. What is not listed at all is unknown too; `unknown` and `elsewhere`
    (errors of other parts of the library) are there so that a test can hold the table against the library's own list,
    and a new version's errors do not slip in unseen.
    """

    def __init__(self, *, rejected: str, unknown: str, acknowledged: str = "", elsewhere: str = "") -> None:
        named = {ACKNOWLEDGED: acknowledged, REJECTED: rejected, UNKNOWN: f"{unknown} {elsewhere}"}
        self._outcomes = {name: outcome for outcome, names in named.items() for name in names.split()}

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._outcomes)

    def of(self, name: str) -> int:
        return self._outcomes.get(name, UNKNOWN)

    def with_outcome(self, outcome: int) -> frozenset[str]:
        return frozenset(name for name, found in self._outcomes.items() if found == outcome)
