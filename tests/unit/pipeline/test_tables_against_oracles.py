"""Every gold table against an answer computed another way: numpy on the raw samples, or DuckDB on the same files."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pytest

from brokerlab.model.histogram import bucket_of, lower_bound_ns, upper_bound_ns
from brokerlab.model.metrics import MEASURES
from brokerlab.results.verdict import Verdict
from synthetic import PARTITIONS, PRODUCERS, SyntheticRun

Rows = Callable[[str], list[dict[str, Any]]]
QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p95_ns": 0.95, "p99_ns": 0.99, "p999_ns": 0.999, "p9999_ns": 0.9999}


def duck(run: SyntheticRun, query: str) -> list[dict[str, Any]]:
    """Answer of DuckDB; {evidence} in the query is the evidence directory."""
    with duckdb.connect() as connection:
        found = connection.execute(query.replace("{run}", str(run.directory.path)))
        names = [d[0] for d in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def exact_quantile(samples: np.ndarray[Any, Any], q: float) -> int:
    """The sample of rank ceil(q n), then the bound of its bucket, at most the largest sample: sorting instead of merging
    histograms."""
    rank = max(1, math.ceil(q * len(samples) - 1e-9))
    return min(upper_bound_ns(int(bucket_of(np.sort(samples)[rank - 1 : rank])[0])), int(samples.max()))


def test_rate_per_second_sums_what_agents_did(rows: Rows, synthetic: SyntheticRun) -> None:
    expected = duck(
        synthetic,
        """SELECT cell, repeat, second_unix_s, role, "group", sum(sent)::BIGINT sent, sum(received)::BIGINT received,
                  sum(bytes)::BIGINT bytes, any_value(phase) phase
           FROM read_parquet('{run}/evidence/*/activity/*.parquet') GROUP BY ALL""",
    )
    got = {(r["cell"], r["repeat"], r["second_unix_s"], r["role"], r["group"]): r for r in rows("rate_per_second")}
    assert len(got) == len(expected) > 0
    for e in expected:
        found = got[e["cell"], e["repeat"], e["second_unix_s"], e["role"], e["group"]]
        assert {k: found[k] for k in ("sent", "received", "bytes", "phase")} == {
            k: e[k] for k in ("sent", "received", "bytes", "phase")
        }


def test_due_of_a_second_comes_from_the_schedule(rows: Rows) -> None:
    due = {(r["phase"], r["due"]) for r in rows("rate_per_second") if r["role"] == "producer"}
    assert due == {("warm_up", 1000), ("measure", 1000), ("drain", 0)}


@pytest.mark.parametrize("measure", MEASURES)
def test_phase_quantiles_are_those_of_the_sorted_samples(rows: Rows, synthetic: SyntheticRun, measure: str) -> None:
    checked = 0
    for row in rows("latency_per_phase"):
        if row["measure"] != measure:
            continue
        repeats = [row["repeat"]] if row["repeat"] else [1, 2]
        samples = np.concatenate([synthetic.truth[row["cell"], r].latencies_ns[measure, row["phase"]] for r in repeats])
        assert row["count"] == len(samples)
        assert (row["min_ns"], row["max_ns"]) == (samples.min(), samples.max())
        assert row["mean_ns"] == pytest.approx(samples.mean())
        assert {n: row[n] for n in QUANTILES} == {n: exact_quantile(samples, q) for n, q in QUANTILES.items()}
        assert row["negative"] == 0
        checked += 1
    assert checked == 2 * 3 * 2  # cells x (two repeats and both together) x phases


def test_second_quantiles_are_those_of_the_seconds_samples(rows: Rows, synthetic: SyntheticRun) -> None:
    found = rows("latency_per_second")
    seconds = sorted({r["second_unix_s"] for r in found if (r["cell"], r["repeat"]) == ("c01", 1)})
    for i, second in enumerate(seconds[2:]):  # behind two seconds of warm-up
        for row in (r for r in found if r["second_unix_s"] == second and (r["cell"], r["repeat"]) == ("c01", 1)):
            samples = np.array_split(synthetic.truth["c01", 1].latencies_ns[row["measure"], "measure"], 8)[i]
            assert row["count"] == len(samples)
            assert row["p50_ns"] == exact_quantile(samples, 0.5)
            assert row["p999_ns"] == exact_quantile(samples, 0.999)
            assert row["max_ns"] == samples.max()
    assert len(seconds) == 10


def test_histogram_holds_every_sample_in_its_bucket(rows: Rows, synthetic: SyntheticRun) -> None:
    for row in rows("latency_histogram"):
        repeats = [row["repeat"]] if row["repeat"] else [1, 2]
        samples = np.concatenate(
            [synthetic.truth[row["cell"], r].latencies_ns[row["measure"], row["phase"]] for r in repeats]
        )
        buckets, counts = np.unique(bucket_of(samples), return_counts=True)
        assert row["bucket"] == buckets.tolist()
        assert row["count"] == counts.tolist()


def test_heat_bands_hold_the_samples_between_their_bounds(rows: Rows, synthetic: SyntheticRun) -> None:
    found = [r for r in rows("latency_heat") if (r["cell"], r["repeat"]) == ("c02", 1)]
    measured = [r for r in found if (r["measure"], r["phase"]) == ("end_to_end_latency", "measure")]
    samples = synthetic.truth["c02", 1].latencies_ns["end_to_end_latency", "measure"]
    for low, high in {(r["lower_ns"], r["upper_ns"]) for r in measured}:
        inside = int(((samples >= low) & (samples <= high)).sum())
        assert sum(r["count"] for r in measured if r["lower_ns"] == low) == inside
    assert sum(r["count"] for r in measured) == len(samples)


def test_heat_bands_are_four_to_the_octave(rows: Rows) -> None:
    for row in rows("latency_heat"):
        assert row["lower_ns"] == lower_bound_ns(row["band"] << 5)
        octave = 1 << (row["lower_ns"].bit_length() - 1)
        assert row["upper_ns"] + 1 - row["lower_ns"] == octave // 4


def brute_force(run: SyntheticRun, cell: str, repeat: int) -> dict[str, int]:
    """Delivery counted message by message."""
    truth = run.truth[cell, repeat]
    n = dict.fromkeys(("sent", "acknowledged", "rejected", "unknown", "received", "delivered", "lost", "duplicated",
                       "reordered", "recovered", "unknown_absent", "aborted_read"), 0)  # fmt: skip
    for lane, outcomes in truth.outcome.items():
        arrivals = truth.arrivals[lane]
        n["sent"] += len(outcomes)
        n["received"] += len(arrivals)
        n["delivered"] += len(set(arrivals))
        n["duplicated"] += len(arrivals) - len(set(arrivals))
        highest, seen = -1, set()
        for s in arrivals:
            if s not in seen and s < highest:
                n["reordered"] += 1
            seen.add(s)
            highest = max(highest, s)
        for s, outcome in enumerate(outcomes):
            settled = "unknown" if outcome == "sent" else outcome
            n[settled] += 1
            name = {
                ("acknowledged", False): "lost",
                ("unknown", True): "recovered",
                ("unknown", False): "unknown_absent",
                ("rejected", True): "aborted_read",
            }.get((settled, s in seen))
            if name:
                n[name] += 1
    return n


def test_delivery_is_what_counting_message_by_message_gives(rows: Rows, synthetic: SyntheticRun) -> None:
    found = {(r["cell"], r["repeat"]): r for r in rows("delivery")}
    assert set(found) == set(synthetic.truth)
    for (cell, repeat), truth in synthetic.truth.items():
        row = found[cell, repeat]
        expected = brute_force(synthetic, cell, repeat)
        assert {k: row[k] for k in expected} == expected
        assert (row["corrupted"], row["unexpected"]) == (truth.faults.corrupted, truth.faults.unexpected)
        assert row["drained"] is True
        faults = truth.faults
        assert (row["lost"], row["duplicated"], row["reordered"]) == (faults.lost, faults.duplicated, faults.reordered)


def test_lost_ranges_name_exactly_the_lost_messages(rows: Rows, synthetic: SyntheticRun) -> None:
    named = {
        (r["cell"], r["repeat"], r["producer"], r["partition"], s)
        for r in rows("lost_range")
        for s in range(r["first"], r["last"] + 1)
    }
    lost = {
        (*key, *lane, s)
        for key, truth in synthetic.truth.items()
        for lane, outcomes in truth.outcome.items()
        for s, o in enumerate(outcomes)
        if o == "acknowledged" and s not in set(truth.arrivals[lane])
    }
    assert named == lost
    assert len(lost) == 9  # so the comparison was not of two empty sets


def test_agent_health_of_the_measure_phase(rows: Rows, synthetic: SyntheticRun) -> None:
    for row in rows("agent_health"):
        assert row["seconds"] == 8
        assert row["cpu_cores_mean"] == pytest.approx(0.3)
        assert row["cpu_cores_max"] == pytest.approx(0.3)
        samples = synthetic.truth[row["cell"], row["repeat"]].latencies_ns["send_delay", "measure"]
        producer = row["role"] == "producer"
        assert row["send_delay_p99_ns"] == (exact_quantile(samples, 0.99) if producer else 0)
        assert row["in_flight_max"] == (19 if producer else 0)
    assert len(rows("agent_health")) == 8


def test_readings_are_means_and_counters_become_rates(rows: Rows) -> None:
    found = [r for r in rows("reading_per_second") if (r["cell"], r["repeat"]) == ("c01", 1)]
    busy = {r["second_unix_s"]: r for r in found if r["metric"] == "cpu_busy_cores"}
    first = min(busy)
    assert busy[first + 3]["value"] == pytest.approx(0.83)
    assert [busy[first + i]["phase"] for i in (0, 1, 2, 9, 10)] == ["warm_up", "warm_up", "measure", "measure", "drain"]
    rates = [r for r in found if r["metric"] == "cpu_seconds_per_s"]
    assert len(rates) == 10  # the first reading has none before it
    assert {round(r["value"], 9) for r in rates} == {0.5}
    assert {r["unit"] for r in rates} == {"s/s"}
    assert not [r for r in found if r["metric"].endswith("_total")]


def test_steadiness_of_an_even_load_is_flat(rows: Rows) -> None:
    found = rows("steadiness")
    assert {r["series"] for r in found} == {"sent", "received", "publish_latency_log_p99", "end_to_end_latency_log_p99"}
    assert {r["label"] for r in found} == {"flat"}
    sent = [r for r in found if r["series"] == "sent"]
    assert {(r["seconds"], r["mean"], r["variation"], r["change_second"]) for r in sent} == {(7, 1000.0, 0.0, -1)}


def test_summary_has_the_rate_and_both_repeats(rows: Rows) -> None:
    found = {(r["cell"], r["metric"]): r for r in rows("run_summary")}
    assert found["c01", "sent_per_s"]["median"] == 1000.0
    assert found["c01", "received_bytes_per_s"]["median"] == 200_000.0
    assert found["c02", "lost"]["values"] == [9.0, 0.0]
    p99 = [r["p99_ns"] for r in rows("latency_per_phase")
           if (r["cell"], r["phase"], r["measure"]) == ("c01", "measure", "publish_latency") and r["repeat"]]  # fmt: skip
    row = found["c01", "publish_latency_p99_ns"]
    assert sorted(row["values"]) == sorted(p99)
    assert (row["n"], row["median"], row["low"], row["high"]) == (2, np.median(p99), min(p99), max(p99))
    assert (row["durability"], row["broker"], row["unit"]) == ("L4", "kafka", "ns")


def test_two_repeats_are_too_few_to_tell_cells_apart(rows: Rows) -> None:
    found = rows("comparison")
    assert {(r["cell_a"], r["cell_b"], r["answer"]) for r in found} == {("c01", "c02", "cannot tell")}


def test_verdict_reports_the_violation_and_adds_up_the_run(verdict: Verdict, synthetic: SyntheticRun) -> None:
    per_execution = int(500 * 10 / PARTITIONS) * PARTITIONS * PRODUCERS
    assert verdict.delivery["sent"] == per_execution * len(synthetic.truth)
    assert verdict.delivery["lost"] == 9
    assert verdict.delivery_violated
    assert verdict.exit_code() == 6
    assert verdict.complete
    assert verdict.headline.startswith("Delivery violated: 9 lost, 3 corrupted, 2 unexpected")


def test_good_evidence_leaves_no_quarantined_rows(rows: Rows) -> None:
    assert rows("quarantined_row") == []
