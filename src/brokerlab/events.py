"""The run's journal: what the runner saw and did, written the moment it happens."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

from brokerlab.evidence.tables import EVENT
from brokerlab.evidence.writer import SegmentWriter
from brokerlab.model.events import Event
from brokerlab.model.execution_id import ExecutionId
from brokerlab.secrets import redacted


class Journal:
    """Event rows of one execution."""

    def __init__(
        self, directory: Path, run: str, execution: ExecutionId, attempt: int = 1, writer: str = "runner"
    ) -> None:
        self._writer = SegmentWriter(directory, writer, EVENT, attempt)
        self._one_at_a_time = threading.Lock()  # faults are journalled from a thread of their own
        self._where: dict[str, list[Any]] = {"run": [run], "cell": [execution.cell], "repeat": [execution.repeat]}

    def add(self, event: Event, source: str = "runner") -> None:
        row: dict[str, list[Any]] = {
            "source": [source],
            "kind": [event.kind],
            "at_mono_ns": [time.monotonic_ns()],
            "detail": [redacted(json.dumps(event.detail(), ensure_ascii=False))],
        }
        with self._one_at_a_time:
            self._writer.add({**self._where, **row})
            self._writer.flush()
