"""A run while it goes, in a few lines of text: what `brokerlab watch` shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from brokerlab.dashboard.following import FollowedRun
from brokerlab.dashboard.live_tables import LiveTables
from brokerlab.model.execution_id import ExecutionId
from brokerlab.model.metrics import MEASURE_TABLE
from brokerlab.report import figures
from brokerlab.report.sections.verdict import WORDS

BLOCKS = "▁▂▃▄▅▆▇█"
_SHORT = {m.key: m.short for m in MEASURE_TABLE}


def followed_lines(run: FollowedRun, wait: Callable[[float], None] = time.sleep) -> Iterator[list[str]]:
    """The lines as they stand, about once a second, until the run is no longer in progress."""
    while True:
        with run.reading():
            state = run.state()
            yield lines(run, state)
        if not state["in_progress"]:
            return
        wait(1.0)


def lines(run: FollowedRun, state: Mapping[str, Any]) -> list[str]:
    """One screen: where the run is, its rates, latency, lag, processors, and the verdict so far."""
    found = [f"{state['run']}  {state['word']}, {state['finished']} of {state['planned']} executions finished"]
    if state["verdict"] is not None:
        word, headline = WORDS[state["verdict"]["verdict"]], state["verdict"]["headline"]
        found.append(headline if headline.startswith(word) else f"{word}: {headline}")
    if state["shown"] is None:
        return [*found, "nothing has begun yet"]
    execution = ExecutionId.parse(state["shown"])
    tables = run.poll(execution)
    if run.plan.kind == "monitor":
        return [*found, f"watching, {figures.count(len(tables.rows('reading_per_second')))} readings so far"]
    so_far = run.so_far(execution, tables)
    label = next((e["label"] for e in state["executions"] if e["execution"] == state["shown"]), state["shown"])
    phases = {str(a["phase"]).replace("_", "-") for a in so_far["agents"]}
    found.append(f"{label}, repeat {execution.repeat}: {', '.join(sorted(phases)) or 'starting'}")
    found += _rates(tables, so_far) + _processors(tables, so_far)
    reasons = [r for r in so_far["reasons"] if r["weight"] != "note"]
    if state["verdict"] is None:
        found += [f"would be {r['weight']}: {r['text']}" for r in reasons] or ["nothing is amiss so far"]
    return found


def _rates(tables: LiveTables, so_far: Mapping[str, Any]) -> list[str]:
    counts, shown = so_far["counts"], []
    for role, column, word in (("producer", 1, "sent"), ("consumer", 3, "received")):
        seconds: dict[int, int] = {}
        for (of, _, second), values in tables.rows("rate_per_second").items():
            if of == role:
                seconds[second] = seconds.get(second, 0) + values[column]
        if seconds:
            order = [float(seconds[s]) for s in sorted(seconds)]
            now = order[-2] if len(order) > 1 else order[-1]  # the last second may still lack an agent
            shown.append(f"{word:9}{figures.rate(now):>12}  {bars(order[-40:])}  {figures.count(counts[word])} in all")
    latencies = {m: max((a["p99_ns"].get(m, 0) for a in so_far["agents"]), default=0) for m in ("publish_latency", "end_to_end_latency")}  # fmt: skip
    said = [f"{_SHORT[m]} {figures.duration(ns)}" for m, ns in latencies.items() if ns]
    groups = len({group for role, group, _ in tables.rows("rate_per_second") if role == "consumer"})
    lag = max(0, counts["sent"] * groups - counts["received"])
    return [*shown, *([f"{'p99':9}{', '.join(said)}"] if said else []), *([f"{'backlog':9}{figures.count(lag)} messages"] if groups else [])]  # fmt: skip


def _processors(tables: LiveTables, so_far: Mapping[str, Any]) -> list[str]:
    agents = [f"{a['agent']} {a['cpu_cores']:.2f}" for a in so_far["agents"] if a["cpu_cores"] is not None]
    names = {f"process:{a['agent']}" for a in so_far["agents"]}
    latest: dict[str, tuple[int, float]] = {}
    for (subject, metric, second), (value,) in tables.rows("reading_per_second").items():
        if metric == "cpu_cores" and subject.startswith("process:") and subject not in names:
            latest[subject] = max(latest.get(subject, (0, 0.0)), (second, value))
    nodes = [f"{subject.removeprefix('process:')} {value:.2f}" for subject, (_, value) in sorted(latest.items())]
    return [f"{'cores':9}{', '.join([*agents, *nodes])}"] if agents or nodes else []


def bars(values: list[float]) -> str:
    """A small chart of one line, from zero."""
    top = max(values, default=0.0)
    return "".join(BLOCKS[min(len(BLOCKS) - 1, int(v / top * (len(BLOCKS) - 1) + 0.5))] if top else BLOCKS[0] for v in values)  # fmt: skip
