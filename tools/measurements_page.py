"""docs/measurements.md: every column of every table, written from the declarations, so that it cannot be out of date.

Run as `python tools/measurements_page.py > docs/measurements.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from brokerlab.evidence.tables import EVIDENCE_TABLES
from brokerlab.judge import limits
from brokerlab.judge.checks import AT_ONCE, CHECKS, SETS_ASIDE
from brokerlab.judge.choice_checks import set_aside_matters
from brokerlab.judge.fault_checks import EXPECTED_CODES
from brokerlab.judge.reasons import Check
from brokerlab.model.arrow import FIRST_WRITER
from brokerlab.model.metrics import MEASURE_TABLE
from brokerlab.model.quantiles import QUANTILES
from brokerlab.model.tables import Column, Table
from brokerlab.results.tables import RESULT_TABLES

_MEASURES = "\n".join(f"- `{m.key}` = {m.meaning}" for m in MEASURE_TABLE)
_HEAD = f"""# Measurements: every column, its unit, its clock and its formula

Made from the declarations in `evidence/tables.py` and `results/tables.py`; do not edit (`make docs` writes it).

Clocks: `_mono_ns` is CLOCK_MONOTONIC of the host that wrote the row; `_unix_s` is the UNIX clock, derived from the
monotonic one with the pair of readings in environment.json. No broker's clock enters a latency.

Latencies, of every message:

{_MEASURES}

send_delay is our own lateness: from the time a message was due, or from the time at which the client last took fewer
messages than were due if that is later, to the time at which the engine begins to hand over the block in which the client
takes it. A wait for a client whose buffer is full or whose connection is lost is therefore part of the latencies and not of
send_delay; `buffer_full` counts it. Time sent = time scheduled + send_delay, so message by message publish_latency =
send_delay + publish_latency_from_send, and likewise end to end: the latencies from send are the same without our lateness.
In a closed loop a message is scheduled when it is sent. Runs of version 0.1.0 have no latencies from send, and their
send_delay includes the wait for the client.

Histograms are log-linear: bucket = (shift << 7) + (value >> shift), shift = max(bit_length(value) - 8, 0); a bucket is at most 0.78 %
of its value wide. Merging adds counts. A quantile q is the upper bound of the bucket that holds the sample of rank
ceil(q x count), but at most the largest sample, which is kept exactly.

Delivery: from ranges only. For each lane and group the numbers that were sent, acknowledged, rejected, left unknown and
received are compared range by range. lost = acknowledged - received; duplicated = deliveries - different numbers;
reordered = different numbers - numbers that raised the highest seen, in order of arrival within one consumer, epoch and
lane. A send that was never settled counts as unknown. Where evidence of an execution is missing, nothing is called lost
or unexpected.
"""

_VERDICT = """## The verdict

Judged in three steps. **Execution** (one cell, once): each reason below says which of its figures (delivery, rates,
latencies) it makes invalid or leaves in doubt. **Cell**: delivery is as good as its worst execution. Rates and latencies
are *valid* where at least {enough} of the planned repeats, and of those that count, hold. An execution spoiled by the machine or by our own
agents is set aside: it stays in every table with `counted = false`, and is named beside `n`. Where one such cause spoils
most executions it is no accident: the cell is *invalid*, and nothing is set aside. Between, *cannot tell*. Lost,
duplicated, reordered, corrupted or unexpected messages, unknown or refused sends, an incomplete drain and deaths are never
set aside. **Run**: as good as its worst cell, by what its question needs (a closed loop needs no latencies).

The last column says what becomes of an execution that was spoiled. *Run again*: the reason is looked for as soon as the
execution has ended, and at the end of the round another one is run in its place (at most `retries` extra ones a cell).
*Set aside*: the reason is found only when the run is analyzed, and nothing is run in its place.

`note` reasons inform and decide nothing. A planned fault is not a failure: a node that is killed as planned is not
`broker_died`, and where one happened {expected} become notes, because rates and latencies of such a run include the
outage. Delivery is judged as always.

Objectives are judged on the worst counted repeat and group, counts of messages on all. A quantile needs ln 0.05 / ln q
samples: {samples}.

| reason | rule | weight | spoiled by | affects | execution |
| --- | --- | --- | --- | --- | --- |
{rows}
"""


def _verdict() -> str:
    rows = [
        f"| {c.code} | {c.rule} | {c.weight} | {c.cause} | {', '.join(c.affects) or '-'} | {_what_becomes(c)} |"
        for c in (*CHECKS, set_aside_matters)
    ]
    return _VERDICT.format(
        enough="two thirds" if limits.ENOUGH_SHARE == 2 / 3 else f"{limits.ENOUGH_SHARE:.0%}",
        expected=", ".join(f"`{code}`" for code in EXPECTED_CODES),
        samples=", ".join(f"{q.fewest_samples:,} for {q.words}" for q in QUANTILES if q.share >= 0.99),
        rows="\n".join(rows),
    )


def _what_becomes(check: Check) -> str:
    """Of an execution that the machine or our own agents spoiled."""
    if check not in SETS_ASIDE:
        return "-"
    return "run again" if check in AT_ONCE else "set aside"


def measurements() -> str:
    """The whole page."""
    parts = [
        _HEAD,
        _verdict(),
        "## Evidence\n",
        *_sections(EVIDENCE_TABLES.values()),
        "## Result tables\n",
        *_sections(RESULT_TABLES.values()),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _sections(tables: Iterable[Table]) -> Iterable[str]:
    for table in tables:
        yield f"### {table.name}\n\n{table.meaning} Schema version {table.schema_version}.\n"
        yield "| column | type | unit | clock | definition |\n| --- | --- | --- | --- | --- |"
        yield "\n".join(_line(c) for c in table.columns) + "\n"


def _line(column: Column) -> str:
    meaning = column.meaning.replace("|", "\\|") + _since(column)
    return f"| `{column.name}` | {column.type} | {column.unit or '-'} | {_clock(column)} | {meaning} |"


def _since(column: Column) -> str:
    if column.since == FIRST_WRITER:
        return ""
    default = "null" if column.default is None else ("empty" if column.default in ("", ()) else column.default)
    return f" (since {column.since}; {default} in files from before)"


def _clock(column: Column) -> str:
    if column.name.endswith("_mono_ns"):
        return "monotonic"
    return "UNIX" if column.name.endswith("_unix_s") or column.name == "change_second" else "-"


if __name__ == "__main__":
    sys.stdout.write(measurements())
