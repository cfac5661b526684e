"""The rows of the page of runs: what was asked, how far it is, what may be believed, and its rate as a small line."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab.dashboard.segments import NewLines
from brokerlab.errors import BrokerlabError
from brokerlab.results.directory import RunDirectory, run_directories
from brokerlab.results.run_state import in_progress, run_state

POINTS = 60
Row = dict[str, Any]
Stamp = tuple[int, ...]


class RunList:
    """Rows of all runs, newest first. A run is read again only where its files have changed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, tuple[Stamp, Row]] = {}
        self._lock = threading.Lock()

    def rows(self) -> list[Row]:
        with self._lock:
            found = run_directories(self._root)
            rows = [self._row(run) for run in reversed(found)]
            names = {run.name for run in found}
            self._known = {name: row for name, row in self._known.items() if name in names}
            return rows

    def _row(self, run: RunDirectory) -> Row:
        stamp = self._stamp(run)
        known = self._known.get(run.name)
        if known is None or known[0] != stamp:
            known = self._known[run.name] = (stamp, run_row(run))
        return known[1]

    def _stamp(self, run: RunDirectory) -> Stamp:
        running = in_progress(run)
        files = [run.path / name for name in ("plan.json", "state.json", "verdict.json")]
        if running:
            files += sorted(run.path.glob("logs/*/live.jsonl"))
        return (int(running), *(_changed_ns(f) for f in files))


def _changed_ns(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def run_row(run: RunDirectory) -> Row:
    """One run; one whose files cannot be read is listed with the reason."""
    try:
        now = run_state(run)
    except (BrokerlabError, OSError) as e:
        return {"run": run.name, "kind": "load", "state": "unreadable", "headline": str(e).splitlines()[0], "brokers": [],
                "verdict": None, "tag": None, "question": "", "name": run.name, "finished": 0, "planned": 0, "spark": []}  # fmt: skip
    started = [e.started_unix_s for e in run.state().executions.values() if e.started_unix_s]
    verdict = now.verdict
    return {
        "run": run.name,
        "kind": now.plan.kind,
        "name": now.plan.name,
        "question": now.plan.question,
        "tag": now.plan.tag,
        "brokers": list(dict.fromkeys(c.broker for c in now.plan.cells)),
        "state": now.word,
        "finished": now.finished,
        "planned": len(now.executions),
        "verdict": verdict.verdict if verdict else None,
        "violated": verdict.delivery_violated if verdict else False,
        "headline": verdict.headline if verdict else "",
        "started_unix_s": min(started, default=None),
        "spark": spark(run, analyzed=verdict is not None),
    }


def spark(run: RunDirectory, *, analyzed: bool) -> list[float]:
    """Messages a second over the whole run, received or else sent, in at most POINTS steps; one execution follows the other."""
    rates = _from_table(run) if analyzed else []
    return thinned(rates or _from_lines(run), POINTS)


def _from_table(run: RunDirectory) -> list[float]:
    rates: dict[tuple[Any, ...], dict[str, int]] = {}
    columns = ["cell", "repeat", "second_unix_s", "role", "sent", "received"]
    for file in sorted((run.tables / "rate_per_second").glob("*.parquet")):
        try:
            rows = pq.read_table(file, columns=columns, use_threads=False)
        except (pa.ArrowException, OSError, KeyError, ValueError):
            return []
        for cell, repeat, second, role, sent, received in zip(*(rows[c].to_pylist() for c in columns), strict=True):
            _add(rates, (second, cell, repeat), role, sent, received)
    return _chosen(rates)


def _from_lines(run: RunDirectory) -> list[float]:
    rates: dict[tuple[Any, ...], dict[str, int]] = {}
    for file in sorted(run.path.glob("logs/*/live.jsonl")):
        for line in NewLines(file).read():
            _add(rates, (line.get("second", 0),), line.get("role"), line.get("sent", 0), line.get("received", 0))
    return _chosen(rates)


def _add(
    rates: dict[tuple[Any, ...], dict[str, int]], key: tuple[Any, ...], role: Any, sent: int, received: int
) -> None:
    of = rates.setdefault(key, {"producer": 0, "consumer": 0})
    if role in of:
        of[role] += sent if role == "producer" else received


def _chosen(rates: dict[tuple[Any, ...], dict[str, int]]) -> list[float]:
    role = "consumer" if any(of["consumer"] for of in rates.values()) else "producer"
    return [float(rates[key][role]) for key in sorted(rates)]


def thinned(values: Sequence[float], most: int) -> list[float]:
    """At most so many means of equal stretches."""
    if len(values) <= most:
        return list(values)
    ends = [round(i * len(values) / most) for i in range(most + 1)]
    return [round(sum(values[a:b]) / (b - a), 3) for a, b in itertools.pairwise(ends)]
