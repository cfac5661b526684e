"""How long nothing was acknowledged or delivered after a fault, from single messages, without bringing them together.

Where all messages are silent each part of them is. So a part (the messages that one task reads) passes on only its own
silences that are long enough, and the longest silence of all is the longest stretch that they have in common. `shortest`
bounds how many there can be; where no common silence is that long, finer ones are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerlab.model.blocks import Int64s

PUBLISH, DELIVERY = "publish", "delivery"
ALL_LANES = -1
NEVER = np.iinfo(np.int64).max
SHARE = 1 << 17  # of the time after a fault: the shortest silence that is passed on at first
FINER = 64  # how much shorter the next time
SILENCE = pa.schema(
    [
        ("number", pa.int32()), ("side", pa.string()), ("group", pa.string()), ("producer", pa.int32()),
        ("partition", pa.int32()), ("shortest_ns", pa.int64()), ("until_ns", pa.int64()),
        ("from_ns", pa.list_(pa.int64())), ("to_ns", pa.list_(pa.int64())),
    ]
)  # fmt: skip
OUTAGE = pa.schema(
    [
        ("number", pa.int32()), ("side", pa.string()), ("whole_ns", pa.int64()), ("lane_ns", pa.int64()),
        ("recovered", pa.bool_()), ("exact", pa.bool_()),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class After:
    """What is asked for: the time after a fault, up to the end of the measure phase."""

    number: int
    from_ns: int
    until_ns: int

    def shortest_ns(self, rounds: int) -> int:
        """The shortest silence to be passed on, after so many rounds that found none."""
        finer: int = FINER**rounds
        return max((self.until_ns - self.from_ns) // SHARE, 1) // finer


def silences(messages: pa.Table, faults: Iterable[After], rounds: int = 0) -> pa.Table:
    """Rows of SILENCE from good rows of `message` of one execution: one for each side, group and lane that any of them
    is of, and one for all lanes together."""
    delivered = pc.equal(messages["kind"].cast(pa.string()), "delivery")
    alive = messages.filter(pc.or_(delivered, pc.equal(messages["outcome"].cast(pa.string()), "acknowledged")))
    keys = ["kind", "group", "producer", "partition"]
    streams = alive.select([*keys, "at_mono_ns"])
    wanted = list(faults)
    rows = []
    for stream in _streams(streams, keys):
        times = [np.sort(at) for at in stream.lanes.values()]
        together = np.sort(np.concatenate(times), kind="stable")
        for fault in wanted:
            for (producer, partition), at in (*zip(stream.lanes, times, strict=True), ((ALL_LANES,) * 2, together)):
                begin, end = _silent(at, fault, rounds)
                rows.append(
                    (fault.number, stream.side, stream.group, producer, partition, fault.shortest_ns(rounds),
                     fault.until_ns, begin, end)
                )  # fmt: skip
    columns = list(zip(*rows, strict=True)) or [()] * len(SILENCE)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SILENCE, strict=True)], SILENCE)


@dataclass(frozen=True)
class _Stream:
    side: str
    group: str
    lanes: dict[tuple[int, int], Int64s]  # times of its messages


def _streams(rows: pa.Table, keys: Sequence[str]) -> Iterator[_Stream]:
    codes = [rows[name].combine_chunks() for name in keys]
    code = np.zeros(len(rows), np.int64)
    for column in codes:
        words = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        code = code * (len(words.dictionary) + 1) + words.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    at = rows["at_mono_ns"].to_numpy()[order]
    found: dict[tuple[str, str], dict[tuple[int, int], Int64s]] = {}
    for begin, end in zip(starts, [*starts[1:], len(order)], strict=True):
        kind, group, producer, partition = (column[int(order[begin])].as_py() for column in codes)
        side = DELIVERY if kind == "delivery" else PUBLISH
        found.setdefault((side, group), {})[producer, partition] = at[begin:end]
    for (side, group), lanes in found.items():
        yield _Stream(side, group, lanes)


def _silent(at: Int64s, fault: After, rounds: int) -> tuple[Int64s, Int64s]:
    """Beginnings and ends of the silences that begin between the fault and the end of the measure phase. The last one has
    no end where nothing came after that."""
    begin, end = np.searchsorted(at, fault.from_ns, side="right"), np.searchsorted(at, fault.until_ns)
    points = np.concatenate([[fault.from_ns], at[begin:end], at[end : end + 1] if end < len(at) else [NEVER]])
    long = np.flatnonzero(np.diff(points) >= fault.shortest_ns(rounds))
    return points[long], points[long + 1]


def outages(silent: pa.Table) -> pa.Table:
    """Rows of OUTAGE from all rows of SILENCE of an execution: the longest outage of all lanes together and of the worst
    lane, for side publish and delivery; of the worst group. `recovered`: the former ended with a message. `exact` is false
    where a silence shorter than what was passed on may be the longest."""
    streams: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    arrays = [silent[name].combine_chunks() for name in ("from_ns", "to_ns")]
    names = ("number", "side", "group", "producer", "partition", "shortest_ns", "until_ns")
    for i, key in enumerate(zip(*(silent[name].to_pylist() for name in names), strict=True)):
        parts = {name: column[i].values.to_numpy() for name, column in zip(("begin", "end"), arrays, strict=True)}
        streams.setdefault(key, []).append(parts)
    longest: dict[tuple[int, str], dict[str, list[tuple[int, bool, bool]]]] = {}
    for (number, side, _, producer, _, shortest_ns, until_ns), of_stream in streams.items():
        real_ns, last_ns = _common(of_stream, until_ns)
        of_side = longest.setdefault((number, side), {"all": [], "lane": []})
        found = (max(real_ns, last_ns), real_ns >= last_ns, max(real_ns, last_ns) >= shortest_ns)
        of_side["all" if producer == ALL_LANES else "lane"].append(found)
    rows = [
        {
            "number": number,
            "side": side,
            "whole_ns": max(found["all"])[0],
            "lane_ns": max(found["lane"])[0],
            "recovered": max(found["all"])[1],
            "exact": max(found["all"])[2] and max(found["lane"])[2],
        }
        for (number, side), found in longest.items()
    ]
    return pa.Table.from_pylist(rows, OUTAGE)


def _common(parts: Sequence[dict[str, Int64s]], until_ns: int) -> tuple[int, int]:
    """(longest silence common to all parts that ended, time from the last message to `until_ns`, negative where one came
    later)."""
    begin, end = (np.concatenate([part[name] for part in parts]) for name in ("begin", "end"))
    at = np.concatenate([end, begin])  # where one ends as another begins there was a message: ends come first
    step = np.concatenate([np.full(len(end), -1), np.full(len(begin), 1)])
    order = np.argsort(at, kind="stable")
    at, silent = at[order], np.cumsum(step[order])
    all_silent = np.flatnonzero(silent[:-1] == len(parts))
    begins, ends = at[all_silent], at[all_silent + 1]
    ended = ends != NEVER
    real_ns = int((ends - begins)[ended].max()) if ended.any() else 0
    last_ns = until_ns - int(begins[~ended][0]) if not ended.all() else -1
    return real_ns, last_ns
