"""Claims of a study, judged from the lake's gold tables. Pure functions from frames to frames.

Values of single repeats come from execution_figure and executions; a claim with the values and facts of its cells is one group,
and judge.claims gives its verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from brokerlab.judge.claim_limits import SATURATED
from brokerlab.judge.claim_rows import FACTS, FIGURE, JUDGED, StudyQuestion, judged_rows, wanted_figures
from brokerlab.model.arrow import arrow_schema
from brokerlab.pipeline.schema import declared, spark_schema
from brokerlab.pipeline.windows import window_figures
from brokerlab.results.study_tables import CLAIM, CLAIM_PART

Gold = Callable[[str], DataFrame]  # a gold table of the lake by its name


def claim_tables(spark: SparkSession, gold: Gold, question: StudyQuestion) -> dict[str, DataFrame]:
    """The tables claim and claim_part."""
    found = judged_claims(claim_figures(spark, gold, question), claim_facts(spark, gold, question), question).cache()
    parts = declared(found, CLAIM_PART)
    chief = found.where("chief").withColumns({"reason": sf.col("claim_reason"), "measure": sf.col("claim_measure")})
    return {CLAIM.name: declared(chief, CLAIM), CLAIM_PART.name: parts}


def figures_by_round(gold: Gold, runs: Sequence[str]) -> DataFrame:
    """(run, cell, metric, round, value) of every counted execution that has the figure."""
    counted = (
        gold("executions").where(sf.col("run").isin(runs) & sf.col("counted")).select("run", "cell", "repeat", "round")
    )
    figures = gold("execution_figure").where(sf.col("run").isin(runs))
    joined = figures.join(sf.broadcast(counted), ["run", "cell", "repeat"])
    return joined.select("run", "cell", "metric", "round", "value")


def claim_figures(spark: SparkSession, gold: Gold, question: StudyQuestion) -> DataFrame:
    """Values of the cells that each claim names, of every metric that it is judged by."""
    wanted = _frame(spark, list(wanted_figures(question)), ("claim", "name", "metric"))
    members = members_frame(spark, question)
    figures = figures_by_round(gold, question.runs).unionByName(window_figures(gold, question))
    named = figures.join(sf.broadcast(members), ["run", "cell"])
    return declared(named.join(sf.broadcast(wanted), ["name", "metric"]), FIGURE)


def claim_facts(spark: SparkSession, gold: Gold, question: StudyQuestion) -> DataFrame:
    """At least one row for every cell of every claim."""
    runs = question.runs
    claims = _frame(spark, [(c.id, name) for c in question.claims for name in c.cells], ("claim", "name"))
    cells = gold("cells").where(sf.col("run").isin(runs))
    executions = gold("executions").where(sf.col("run").isin(runs))
    set_aside = executions.where((sf.col("state") == "finished") & ~sf.col("counted")).select("run", "cell", "repeat")
    told_of = (
        gold("reasons")
        .where(sf.col("run").isin(runs))
        .join(sf.broadcast(set_aside), ["run", "cell", "repeat"], "left_anti")
    )
    saturated = told_of.where(sf.col("code") == SATURATED).groupBy("run", "cell").agg(sf.min("text").alias("saturated"))
    reasons = told_of.where(sf.col("weight") != "note").select(
        "run", sf.col("cell").alias("of"), sf.struct("code", "affects", "text").alias("reason")
    )
    concerns = (sf.col("of") == sf.col("cell")) | (sf.col("of") == "")
    told = (
        cells.select("run", "cell")
        .join(sf.broadcast(reasons), "run")
        .where(concerns)
        .groupBy("run", "cell")
        .agg(sf.to_json(sf.sort_array(sf.collect_list("reason"))).alias("reasons"))
    )
    ended = executions.groupBy("run", "cell").agg(
        sf.count_if(sf.col("state") == "finished").alias("finished"),
        sf.count_if(sf.col("state") == "failed").alias("failed"),
        sf.min(sf.when(sf.col("state") == "failed", sf.col("reason"))).alias("failure"),
    )
    known = cells.drop("repeats_planned")
    for facts in (told, saturated, ended):
        known = known.join(facts, ["run", "cell"], "left")
    named = known.join(sf.broadcast(members_frame(spark, question)), ["run", "cell"])
    return declared(claims.join(named, "name", "left"), FACTS)


def judged_claims(figures: DataFrame, facts: DataFrame, question: StudyQuestion) -> DataFrame:
    """The frame `judged`: claims are judged side by side, each with its values and facts together."""
    schema = arrow_schema(JUDGED)

    def of_claim(key: tuple[pa.Scalar, ...], values: pa.Table, cells: pa.Table) -> pa.Table:
        rows = judged_rows(question, key[0].as_py(), values.to_pylist(), cells.to_pylist())
        return pa.Table.from_pylist(rows, schema).replace_schema_metadata(None)

    together = figures.groupBy("claim").cogroup(facts.groupBy("claim"))
    return together.applyInArrow(of_claim, schema=spark_schema(JUDGED))


def members_frame(spark: SparkSession, question: StudyQuestion) -> DataFrame:
    """(run, cell, name): where the cells of the study are."""
    return _frame(spark, [(m.run, m.cell, m.name) for m in question.members], ("run", "cell", "name"))


def _frame(spark: SparkSession, rows: Sequence[tuple[str, ...]], names: tuple[str, ...]) -> DataFrame:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return spark.createDataFrame(pa.table({n: pa.array(c, pa.string()) for n, c in zip(names, columns, strict=True)}))
