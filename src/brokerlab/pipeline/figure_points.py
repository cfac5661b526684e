"""Points of a study's figures: what was published, and what the same cells gave here, on the same axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from brokerlab.judge.claim_rows import StudyQuestion
from brokerlab.judge.statistics import median_interval
from brokerlab.model.arrow import arrow_schema
from brokerlab.model.tables import Column, Table
from brokerlab.pipeline.claims import Gold, figures_by_round, members_frame
from brokerlab.pipeline.schema import declared, spark_schema
from brokerlab.pipeline.windows import latency_by_second
from brokerlab.results.study_tables import FIGURE_POINT

PUBLISHED, MEASURED = "published", "measured"
BYTES_OF_MB = 1e6


@dataclass(frozen=True)
class Slot:
    """A place in a figure. `y`, `low` and `high` are what was published there, None where nothing was."""

    figure: str
    series: str
    place: int
    x: float | None
    x_text: str
    cell: str
    y: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    is_published: bool = False


@dataclass(frozen=True)
class FigureQuestion:
    """What a figure draws of its cells; `along` is cell, second or sent_bytes."""

    figure: str
    metric: str
    divide_by: float
    unit: str
    along: str
    cells: tuple[str, ...]


_AT = Table(
    "median_at",
    "Median of a cell's repeats.",
    (
        Column("metric", "string", "", "metric"),
        Column("cell", "string", "", "cell of the study"),
        Column("y", "double", "", "median"),
        Column("low", "double", "", "lower end"),
        Column("high", "double", "", "upper end"),
        Column("n", "int", "1", "repeats"),
        Column("runs", "string", "", "runs"),
    ),
)


def figure_points(
    spark: SparkSession, gold: Gold, question: StudyQuestion, figures: Sequence[FigureQuestion], slots: Sequence[Slot]
) -> DataFrame:
    """The table figure_point."""
    by_number = {f.figure: f for f in figures}
    published = _slots(spark, question, [s for s in slots if s.is_published], by_number, PUBLISHED)
    single = [s for s in slots if s.cell and by_number[s.figure].along == "cell"]
    places = _slots(spark, question, single, by_number, MEASURED).drop("y", "low", "high", "n", "runs", "note")
    asked = _asked(spark, figures)
    medians = medians_by_cell(spark, gold, question)
    points = (
        places.join(sf.broadcast(asked), "figure")
        .join(medians, ["metric", "cell"])
        .withColumns({name: sf.col(name) / sf.col("divide_by") for name in ("y", "low", "high")})
        .withColumn("note", sf.lit(""))
    )
    lines = [_line(gold, question, f, members_frame(spark, question)) for f in figures if f.along != "cell"]
    frames = [declared(frame, FIGURE_POINT) for frame in (published, points, *lines)]
    return reduce(DataFrame.unionByName, frames)


def medians_by_cell(spark: SparkSession, gold: Gold, question: StudyQuestion) -> DataFrame:
    """Median and interval of every metric of every cell, over the counted executions of all its runs."""
    schema = arrow_schema(_AT)
    named = figures_by_round(gold, question.runs).join(sf.broadcast(members_frame(spark, question)), ["run", "cell"])

    def median(key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
        y, low, high = median_interval(rows["value"].to_pylist())
        runs = ",".join(sorted(set(rows["run"].to_pylist())))
        found = {"metric": key[0].as_py(), "cell": key[1].as_py(), "y": y, "low": low, "high": high,
                 "n": len(rows), "runs": runs}  # fmt: skip
        return pa.Table.from_pylist([found], schema).replace_schema_metadata(None)

    together = named.select("metric", "name", "run", "value").groupBy("metric", "name")
    return together.applyInArrow(median, schema=spark_schema(_AT))


def _line(gold: Gold, question: StudyQuestion, figure: FigureQuestion, members: DataFrame) -> DataFrame:
    """Every cell's first counted execution, second by second: over the seconds of the measure phase, or over the
    megabytes sent so far. The first and the last second are left out: the phase has but a part of each. Of a latency: the
    quantile of the messages of each second, nothing where there are none."""
    side = "received" if figure.metric.startswith("received") else "sent"
    role = "consumer" if side == "received" else "producer"
    first = (
        gold("executions")
        .where(sf.col("run").isin(question.runs) & sf.col("counted"))
        .groupBy("run", "cell")
        .agg(sf.min("repeat").alias("repeat"))
        .join(sf.broadcast(members), ["run", "cell"])
        .where(sf.col("name").isin(list(figure.cells)))
    )
    earliest = first.withColumn("at", sf.row_number().over(Window.partitionBy("name").orderBy("run"))).where("at = 1")
    counts = (
        gold("rate_per_second")
        .where(sf.col("run").isin(question.runs) & (sf.col("phase") == "measure") & (sf.col("role") == role))
        .join(sf.broadcast(earliest), ["run", "cell", "repeat"])
        .groupBy("run", "name", "second_unix_s")
        .agg(sf.sum(side).alias("count"), sf.sum("bytes").alias("bytes"))
    )
    if figure.metric.endswith("_per_s"):
        seconds = counts.withColumnRenamed("count", "figure")
    else:
        worst = latency_by_second(gold, figure.metric).join(sf.broadcast(earliest), ["run", "cell", "repeat"])
        seconds = counts.join(
            worst.select("run", "name", "second_unix_s", "figure"), ["run", "name", "second_unix_s"], "left"
        )
    so_far = Window.partitionBy("run", "name").orderBy("second_unix_s")
    to_come = Window.partitionBy("run", "name").orderBy(sf.desc("second_unix_s"))
    x = (
        sf.sum("bytes").over(so_far) / BYTES_OF_MB
        if figure.along == "sent_bytes"
        else (sf.col("second_unix_s") - sf.min("second_unix_s").over(so_far)).cast("double")
    )
    placed = seconds.withColumns(
        {"x": x, "place": sf.row_number().over(so_far), "from_end": sf.row_number().over(to_come)}
    )
    whole = (sf.col("place") > 1) & (sf.col("from_end") > 1) & sf.col("figure").isNotNull()
    return placed.where(whole).select(
        sf.lit(question.study).alias("study"), sf.lit(question.scale).alias("scale"),
        sf.lit(figure.figure).alias("figure"), sf.lit(MEASURED).alias("source"), sf.col("name").alias("series"),
        sf.col("place").cast("int").alias("place"), "x", sf.lit("").alias("x_text"),
        (sf.col("figure") / figure.divide_by).alias("y"), sf.lit(None).cast("double").alias("low"),
        sf.lit(None).cast("double").alias("high"), sf.lit(1).alias("n"), sf.lit(figure.unit).alias("unit"),
        sf.col("name").alias("cell"), sf.col("run").alias("runs"), sf.lit("").alias("note"),
    )  # fmt: skip


def _slots(
    spark: SparkSession,
    question: StudyQuestion,
    slots: Sequence[Slot],
    figures: Mapping[str, FigureQuestion],
    source: str,
) -> DataFrame:
    rows: list[dict[str, Any]] = [
        {"study": question.study, "scale": question.scale, "figure": s.figure, "source": source, "series": s.series,
         "place": s.place, "x": s.x, "x_text": s.x_text, "y": s.y, "low": s.low, "high": s.high, "n": 0,
         "unit": figures[s.figure].unit, "cell": s.cell, "runs": "", "note": s.note}
        for s in slots
    ]  # fmt: skip
    return spark.createDataFrame(pa.Table.from_pylist(rows, arrow_schema(FIGURE_POINT)).replace_schema_metadata(None))


def _asked(spark: SparkSession, figures: Sequence[FigureQuestion]) -> DataFrame:
    return spark.createDataFrame(
        pa.table(
            {
                "figure": pa.array([f.figure for f in figures], pa.string()),
                "metric": pa.array([f.metric for f in figures], pa.string()),
                "divide_by": pa.array([f.divide_by for f in figures], pa.float64()),
            }
        )
    )
