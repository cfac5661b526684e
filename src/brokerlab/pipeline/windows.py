"""Figures of a part of the measure phase over those of another: what the measure `during` of a claim asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from brokerlab.judge.claim_rows import StudyQuestion
from brokerlab.model.claims import Part, Window
from brokerlab.model.metrics import MEASURES

KEY = ("run", "cell", "repeat")


def window_figures(gold: Callable[[str], DataFrame], question: StudyQuestion) -> DataFrame:
    """(run, cell, metric, round, value): the median of the seconds of the first window / that of the second, for every
    counted execution. A latency is that of the worst group of each second."""
    executions = gold("executions").where(sf.col("run").isin(question.runs) & sf.col("counted"))
    counted = executions.select(*KEY, "round")
    parts = {p.figure: p for claim in question.claims for p in claim.parts if p.windows}
    rates = gold("rate_per_second").where(sf.col("run").isin(question.runs) & (sf.col("phase") == "measure"))
    begins = rates.groupBy(*KEY).agg(sf.min("second_unix_s").alias("begin"))
    frames = [_figure(gold, p, rates, begins).join(sf.broadcast(counted), list(KEY)) for p in parts.values()]
    nothing = counted.select("run", "cell", sf.lit("").alias("metric"), "round", sf.lit(0.0).alias("value")).limit(0)
    return reduce(DataFrame.unionByName, [f.select(*nothing.columns) for f in frames], nothing)


def _figure(gold: Callable[[str], DataFrame], part: Part, rates: DataFrame, begins: DataFrame) -> DataFrame:
    seconds = _rate(rates, part.metric) if part.metric.endswith("_per_s") else latency_by_second(gold, part.metric)
    at = sf.col("second_unix_s") - sf.col("begin")
    first, second = (_median(at, window) for window in part.windows)
    found = (
        seconds.join(sf.broadcast(begins), list(KEY)).groupBy(*KEY).agg(first.alias("during"), second.alias("before"))
    )
    return found.where("during is not null and before > 0").select(
        *KEY, sf.lit(part.figure).alias("metric"), (sf.col("during") / sf.col("before")).alias("value")
    )


def _median(at: Column, window: Window) -> Column:
    inside = (at >= window.from_s) & (at < window.to_s)
    return sf.percentile(sf.when(inside, sf.col("figure").cast("double")), 0.5)


def _rate(rates: DataFrame, metric: str) -> DataFrame:
    side = metric.removesuffix("_per_s")
    return rates.groupBy(*KEY, "second_unix_s").agg(sf.sum(side).alias("figure"))


def latency_by_second(gold: Callable[[str], DataFrame], metric: str) -> DataFrame:
    """(run, cell, repeat, second_unix_s, figure): a quantile of the measure phase, of the worst group of each second."""
    measure = max((m for m in MEASURES if metric.startswith(f"{m}_")), key=len)
    column = metric.removeprefix(f"{measure}_")
    rows = gold("latency_per_second").where((sf.col("measure") == measure) & (sf.col("phase") == "measure"))
    return rows.groupBy(*KEY, "second_unix_s").agg(sf.max(column).alias("figure"))
