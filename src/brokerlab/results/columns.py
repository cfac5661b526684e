"""docs/measurements.md: every column of every table, written from the declarations, so that it cannot be out of date.

Run as `python -m brokerlab.results.columns > docs/measurements.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

from brokerlab.model.arrow import FIRST_WRITER
from brokerlab.model.metrics import MEASURE_TABLE
from brokerlab.model.tables import Column, Table
from brokerlab.results.tables import RESULT_TABLES

_MEASURES = "\n".join(f"- `{m.key}` = {m.meaning}" for m in MEASURE_TABLE)
_HEAD = f"""# Measurements: every column, its unit, its clock and its formula

Made from the declarations in `evidence/tables.py` and `results/tables.py`; do not edit (`make docs` writes it).

Clocks: `_mono_ns` is CLOCK_MONOTONIC of the host that wrote the row; `_unix_s` is the UNIX clock, derived from the
monotonic one with the pair of readings in environment.json. No broker's clock enters a latency.

Latencies, of every message:

{_MEASURES}

A message is handed over when the engine begins to stamp and send the block in which its client takes it; a message that
the client did not take is stamped again when it is offered again. So send_delay is our own lateness, or the time for which
the client's buffer was full, and what the client then does with the message is part of the latencies. Message by message
publish_latency = send_delay + publish_latency_from_send, and likewise end to end. In a closed loop a message is scheduled
when it is handed over. Runs of version 0.1.0 have no latencies from send.

Histograms are log-linear: bucket = (shift << 7) + (value >> shift), shift = max(bit_length(value) - 8, 0); a bucket is at most 0.78 %
of its value wide. Merging adds counts. A quantile q is the upper bound of the bucket that holds the sample of rank
ceil(q x count), but at most the largest sample, which is kept exactly.

Delivery: from ranges only. For each lane and group the numbers that were sent, acknowledged, rejected, left unknown and
received are compared range by range. lost = acknowledged - received; duplicated = deliveries - different numbers;
reordered = different numbers - numbers that raised the highest seen, in order of arrival within one consumer, epoch and
lane. A send that was never settled counts as unknown. Where evidence of an execution is missing, nothing is called lost
or unexpected.

## Limits of the verdict

| reason | rule | effect |
| --- | --- | --- |
| load_not_delivered | open loop: sent before the drain / due < 99 % | invalid |
| send_delay | open loop: p99 of send_delay > 10 % of the p99 of end_to_end_latency (publish_latency without consumers) | invalid above 1 ms, a note below (1 ms is our choice: lateness usual where two cores also carry the broker); the reason names the worst second and who else had the processors then |
| agent_saturated | an agent > 0.90 cores while behind its schedule, or while its group receives < 99 % of what is sent | invalid; a note in a closed loop |
| negative_latency | any sample below zero | invalid |
| broker_died, agent_died, broker_failed, failed | the journal says so | invalid |
| no_evidence | a finished execution left nothing | invalid |
| drain_incomplete | a group was not drained | cannot tell |
| nothing_received | a group received nothing of what was acknowledged | cannot tell |
| noisy_neighbour | mean of the measure phase of `cpu_steal_cores` or `cpu_foreign_cores` > 0.20 | cannot tell |
| disturbed | `retries` of the workload: an execution was run again because `noisy_neighbour` held; or because `send_delay` did, and would not have without the seconds in which, or beside which, the hypervisor took more than 0.05 cores or other programs more than 0.10. Never one that failed, had a planned fault, or in which a message was not acknowledged and received exactly once and in order | a note for each attempt left out; its evidence is kept in `abandoned/` |
| not_steady | label warming, slowing or none (a p99 with label none is a note; bursts, ramps and backlogs are exempt) | cannot tell |
| too_short, cut_short | fewer than 5 s measured, or less than 90 % of the plan | cannot tell |
| segment_quarantined, rows_quarantined | evidence could not be read or broke a rule | cannot tell |
| repeat_missing | a repeat did not finish | cannot tell if no repeat of the cell did, else a note |
| fault_missing | a finished execution in which a planned fault did not happen | invalid |

A planned fault (`planned_fault`, a note with what it did) is not a failure: a node that is killed as planned is not `broker_died`,
and where one happened `load_not_delivered`, `send_delay`, `agent_saturated` and `not_steady` become notes, because rates
and latencies of such a run include the outage. Delivery is judged as always.

The worst reason wins. Objectives are judged on the worst repeat and group. A quantile needs ln 0.05 / ln q samples:
299 for p99, 2,995 for p99.9, 29,956 for p99.99.
"""


def measurements(evidence: Mapping[str, Table], results: Mapping[str, Table] = RESULT_TABLES) -> str:
    """The whole page."""
    parts = [_HEAD, "## Evidence\n", *_sections(evidence.values()), "## Result tables\n", *_sections(results.values())]
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


def main() -> None:
    from brokerlab.evidence.tables import EVIDENCE_TABLES

    sys.stdout.write(measurements(EVIDENCE_TABLES))


if __name__ == "__main__":
    main()
