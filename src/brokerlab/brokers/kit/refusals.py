"""Errors of client libraries as errors of ours, with text that people can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from brokerlab.errors import BrokerError

_MOST = 300  # characters


def words_of(error: Exception) -> str:
    """What an error says, in one line that is not too long."""
    return " ".join(str(error).split())[:_MOST] or type(error).__name__


@contextmanager
def explained_by(
    explain: Callable[[Exception], BrokerError], *kinds: type[Exception], close: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Errors of these kinds become BrokerErrors, after `close`: what was begun is of no use."""
    try:
        yield
    except kinds as e:
        close()
        raise explain(e) from e
