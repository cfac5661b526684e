"""The listener of a run: what a run reports while it works, and a listener that ignores all of it."""

from __future__ import annotations

from typing import Protocol


class RunListener(Protocol):
    """Called in order, from one thread. No method may raise or block."""

    def stage(self, text: str) -> None:
        """A new stage begins: a broker's name with "starting ... (3 nodes)", "20,000/s, repeat 2 of 3"."""

    def progress(self, done: float, text: str) -> None:
        """The share of the current work that is done, 0 to 1, and the current live line."""

    def note(self, text: str) -> None:
        """Something worth keeping in the scroll-back: an execution has finished, or was kept from before."""


class SilentListener:
    """Ignores everything."""

    def stage(self, text: str) -> None: ...

    def progress(self, done: float, text: str) -> None: ...

    def note(self, text: str) -> None: ...


SILENT = SilentListener()
