from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerlab.evidence.segments import segments
from brokerlab.evidence.tables import EVIDENCE_TABLES, READING, SEQUENCE
from brokerlab.model.arrow import VERSION_KEY, arrow_schema, schema_version
from synthetic import write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run").directory.path


def one_segment(run: Path) -> Path:
    return sorted(run.glob("evidence/c01-r1/sequence/*.parquet"))[0]


def test_every_declared_column_is_in_the_arrow_schema_with_its_version() -> None:
    for table in EVIDENCE_TABLES.values():
        schema = arrow_schema(table)
        assert tuple(schema.names) == table.names()
        assert schema_version(schema) == table.schema_version


def test_whole_segments_of_all_executions_are_listed_with_their_rows(run: Path) -> None:
    readable, unreadable = segments(run, SEQUENCE)
    assert unreadable == []
    assert {s.execution for s in readable} == {"c01-r1", "c01-r2", "c02-r1", "c02-r2"}
    assert sum(s.rows for s in readable) == sum(pq.read_metadata(p).num_rows for p in run.glob("evidence/*/sequence/*"))


def test_readings_are_found_under_probes(run: Path) -> None:
    readable, _ = segments(run, READING)
    assert readable
    assert all(s.path.is_relative_to(run / "probes") for s in readable)


@pytest.mark.parametrize("keep", [0, 3, 500, -1])
def test_a_truncated_segment_is_listed_with_its_reason_and_stays_as_it_is(run: Path, keep: int) -> None:
    victim = one_segment(run)
    victim.write_bytes(victim.read_bytes()[:keep])
    left = victim.read_bytes()
    readable, (bad,) = segments(run, SEQUENCE)
    assert victim not in [s.path for s in readable]
    assert (run / bad.path, bad.execution, bad.table) == (victim, "c01-r1", "sequence")
    assert bad.reason
    assert victim.read_bytes() == left


def test_damage_behind_an_intact_footer_is_found(run: Path) -> None:
    victim = one_segment(run)
    data = bytearray(victim.read_bytes())
    data[4:300] = bytes(296)  # column chunks come first in the file, the footer last
    victim.write_bytes(bytes(data))
    pq.read_metadata(victim)  # the footer alone would not tell
    _, unreadable = segments(run, SEQUENCE)
    assert len(unreadable) == 1


def test_a_newer_schema_version_is_refused(run: Path) -> None:
    victim = one_segment(run)
    table = pq.read_table(victim)
    pq.write_table(table.replace_schema_metadata({VERSION_KEY: b"99"}), victim)
    _, (bad,) = segments(run, SEQUENCE)
    assert "schema version 99" in bad.reason
    assert "update brokerlab" in bad.reason


def test_missing_column_is_named(run: Path) -> None:
    victim = one_segment(run)
    table = pq.read_table(victim)
    pq.write_table(table.drop_columns(["ordinal"]), victim)
    _, (bad,) = segments(run, SEQUENCE)
    assert bad.reason == "columns missing: ordinal"


def test_column_of_another_type_is_named(run: Path) -> None:
    victim = one_segment(run)
    table = pq.read_table(victim)
    at = table.schema.get_field_index("first")
    pq.write_table(table.set_column(at, "first", table["first"].cast(pa.float64())), victim)
    _, (bad,) = segments(run, SEQUENCE)
    assert "first is double" in bad.reason


def test_segment_still_being_written_is_left_alone(run: Path) -> None:
    unfinished = one_segment(run).parent / ".consumer-g1-1-000009.parquet.tmp"
    unfinished.write_bytes(b"PAR1 half")
    also = one_segment(run).parent / ".consumer-g1-1-000010.parquet"
    also.write_bytes(b"PAR1 half")
    readable, unreadable = segments(run, SEQUENCE)
    assert unreadable == []
    assert not {unfinished, also} & {s.path for s in readable}
    assert unfinished.exists()
    assert also.exists()


def test_what_0_1_0_moved_to_quarantine_is_listed_with_the_reason_it_wrote(run: Path) -> None:
    victim = one_segment(run)
    moved = run / "quarantine" / victim.relative_to(run)
    moved.parent.mkdir(parents=True)
    victim.rename(moved)
    moved.with_name(moved.name + ".reason").write_text("unreadable, 3 bytes: cut\n")
    _, (bad,) = segments(run, SEQUENCE)
    assert (run / bad.path, bad.execution, bad.reason) == (moved, "c01-r1", "unreadable, 3 bytes: cut")
