"""The end of a fault that does not last: in time, or with the execution, and only once."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Ending:
    """Calls `end` after `after_s` from a thread of its own, or when `finish` is called before. It must not raise."""

    def __init__(self, end: Callable[[], None], after_s: float) -> None:
        self._end = end
        self._once = threading.Lock()
        self._has_ended = False
        self._timer = threading.Timer(after_s, self._now)
        self._timer.daemon = True
        self._timer.start()

    def finish(self) -> None:
        """Returns when the fault has ended."""
        self._timer.cancel()
        self._now()

    def _now(self) -> None:
        with self._once:
            if not self._has_ended:
                self._has_ended = True
                self._end()
