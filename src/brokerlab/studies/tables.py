"""A study's tables: made by Spark from the lake where runs have been measured, kept until something they are made of changes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from brokerlab import __version__
from brokerlab.judge.claim_rows import Row, StudyQuestion, judged_rows
from brokerlab.model.arrow import arrow_schema, schema_problem
from brokerlab.model.metrics import METRICS
from brokerlab.results.directory import write_json
from brokerlab.results.study_tables import CLAIM, CLAIM_PART, FIGURE_POINT, STUDY_TABLES
from brokerlab.studies import published
from brokerlab.studies.load import FILE, Study
from brokerlab.studies.record import StudyDirectory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerlab.lake.reading import Lake
    from brokerlab.pipeline.figure_points import FigureQuestion, Slot

INPUTS = "inputs.json"


@dataclass(frozen=True)
class StudyTables:
    """Rows by the columns of results.study_tables, in order."""

    claims: list[Row]
    parts: list[Row]
    points: list[Row]


def inputs(study: Study, question: StudyQuestion) -> str:
    """Changes whenever the tables would: with the study's files, the runs, what the machine lacks and brokerlab itself."""
    files = [(study.folder / name) for name in (FILE, published.FILE)]
    texts = [f.read_text("utf-8") if f.is_file() else "" for f in files]
    columns = [(t.name, c.name, c.type) for t in STUDY_TABLES.values() for c in t.columns]
    made_of = [
        texts,
        repr(question.members),
        dict(question.absent),
        dict(question.unmet),
        question.looks,
        columns,
        __version__,
    ]
    return hashlib.sha256(json.dumps(made_of, sort_keys=True, default=str).encode()).hexdigest()


def kept_tables(directory: StudyDirectory, wanted: str) -> StudyTables | None:
    """The tables in the directory, if they were made of the same."""
    try:
        if json.loads((directory.tables / INPUTS).read_text())["inputs"] != wanted:
            return None
        found = {name: pq.read_table(directory.tables / name / "part-0.parquet") for name in STUDY_TABLES}
    except (OSError, ValueError, KeyError, pa.ArrowException):
        return None
    if any(schema_problem(found[name].schema, table) is not None for name, table in STUDY_TABLES.items()):
        return None
    return _rows(found)


def make_tables(
    study: Study,
    question: StudyQuestion,
    directory: StudyDirectory,
    lake: Callable[[], Lake],
    session: Callable[[], AbstractContextManager[SparkSession]],
) -> StudyTables:
    """Judge, write the tables and return them. Where nothing has been measured yet, neither lake nor Spark is asked."""
    found = _without_runs(study, question) if not question.members else _with_spark(study, question, lake(), session)
    fresh = directory.path / ".tables-new"
    shutil.rmtree(fresh, ignore_errors=True)
    for name, table in found.items():
        (fresh / name).mkdir(parents=True)
        pq.write_table(table, fresh / name / "part-0.parquet", compression="zstd")
    write_json(fresh / INPUTS, {"inputs": inputs(study, question)})
    shutil.rmtree(directory.tables, ignore_errors=True)
    fresh.replace(directory.tables)
    return _rows(found)


def _rows(tables: dict[str, pa.Table]) -> StudyTables:
    return StudyTables(*(tables[t.name].to_pylist() for t in (CLAIM, CLAIM_PART, FIGURE_POINT)))


def _with_spark(
    study: Study, question: StudyQuestion, lake: Lake, session: Callable[[], AbstractContextManager[SparkSession]]
) -> dict[str, pa.Table]:
    from brokerlab.pipeline.claims import claim_tables
    from brokerlab.pipeline.figure_points import figure_points

    with session() as spark:

        def gold(name: str) -> Any:
            return lake.frame(name, spark)

        frames = claim_tables(spark, gold, question)
        frames[FIGURE_POINT.name] = figure_points(spark, gold, question, figure_questions(study), slots(study))
        return {name: _in_order(name, frame.toArrow()) for name, frame in frames.items()}


def _without_runs(study: Study, question: StudyQuestion) -> dict[str, pa.Table]:
    nothing = [{"claim": c.id, "name": cell, "run": None} for c in question.claims for cell in c.cells]
    judged = [
        row
        for c in question.claims
        for row in judged_rows(question, c.id, [], [n for n in nothing if n["claim"] == c.id])
    ]
    chief = [r | {"reason": r["claim_reason"], "measure": r["claim_measure"]} for r in judged if r["chief"]]
    units = {f.figure: f.unit for f in figure_questions(study)}
    points = [
        {
            **vars(s),
            "study": study.name,
            "scale": question.scale,
            "source": "published",
            "n": 0,
            "unit": units[s.figure],
            "runs": "",
        }
        for s in slots(study)
        if s.is_published
    ]
    rows = {CLAIM.name: chief, CLAIM_PART.name: judged, FIGURE_POINT.name: points}
    return {n: _in_order(n, pa.Table.from_pylist(rows[n], arrow_schema(STUDY_TABLES[n]))) for n in rows}


def _in_order(name: str, found: pa.Table) -> pa.Table:
    keys = {
        CLAIM.name: ("number",),
        CLAIM_PART.name: ("claim", "part"),
        FIGURE_POINT.name: ("figure", "source", "series", "place"),
    }[name]
    return found.cast(arrow_schema(STUDY_TABLES[name])).sort_by([(key, "ascending") for key in keys])


def figure_questions(study: Study) -> list[FigureQuestion]:
    from brokerlab.pipeline.figure_points import FigureQuestion

    return [
        FigureQuestion(
            number, f.metric, f.divide_by, METRICS[f.metric].unit if f.unit is None else f.unit, f.along, cells
        )
        for number, f, cells in study.figures()
    ]


def slots(study: Study) -> list[Slot]:
    """Every place in a figure: those of published.csv, then cells that it does not name."""
    return [slot for number, _, cells in study.figures() for slot in _figure_slots(study, number, cells)]


def _figure_slots(study: Study, figure: str, cells: tuple[str, ...]) -> Iterator[Slot]:
    from brokerlab.pipeline.figure_points import Slot

    points = [p for p in study.points if p.figure == figure]
    numeric = bool(points) and all(_number(p.x) is not None for p in points)
    place = 0
    for place, p in enumerate(points, 1):
        yield Slot(
            figure, p.series, place, _number(p.x) if numeric else None, p.x, p.cell, p.y, p.low, p.high, p.note,
            is_published=True,
        )  # fmt: skip
    named = {p.cell for p in points}
    for number, cell in enumerate((c for c in cells if c not in named), place + 1):
        yield Slot(figure, "", number, None, cell, cell)


def _number(text: str) -> float | None:
    try:
        return float(text.replace("_", ""))
    except ValueError:
        return None


def lake_for(address: str | Path, directories: list[Path], add: Callable[[str | Path, list[Path]], Any]) -> Lake:
    """The lake at an address, made where there is none, with these runs in it."""
    from brokerlab import lake
    from brokerlab.errors import NotFoundError
    from brokerlab.lake.location import store_at
    from brokerlab.lake.manifest import init, present

    try:
        present(store_at(address))
    except NotFoundError:
        init(store_at(address))
    add(address, directories)
    return lake.open(address)
