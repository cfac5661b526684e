"""Errors of client libraries as errors of ours, with text that people can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from brokerlab.errors import BrokerError
from brokerlab.model.plan import Endpoint

_MOST = 300  # characters


def words_of(error: Exception | str) -> str:
    """What an error says, in one line that is not too long."""
    return " ".join(str(error).split())[:_MOST] or type(error).__name__


@dataclass(frozen=True)
class Refusals:
    """What a product's client library raises, and what to do then."""

    product: str
    kinds: tuple[type[Exception], ...]
    hint: str
    hints: Mapping[str, str] = field(default_factory=dict)  # others, by a part of what is said; the first counts
    tell_kind: bool = False  # where what is said alone would tell too little

    def explained(self, error: Exception | str, where: Endpoint | str) -> BrokerError:
        said = f"{type(error).__name__}: {words_of(error)}" if self.tell_kind else words_of(error)
        hint = next((hint for part, hint in self.hints.items() if part in str(error)), self.hint)
        at = where if isinstance(where, str) else ", ".join(where.addresses)
        return BrokerError(f"{self.product} at {at}: {said}", hint=hint)

    @contextmanager
    def at(self, where: Endpoint | str, close: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Errors of the kinds become BrokerErrors, after `close`: what was begun is of no use."""
        try:
            yield
        except self.kinds as e:
            close()
            raise self.explained(e, where) from e
