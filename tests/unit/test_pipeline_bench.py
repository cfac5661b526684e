"""The generator behind `make bench-pipeline`: what it plants is what DuckDB counts in its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.duck import answers
from benchmarks.known_evidence import Case, write_evidence
from benchmarks.known_run import mono_ns


@pytest.mark.parametrize(
    "case",
    [
        Case("long", 20_000, lanes=4, seconds=10, slices=4, planted=40),
        Case("competing", 6000, lanes=2, run_length=1.6, consumers=3, seconds=10, slices=3, planted=60),
        Case("fault", 4000, lanes=2, seconds=10, slices=3, message_rows=True, fault=True),
        Case("messages", 40_000, lanes=2, consumers=2, seconds=10, slices=3, planted=40, message_rows=True),
    ],
    ids=lambda case: case.name,
)
def test_what_is_planted_is_in_the_files(tmp_path: Path, case: Case) -> None:
    truth = write_evidence(tmp_path / "run", case)
    times = (mono_ns(5), mono_ns(case.seconds)) if case.fault else None
    found = answers(tmp_path / "run", times, messages=case.keeps_messages)
    names = ("sent", "received", "lost", "duplicated", "reordered")
    assert {name: found[name] for name in names} == {name: getattr(truth, name) for name in names}
    assert truth.sent == case.messages
    assert truth.reordered > 0
    if case.fault:
        whole = {kind: longest for kind, longest, _ in found["outages"]}
        assert whole == {"send": truth.publish_outage_ns, "delivery": truth.delivery_outage_ns}
        assert truth.publish_outage_ns >= 2 * 10**9
    else:
        assert truth.lost > 0 < truth.duplicated
    if case.keeps_messages:
        expected = {
            "acknowledged": truth.sent,
            "received": truth.received,
            "lost": truth.lost,
            "duplicated": truth.duplicated,
        }
        assert found["messages"] == expected
        p99_ns = {kind: quantiles[1] for kind, quantiles in found["latencies"]}
        assert p99_ns == {"send": truth.publish_p99_ns, "delivery": truth.end_to_end_p99_ns}
        assert truth.message_rows == truth.sent + truth.received
