"""Figures of the rate's course against numpy and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from brokerlab.judge.figures import figures
from brokerlab.model.environment import Ceilings

WHERE = {"cell": "c01", "repeat": 1, "phase": "measure", "bytes": 0}


def rate(second: int, role: str, n: int, group: str = "") -> dict[str, Any]:
    sent, received = (n, 0) if role == "producer" else (0, n)
    return {**WHERE, "second_unix_s": second, "role": role, "group": group, "sent": sent, "received": received}


def of(rates: list[dict[str, Any]], readings: list[dict[str, Any]] | None = None) -> dict[str, float]:
    return {metric: values[1] for (_, metric), values in figures(rates, [], [], [], readings=readings).items()}


def test_peak_and_variation_are_numpys_and_silent_seconds_count() -> None:
    rng = np.random.default_rng(1)
    sent = rng.integers(50, 150, 20)
    sent[7] = 0
    half = sent // 2
    rates = [rate(s, "producer", int(n)) for part in (half, sent - half) for s, n in enumerate(part) if s != 7]
    rates.append(rate(20, "producer", 999))  # may run into the drain: left out
    found = of(rates)
    assert found["sent_peak_per_s"] == sent.max()
    assert found["sent_variation"] == pytest.approx(sent.std(ddof=1) / sent.mean())
    assert "received_per_sent" not in found
    assert "received_variation" not in found


def test_received_over_sent_is_the_mean_of_the_groups() -> None:
    rates = [rate(s, "producer", 100) for s in range(5)]
    rates += [rate(s, "consumer", 100, "g1") for s in range(5)] + [rate(s, "consumer", 50, "g2") for s in range(5)]
    found = of(rates)
    assert found["received_per_sent"] == pytest.approx(0.75)
    assert found["received_peak_per_s"] == 150


def test_nothing_is_said_of_the_variation_of_a_single_second_or_of_nothing() -> None:
    assert "sent_variation" not in of([rate(0, "producer", 5), rate(1, "producer", 5)])
    silent = of([rate(s, "producer", 0) for s in range(5)])
    assert "sent_variation" not in silent
    assert silent["sent_peak_per_s"] == 0


def test_what_the_broker_took_in_is_added_over_nodes_and_needs_nearly_every_second() -> None:
    rates = [rate(s, "producer", 100) for s in range(11)]
    node = {**WHERE, "metric": "messages_in_per_s"}
    readings = [
        {**node, "subject": f"broker:k-{i}", "second_unix_s": s, "value": 10.0 * i} for i in (1, 2) for s in range(12)
    ]
    assert of(rates, readings)["broker_messages_in_per_s"] == pytest.approx(30.0)
    assert "broker_messages_in_per_s" not in of(rates, readings[:15])


def test_bytes_sent_are_a_share_of_the_ceilings_where_those_were_measured() -> None:
    rates = [{**rate(s, "producer", 10), "bytes": 3_000} for s in range(6)]
    ceilings = Ceilings(
        measured_unix_s=0.0, directory="", disk_write_bytes_per_s=12_000.0, fsync_p50_ns=1, fsync_p99_ns=1,
        loopback_bytes_per_s=30_000.0, other_cores=0.0,
    )  # fmt: skip
    found = figures(rates, [], [], [], ceilings=ceilings)
    assert found["c01", "sent_share_of_disk"] == {1: 0.25}
    assert found["c01", "sent_share_of_loopback"] == {1: 0.1}
    assert "sent_share_of_disk" not in of(rates)
