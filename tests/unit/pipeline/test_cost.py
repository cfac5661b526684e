"""Cost per message against DuckDB on the evidence, and what is said where something is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from brokerlab.judge.figures import costs
from brokerlab.model.metrics import COSTS
from brokerlab.pipeline.cost import cost_rows
from synthetic import SyntheticRun

Rows = Callable[[str], list[dict[str, Any]]]
WHERE = {"cell": "c01", "repeat": 1}
FIGURES = [m.key for m in COSTS]


def test_cost_is_what_the_evidence_adds_up_to(rows: Rows, synthetic: SyntheticRun) -> None:
    run = synthetic.directory.path
    with duckdb.connect() as db:
        expected = db.execute(
            f"""
            WITH a AS (SELECT * FROM read_parquet('{run}/evidence/*/activity/*.parquet')),
                 r AS (SELECT * FROM read_parquet('{run}/probes/*/reading/*.parquet')),
                 b AS (SELECT cell, repeat, min(second_unix_s) f, max(second_unix_s) - 1 l FROM a WHERE phase = 'measure' GROUP BY ALL),
                 c AS (SELECT cell, repeat, sum(sent) n, sum(received) m,
                         sum(cpu_user_ns + cpu_system_ns) FILTER (role = 'producer') p, sum(cpu_user_ns + cpu_system_ns) FILTER (role = 'consumer') q
                       FROM a JOIN b USING (cell, repeat) WHERE second_unix_s BETWEEN f AND l GROUP BY ALL),
                 k AS (SELECT cell, repeat, sum(value) cores FROM r JOIN b USING (cell, repeat)
                       WHERE subject = 'process:broker-1' AND metric = 'cpu_cores' AND second_unix_s BETWEEN f AND l GROUP BY ALL),
                 w AS (SELECT cell, repeat, max(value) - min(value) written FROM r JOIN b USING (cell, repeat)
                       WHERE metric = 'write_bytes_total' AND second_unix_s BETWEEN f - 1 AND l GROUP BY ALL),
                 s AS (SELECT cell, repeat, max(value) - min(value) grown FROM r WHERE metric = 'stored_bytes' GROUP BY ALL),
                 t AS (SELECT cell, repeat, sum(sent) total FROM a GROUP BY ALL)
            SELECT cell, repeat, p / n / 1e3, q / m / 1e3, (p + q) / n / 1e3, cores * 1e6 / n, written / n, grown / total
            FROM c JOIN k USING (cell, repeat) JOIN w USING (cell, repeat) JOIN s USING (cell, repeat) JOIN t USING (cell, repeat)"""
        ).fetchall()
    names = ("producer_cpu_us_per_message", "consumer_cpu_us_per_message", "client_cpu_us_per_message",
             "broker_cpu_us_per_message", "broker_disk_written_bytes_per_message", "stored_bytes_per_message")  # fmt: skip
    found = {(r["cell"], r["repeat"]): r for r in rows("cost")}
    assert len(found) == len(expected) == 4
    for cell, repeat, *values in expected:
        row = found[cell, repeat]
        assert [row[n] for n in names] == pytest.approx(values), (cell, repeat)
        assert (row["phase"], row["seconds"], row["reason"], row["counted"]) == ("measure", 7, "", True)
    summary = {r["metric"]: r for r in rows("run_summary") if r["cell"] == "c01"}
    assert summary["broker_cpu_us_per_message"]["values"] == [
        found["c01", r]["broker_cpu_us_per_message"] for r in (1, 2)
    ]
    assert summary["stored_bytes_per_message"]["unit"] == "B"


def rate(second: int, phase: str, role: str, n: int, cpu_ns: int | None = 10**8) -> dict[str, Any]:
    sent, received = (n, 0) if role == "producer" else (0, n)
    group = "" if role == "producer" else "g1"
    return {**WHERE, "second_unix_s": second, "phase": phase, "role": role, "group": group, "sent": sent,
            "received": received, "cpu_ns": cpu_ns}  # fmt: skip


def reading(second: int, subject: str, metric: str, value: float) -> dict[str, Any]:
    return {**WHERE, "second_unix_s": second, "subject": subject, "metric": metric, "value": value}


SENDING = [rate(s, "measure", "producer", 100) for s in range(10, 15)]


def test_without_readings_the_broker_cost_is_null_with_the_reason_and_never_0() -> None:
    (row,) = cost_rows(SENDING, [], {"producer-1"})
    assert row["producer_cpu_us_per_message"] == 1000.0
    assert row["client_cpu_us_per_message"] == 1000.0
    nulls = [name for name in FIGURES if row[name] is None]
    assert nulls == ["broker_cpu_us_per_message", "consumer_cpu_us_per_message",
                     "broker_disk_written_bytes_per_message", "stored_bytes_per_message"]  # fmt: skip
    assert row["reason"] == (
        "consumer_cpu: no such agents were at work; broker_cpu, broker_disk_written: no node's process was read;"
        " stored: the data directories were not read"
    )


def test_a_phase_in_which_nothing_was_sent_has_no_cost() -> None:
    (row,) = cost_rows([rate(s, "measure", "producer", 0) for s in range(10, 15)], [], set())
    assert [row[name] for name in FIGURES] == [None] * len(FIGURES)
    assert "producer_cpu, client_cpu" in row["reason"]
    assert "no messages were sent" in row["reason"]


def test_processes_of_ours_are_no_broker_and_a_node_read_too_seldom_gives_no_figure() -> None:
    readings = [
        reading(s, f"process:{name}", "cpu_cores", 1.0) for s in range(10, 14) for name in ("probe", "producer-1")
    ]
    (row,) = cost_rows(SENDING, readings, {"producer-1"})
    assert row["broker_cpu_us_per_message"] is None
    readings += [reading(s, "process:kafka-1", "cpu_cores", 0.5) for s in range(10, 14)]
    (row,) = cost_rows(SENDING, readings, {"producer-1"})
    assert row["broker_cpu_us_per_message"] == 5000.0
    readings.append(reading(10, "process:kafka-2", "cpu_cores", 0.5))
    (row,) = cost_rows(SENDING, readings, {"producer-1"})
    assert row["broker_cpu_us_per_message"] is None
    assert "kafka-2 was read in 1 of 4 s" in row["reason"]


def test_a_kernel_that_counts_no_writes_is_not_a_broker_that_writes_nothing() -> None:
    readings = [reading(s, "process:k-1", "write_bytes_per_s", 0.0) for s in range(10, 14)]
    (row,) = cost_rows(SENDING, readings, set())
    assert row["broker_disk_written_bytes_per_message"] == 0.0
    readings += [reading(s, "cluster", "stored_bytes", 100.0 * s) for s in range(9, 16)]
    (row,) = cost_rows(SENDING, readings, set())
    assert row["broker_disk_written_bytes_per_message"] is None
    assert "the kernel does not count" in row["reason"]
    assert row["stored_bytes_per_message"] == pytest.approx((1500 - 900) / 500)


def test_stored_bytes_need_a_reading_before_the_load_and_one_after_it() -> None:
    late = [reading(s, "cluster", "stored_bytes", 1.0) for s in range(10, 16)]
    assert "not read before the load" in cost_rows(SENDING, late, set())[0]["reason"]
    early = [reading(s, "cluster", "stored_bytes", 1.0) for s in range(9, 15)]
    assert "not read after all was sent" in cost_rows(SENDING, early, set())[0]["reason"]


def test_consumers_that_start_after_the_backlog_have_their_cost_in_the_drain() -> None:
    drain = [rate(s, "drain", "consumer", n) for s, n in ((15, 0), (16, 400), (17, 100), (18, 0))]
    readings = [reading(s, "process:k-1", "cpu_cores", 0.5) for s in range(10, 19)]
    measured, drained = cost_rows([*SENDING, *drain], readings, set(), {"c01"})
    assert (measured["consumer_cpu_us_per_message"], measured["sent"]) == (None, 400)
    assert (drained["phase"], drained["seconds"], drained["received"]) == ("drain", 2, 500)
    assert drained["consumer_cpu_us_per_message"] == pytest.approx(2 * 1e5 / 500)
    assert drained["broker_cpu_us_per_message"] == pytest.approx(1e6 / 500)
    assert [r["phase"] for r in cost_rows([*SENDING, *drain], readings, set())] == ["measure"]
    found = {metric: values for (_, metric), values in costs([measured, drained]).items()}
    assert found["consumer_cpu_us_per_message"] == {1: drained["consumer_cpu_us_per_message"]}
    assert found["broker_cpu_us_per_message"] == {1: pytest.approx(0.5 * 4 * 1e6 / 400)}
    assert found["backlog_broker_cpu_us_per_message"] == {1: pytest.approx(1e6 / 500)}
    assert "backlog_disk_written_bytes_per_message" not in found


def test_what_was_deleted_before_and_went_meanwhile_is_no_storage_of_a_message() -> None:
    sizes = [900e6, 901e6, 400e6, 401e6, 402e6, 403e6, 404e6]
    shrank = [reading(s, "cluster", "stored_bytes", size) for s, size in enumerate(sizes, 9)]
    (row,) = cost_rows(SENDING, shrank, set())
    assert row["stored_bytes_per_message"] is None
    assert "also shrank meanwhile" in row["reason"]


def test_a_second_in_which_messages_were_sent_and_read_does_not_tell_what_reading_writes() -> None:
    writing = [reading(s, "process:k-1", "write_bytes_per_s", 1e6) for s in range(10, 19)]
    for first, known in ((14, False), (15, True)):
        drain = [rate(s, "drain", "consumer", 100) for s in (first, 16)]
        _, drained = cost_rows([*SENDING, *drain], writing, set(), {"c01"})
        assert (drained["broker_disk_written_bytes_per_message"] is not None) == known
        assert ("still sent in a second of the reading" in drained["reason"]) != known
