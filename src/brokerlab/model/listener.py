"""Who is told how a run goes while it goes. The runner speaks; what becomes of the words is the listener's affair."""

from __future__ import annotations

from typing import Protocol


class RunListener(Protocol):
    """Told in order, from one thread. No method may raise or wait."""

    def stage(self, text: str) -> None:
        """A new stage begins: "starting kafka (3 nodes)", "kafka, 20,000/s, repeat 2 of 3"."""

    def progress(self, done: float, text: str) -> None:
        """The share of the whole run that is done, 0 to 1, and the current live line."""

    def note(self, text: str) -> None:
        """Something worth keeping in the scroll-back: a repeat was finished, a cell kept from before."""
