"""Runs of any size whose truth is known: evidence as agents would have left it, with planted losses, repeats and swaps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.known_messages import Messages, numbers_of_runs
from benchmarks.known_run import MEASURE_MONO_NS, START_MONO_NS, START_UNIX_S, mono_ns, write_documents
from brokerlab.evidence.tables import ACTIVITY, EVENT, INTERVAL, MESSAGE, OUTCOME, READING, SEQUENCE
from brokerlab.evidence.writer import SegmentWriter
from brokerlab.model.histogram import SUB_BUCKET_BITS, bucket_of
from brokerlab.model.metrics import MEASURES, OF_DELIVERIES
from brokerlab.model.tables import Table

Int64s = npt.NDArray[np.int64]
MESSAGE_BYTES = 200
FAULT_AFTER_S = 5
NS = 1_000_000_000


@dataclass(frozen=True)
class Case:
    """How much of what there is. `run_length` is the mean length of runs of numbers as they arrive; every slice of each
    agent and table is a file."""

    name: str
    messages: int
    lanes: int = 16
    run_length: float = 100.0
    consumers: int = 1
    agents: int = 2  # that send, and as many that receive
    seconds: int = 60
    slices: int = 30
    message_rows: bool = False  # for a fault, or else as a workload with keep_messages leaves them
    fault: bool = False
    planted: int = 50  # of each kind of damage

    @property
    def keeps_messages(self) -> bool:
        return self.message_rows and not self.fault


@dataclass
class Truth:
    sent: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    received: int = 0
    ranges: int = 0
    message_rows: int = 0
    publish_outage_ns: int = 0
    delivery_outage_ns: int = 0
    publish_p99_ns: int = 0
    end_to_end_p99_ns: int = 0


@dataclass
class _Writers:
    directory: Path
    case: Case
    open: dict[tuple[str, str], SegmentWriter] = field(default_factory=dict)

    def write(self, agent: str, table: Table, columns: dict[str, Any]) -> None:
        """One segment; what is the same in all rows may be given once."""
        n = max(len(c) for c in columns.values() if isinstance(c, (np.ndarray, list)))
        fixed = {"run": self.directory.name, "cell": "c01", "repeat": 1, "agent": agent}
        full: dict[str, Any] = {
            k: v if isinstance(v, (np.ndarray, list)) else pa.repeat(v, n) for k, v in (fixed | columns).items()
        }
        root = {"reading": "probes", "event": "events"}.get(table.name, "evidence")
        writer = self.open.setdefault(
            (agent, table.name), SegmentWriter(self.directory / root / "c01-r1", agent, table)
        )
        writer.add({k: v for k, v in full.items() if k in table.names()})
        writer.flush()


def write_evidence(directory: Path, case: Case, seed: int = 1) -> Truth:
    """Make the run directory and return what its tables must say."""
    rng = np.random.default_rng(seed)
    rate_per_s = case.messages / case.seconds
    write_documents(
        directory, case.name, seconds=case.seconds, lanes=case.lanes, rate_per_s=rate_per_s, fault=case.fault,
        keep_messages=case.keeps_messages,
    )  # fmt: skip
    writers, truth = _Writers(directory, case), Truth()
    planted = _planted_slices(rng, case)
    ordinals = dict.fromkeys(range(case.consumers), 0)
    times: dict[str, list[Int64s]] = {"publish": [], "delivery": []}
    messages = Messages(rate_per_s / case.lanes, np.random.default_rng(seed))
    for number in range(case.slices):
        arrived = _write_lanes(rng, writers, truth, number, planted[number], ordinals)
        kept = _keep_messages(messages, writers, truth, number, arrived) if case.keeps_messages else {}
        _write_seconds(rng, writers, number, kept)
        if case.message_rows and case.fault:
            _write_messages(rng, writers, truth, number, times)
    if case.keeps_messages:
        truth.publish_p99_ns = messages.true_quantile_ns("send", 0.99)
        truth.end_to_end_p99_ns = messages.true_quantile_ns("delivery", 0.99)
    _write_rest(writers)
    for writer in writers.open.values():
        writer.close()
    if case.fault:
        until = mono_ns(case.seconds)
        truth.publish_outage_ns = _longest(times["publish"], until)
        truth.delivery_outage_ns = _longest(times["delivery"], until)
    return truth


def _planted_slices(rng: np.random.Generator, case: Case) -> list[int]:
    """How many of each kind of damage each slice gets."""
    counts: list[int] = np.bincount(rng.integers(0, case.slices, case.planted), minlength=case.slices).tolist()
    return counts


def _bounds(case: Case, number: int) -> tuple[int, int]:
    """First sequence number of a slice, and of the next, in every lane."""
    of_lane = case.messages // case.lanes
    return of_lane * number // case.slices, of_lane * (number + 1) // case.slices


def _write_lanes(
    rng: np.random.Generator, writers: _Writers, truth: Truth, number: int, planted: int, ordinals: dict[int, int]
) -> dict[int, dict[str, Any]]:
    """Ranges of one slice; by consumer the runs (partition, first, last) that it received, in order."""
    case = writers.case
    begin, end = _bounds(case, number)
    if end == begin:
        return {}
    arrived: dict[int, list[dict[str, Int64s]]] = {c: [] for c in range(case.consumers)}
    for lane in range(case.lanes):
        first, last = _cut(rng, begin, end, case.run_length)
        share = planted // case.lanes + (rng.random() < planted % case.lanes / case.lanes)
        for consumer, runs in _arrivals(rng, first, last, case.consumers, share, truth):
            arrived[consumer].append({"partition": np.full(len(runs), lane), "first": runs[:, 0], "last": runs[:, 1]})
        truth.sent += end - begin
    at = mono_ns(case.seconds * number // case.slices)
    received = {}
    for consumer, lanes in arrived.items():
        columns: dict[str, Any] = {
            k: np.concatenate([lane[k] for lane in lanes]) for k in ("partition", "first", "last")
        }
        n = len(columns["first"])
        received[consumer] = dict(columns)
        columns["ordinal"] = ordinals[consumer] + np.arange(n)
        ordinals[consumer] += n
        truth.ranges += n
        truth.received += int((columns["last"] - columns["first"] + 1).sum())
        same = {"group": "g1", "consumer": consumer, "epoch": 0, "producer": 0, "first_mono_ns": at,
                "last_mono_ns": at, "redelivered": 0, "first_position": -1, "last_position": -1}  # fmt: skip
        writers.write(f"consumer-g1-{1 + consumer % case.agents}", SEQUENCE, columns | same)
    _write_outcomes(rng, writers, truth, begin, end)
    return received


def _write_outcomes(rng: np.random.Generator, writers: _Writers, truth: Truth, begin: int, end: int) -> None:
    """All acknowledged, in ranges of their own lengths, and one range of what was handed over."""
    case = writers.case
    for agent in range(case.agents):
        lanes = range(agent, case.lanes, case.agents)
        cuts = [(lane, *_cut(rng, begin, end, max(case.run_length, 4.0))) for lane in lanes]
        if not cuts:
            continue
        partition = np.concatenate([np.full(len(first) + 1, lane) for lane, first, _ in cuts])
        first = np.concatenate([np.append(first, begin) for _, first, _ in cuts])
        last = np.concatenate([np.append(last, end - 1) for _, _, last in cuts])
        outcome = np.concatenate([np.array([*["acknowledged"] * len(first), "sent"]) for _, first, _ in cuts])
        truth.ranges += len(first)
        columns = {"partition": partition, "first": first, "last": last, "outcome": outcome.tolist(), "producer": 0}
        writers.write(f"producer-{1 + agent}", OUTCOME, columns)


def _cut(rng: np.random.Generator, begin: int, end: int, mean: float) -> tuple[Int64s, Int64s]:
    """[begin, end) cut into ranges of random lengths."""
    n = end - begin
    lengths = rng.geometric(1 / mean, int(n / mean * 1.2) + 20)
    ends = np.cumsum(lengths)
    while ends[-1] < n:
        ends = np.concatenate([ends, ends[-1] + np.cumsum(lengths)])
    ends = np.append(ends[ends < n], n)
    return begin + np.concatenate([[0], ends[:-1]]), begin + ends - 1


def _arrivals(
    rng: np.random.Generator, first: Int64s, last: Int64s, consumers: int, planted: int, truth: Truth
) -> Iterator[tuple[int, Int64s]]:
    """(consumer, its runs in order of arrival) with `planted` runs lost, as many repeated and as many swapped."""
    n = len(first)
    length = last - first + 1
    owner = rng.integers(0, consumers, n)
    chosen = rng.permutation(n)[: 2 * min(planted, n // 16)]
    lost, twice = np.split(chosen, 2)
    truth.lost += int(length[lost].sum())
    truth.duplicated += int(length[twice].sum())
    kept = np.ones(n, bool)
    kept[lost] = False
    index = np.concatenate([np.flatnonzero(kept), twice])
    by = np.concatenate([owner[kept], (owner[twice] + 1) % consumers])
    order = np.lexsort((index, by))
    index, by = index[order], by[order]
    for consumer in range(consumers):
        mine = index[by == consumer]
        whole = np.ones(len(mine), bool)
        whole[1:] &= ~np.isin(mine[1:], twice)
        swaps = np.flatnonzero(whole[:-1] & whole[1:] & ~np.isin(mine[:-1], twice)) if len(mine) > 1 else mine[:0]
        swaps = swaps[::4]
        swaps = rng.permutation(swaps)[: planted if consumer == 0 else 0]
        truth.reordered += int(length[mine[swaps]].sum())
        mine[swaps], mine[swaps + 1] = mine[swaps + 1], mine[swaps]
        yield consumer, np.stack([first[mine], last[mine]], axis=1)


def _keep_messages(
    messages: Messages, writers: _Writers, truth: Truth, number: int, arrived: dict[int, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """A row per send and delivery of a slice; by agent the columns of `interval` that follow from them."""
    case = writers.case
    begin, end = _bounds(case, number)
    seconds = range(case.seconds * number // case.slices, case.seconds * (number + 1) // case.slices)
    of_agent: dict[tuple[str, str, str], list[tuple[Int64s, Int64s]]] = {}
    for agent in range(case.agents):
        lanes = np.arange(agent, case.lanes, case.agents)
        sent = np.repeat(lanes, end - begin), np.tile(np.arange(begin, end), len(lanes))
        of_agent[f"producer-{1 + agent}", "send", ""] = [sent]
    for consumer, runs in arrived.items():
        name = f"consumer-g1-{1 + consumer % case.agents}"
        of_agent.setdefault((name, "delivery", "g1"), []).append(numbers_of_runs(runs))
    found = {}
    for (name, kind, group), numbers in of_agent.items():
        partition, sequence = (np.concatenate(column) for column in zip(*numbers, strict=True))
        columns, place = messages.rows(kind, group, partition, sequence)
        writers.write(name, MESSAGE, columns)
        truth.message_rows += len(sequence)
        found[name] = messages.histograms(kind, columns["scheduled_mono_ns"], place, seconds)
    return found


def _write_seconds(rng: np.random.Generator, writers: _Writers, number: int, kept: dict[str, dict[str, Any]]) -> None:
    """interval and activity of the seconds of a slice, all agents. `kept`: histograms that single messages make."""
    case = writers.case
    begin, end = case.seconds * number // case.slices, case.seconds * (number + 1) // case.slices
    if end == begin:
        return
    each = max(case.messages // case.seconds // case.agents, 1)
    seconds = list(range(START_UNIX_S + begin, START_UNIX_S + end))
    for agent in range(case.agents):
        for role, name in (("producer", f"producer-{1 + agent}"), ("consumer", f"consumer-g1-{1 + agent}")):
            sends = role == "producer"
            counts = {"sent": each * sends, "acknowledged": each * sends, "received": each * (not sends), "rejected": 0,
                      "unknown": 0, "bytes": each * MESSAGE_BYTES}  # fmt: skip
            where = {"role": role, "group": "" if sends else "g1", "second_unix_s": seconds, "phase": "measure"}
            histograms = _histograms(rng, sends, len(seconds), each) | kept.get(name, {})
            writers.write(
                name, INTERVAL,
                {**where, **counts, "destination": 0, "due": each * sends, "redelivered": 0, "negative": 0,
                 "negative_from_send": 0, "sub_bucket_bits": SUB_BUCKET_BITS, **histograms},
            )  # fmt: skip
            writers.write(
                name, ACTIVITY,
                {**where, **counts, "corrupted": 0, "unexpected": 0, "buffer_full": 0, "behind": 0, "in_flight": 1,
                 "ticks": 5000, "cpu_user_ns": 200_000_000, "cpu_system_ns": 50_000_000, "elapsed_ns": NS,
                 "longest_pause_ns": 0},
            )  # fmt: skip


def _histograms(rng: np.random.Generator, sends: bool, seconds: int, each: int) -> dict[str, Any]:
    """About a hundred buckets a second and measure; counts add up to `each`."""
    columns: dict[str, list[Any]] = {}
    for measure in MEASURES:
        taken = (measure in OF_DELIVERIES) != sends
        for _ in range(seconds):
            drawn = (2e6 * rng.lognormal(0, 0.4, min(each, 300))).astype(np.int64) if taken else np.empty(0, np.int64)
            buckets, counts = np.unique(bucket_of(drawn), return_counts=True)
            if taken:
                counts[0] += each - counts.sum()
            for name, value in (
                ("bucket", buckets.tolist()), ("count", counts.tolist()), ("min_ns", int(drawn.min(initial=1 << 50)) if taken else 0),
                ("max_ns", int(drawn.max(initial=0))), ("sum_ns", int(drawn.sum())),
            ):  # fmt: skip
                columns.setdefault(f"{measure}_{name}", []).append(value)
    return columns


def _write_messages(
    rng: np.random.Generator, writers: _Writers, truth: Truth, number: int, times: dict[str, list[Int64s]]
) -> None:
    """A row per send and per delivery, after a fault with a silence of 2 s (sends) and 3 s (deliveries)."""
    case = writers.case
    begin, end = _bounds(case, number)
    per_s = case.messages / case.lanes / case.seconds
    fault_ns = mono_ns(FAULT_AFTER_S)
    for agent in range(case.agents):
        lanes = np.arange(agent, case.lanes, case.agents)
        sequence = np.tile(np.arange(begin, end), len(lanes))
        scheduled = START_MONO_NS + (sequence / per_s * NS).astype(np.int64)
        for kind, name, group, outcome, silence_s in (
            ("send", f"producer-{1 + agent}", "", "acknowledged", 2), ("delivery", f"consumer-g1-{1 + agent}", "g1", "received", 3),
        ):  # fmt: skip
            at = scheduled + (1e6 * rng.lognormal(0, 0.5, len(scheduled))).astype(np.int64)
            if case.fault:
                silent = (at > fault_ns) & (at < fault_ns + silence_s * NS)
                at[silent] = fault_ns + silence_s * NS + rng.integers(0, 10**8, silent.sum())
                times["publish" if kind == "send" else "delivery"].append(at)
            truth.message_rows += len(at)
            writers.write(
                name, MESSAGE,
                {"kind": kind, "group": group, "producer": 0, "partition": np.repeat(lanes, end - begin),
                 "sequence": sequence, "scheduled_mono_ns": scheduled, "at_mono_ns": at, "outcome": outcome,
                 "ordinal": np.arange(len(at))},
            )  # fmt: skip


def _longest(times: list[Int64s], until_ns: int) -> int:
    at = np.sort(np.concatenate(times))
    after = np.concatenate([[mono_ns(FAULT_AFTER_S)], at[at > mono_ns(FAULT_AFTER_S)]])
    return int(np.diff(after)[after[:-1] < until_ns].max())


def _write_rest(writers: _Writers) -> None:
    """Readings, and a journal that says that all was drained."""
    case = writers.case
    seconds = np.arange(case.seconds + 1)
    writers.write(
        "probes", READING,
        {"at_mono_ns": START_MONO_NS + seconds * NS, "second_unix_s": START_UNIX_S + seconds, "subject": "host",
         "metric": "cpu_busy_cores", "value": 1.0 + seconds % 2, "unit": "cores"},
    )  # fmt: skip
    end = mono_ns(case.seconds)
    events: list[tuple[int, str, dict[str, Any]]] = [
        (START_MONO_NS, "phase", {"phase": "warm_up"}),
        (end + NS, "drain", {"complete": True, "groups": {"g1": {"complete": True}}}),
        (end + 2 * NS, "end", {}),
    ]
    if case.fault:
        begun = {"fault": "kill", "target": "leader", "node": "n1", "leader": "n1", "was_leading": True,
                 "at_s": float(FAULT_AFTER_S), "begun_mono_ns": mono_ns(FAULT_AFTER_S),
                 "measure_from_mono_ns": MEASURE_MONO_NS, "measure_until_mono_ns": end}  # fmt: skip
        events.insert(1, (mono_ns(FAULT_AFTER_S), "fault_begun", begun))
    at, kinds, details = zip(*events, strict=True)
    writers.write(
        "runner", EVENT,
        {"source": "runner", "at_mono_ns": list(at), "kind": list(kinds), "detail": [json.dumps(d) for d in details]},
    )  # fmt: skip
