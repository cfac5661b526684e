"""The fields of study.yaml: what may be written, with one sentence each. Unknown keys are refused.

These models check each value by itself; load.py checks what belongs together: cells, measures, files, published figures.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from brokerlab.model.claims import LIKE_WITH_LIKE
from brokerlab.model.plan import Frozen
from brokerlab.model.quantities import parse_bytes
from brokerlab.workload.quantity_fields import Count, Seconds

NAME = r"^[a-z0-9][a-z0-9-]{0,39}$"
ID = r"^[a-z0-9][a-z0-9.-]{0,59}$"

Name = Annotated[str, Field(pattern=NAME)]
Identifier = Annotated[str, Field(pattern=ID)]
Repeats = Annotated[int, Field(strict=True, ge=1, le=1000)]
ScaleName = Literal["quick", "full"]


def _text(value: Any) -> Any:
    """Figure 6 is called "6": YAML takes it for a number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _keys_as_text(value: Any) -> Any:
    return {_text(k): v for k, v in value.items()} if isinstance(value, dict) else value


def _numbers(value: Any) -> Any:
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


def _size(value: Any) -> int:
    return parse_bytes(value)


Bytes = Annotated[int, BeforeValidator(_size), WithJsonSchema({"type": ["string", "integer"]})]
Texts = tuple[Annotated[str, Field(min_length=1)], ...]


class RepeatRange(Frozen):
    least: Repeats = Field(4, description="Repeats that every cell gets; fewer than 4 answer no claim.")
    most: Repeats | None = Field(
        None, description="Repeats of cells whose claims are not clear before; left out: no more than `least`."
    )
    step: Repeats = Field(2, description="Repeats from one look to the next.")


class ScalePhases(Frozen):
    warm_up: Seconds | None = Field(None, ge=0, description="As in a workload; left out: as the workload says.")
    measure: Seconds | None = Field(None, gt=0, description="Likewise.")
    drain_limit: Seconds | None = Field(None, ge=0, description="Likewise.")


class Scale(Frozen):
    budget: Seconds | None = Field(None, description="No further look begins that would end after this much measuring.")
    repeats: RepeatRange = Field(default=RepeatRange.model_validate({}), description="How often each cell is run.")
    phases: ScalePhases = Field(default=ScalePhases.model_validate({}), description="Phases of all experiments.")
    cluster: Literal["kept", "one_by_one", "fresh"] = Field(
        "fresh",
        description="fresh: one for every execution; kept: one for executions with equal server settings that follow each "
        "other; one_by_one: the same, and all repeats on it before the next is started.",
    )
    set: dict[str, Any] = Field(default={}, description="Other fields of all workloads, by dotted path.")


class Scales(Frozen):
    quick: Scale = Field(description="Answers what the machine can answer, soon.")
    full: Scale | None = Field(None, description="The study's own sizes and durations.")


class Calibrate(Frozen):
    cell: Identifier = Field(description="The cell that is run first.")
    metric: str = Field("sent_per_s", description="What `0.7 of calibrated` is a share of.")
    repeats: Repeats = Field(2, description="How often; the median counts.")


class Figure(Frozen):
    title: str = Field("", description="What the figure shows.")
    cells: Texts = Field(
        min_length=1,
        description="Cells that are drawn, in this order; * stands for any characters, in cells of this experiment.",
    )
    metric: str = Field("sent_per_s", description="What is drawn of each cell.")
    x: str = Field("", description="What the horizontal axis shows: the column x of published.csv.")
    y: str = Field("", description="What the vertical axis shows; left out: the metric's name.")
    unit: str | None = Field(
        None, description="Unit of the vertical axis and of published.csv; left out: the metric's."
    )
    divide_by: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        1.0, description="The metric divided by this has the unit: 1_000_000 for MB/s from B/s."
    )
    along: Literal["cell", "second", "sent_bytes"] = Field(
        "cell", description="One point for each cell, or a line of each over the seconds, or over the bytes sent."
    )
    scale: ScaleName | None = Field(None, description="Its cells run, and it is on the page, at this scale only.")
    always_shown: bool = Field(
        False, description="On the page at the other scale too, with what was published and with cells that claims run."
    )


class Experiment(Frozen):
    id: Name = Field(description="Its name.")
    workload: str = Field(
        min_length=1, description="Workload file in the study's folder; runs alone with `brokerlab run`."
    )
    cells: dict[Identifier, dict[str, Any]] = Field(
        min_length=1,
        description="Name to fields that differ from the workload, by dotted path; a value may be {quick: .., full: ..} "
        "and a rate `0.7 of calibrated`.",
    )
    figures: Annotated[dict[str, Figure], BeforeValidator(_keys_as_text)] = Field(
        default={}, description="Figures and tables of the study that these cells repeat, by number."
    )


class Published(Frozen):
    value: Annotated[tuple[float, ...], BeforeValidator(_numbers)] | None = Field(
        None, description="The study's own figure; one for each part of an all(...)."
    )
    range: Annotated[tuple[float, ...], Field(min_length=2, max_length=2)] | None = Field(
        None, description="Where the study gives several."
    )
    text: str = Field("", description="Where it gives words instead of a figure.")
    where: str = Field("", description="Section, figure or table.")


class Requires(Frozen):
    cpu_count: Count | None = Field(None, description="Processors.")
    memory: Bytes | None = Field(None, description="Memory of the machine.")
    disk_free: Bytes | None = Field(None, description="Free where runs are kept.")
    scale: ScaleName | None = Field(None, description="Only this scale answers it.")
    driver_path: Literal["native"] | None = Field(
        None, description="All its cells are driven by a native path: a slower driver of ours would be the limit."
    )
    server: dict[str, str] = Field(
        default={}, description="Broker to the word that the version running here must begin with: {mongodb: MongoDB}."
    )
    because: str = Field("", description="Why; said where it is not met.")


class ClaimFields(Frozen):
    id: Identifier = Field(description="Its name.")
    says: str = Field(min_length=1, description="The claim in one sentence.")
    ours: bool = Field(
        False,
        description="Added here: the same asked another way, of another product, at another load, or a part of it apart.",
    )
    measure: str = Field(min_length=1, description="A measure over cells, such as ratio(a, b, sent_per_s).")
    published: Published = Field(default=Published.model_validate({}), description="What the study found.")
    holds: str | None = Field(None, description="The range in which the claim holds, such as above 1 or 0.95 to 1.05.")
    same: tuple[str, ...] = Field(LIKE_WITH_LIKE, description="What must be the same in all its cells.")
    unlike: str = Field("", description="Why cells of unlike driver path or durability may be compared.")
    expects: tuple[str, ...] = Field((), description="Reasons of a verdict that do not stop this claim.")
    requires: Requires = Field(default=Requires.model_validate({}), description="What it needs of the machine.")


class StudyFields(Frozen):
    """A published study: experiments that repeat it, and claims that are judged by them."""

    name: Name = Field(description="Its name: a-z, 0-9 and -.")
    title: str = Field(min_length=1, description="Authors, title and year, or what is tested.")
    source: str = Field("", description="Where it was published.")
    differs: Texts = Field((), description="What differs from the study's set-up.")
    contradicts_itself: Texts = Field((), description="Where the study's own tables and words do not agree.")
    absent: dict[str, str] = Field(default={}, description="Systems that cannot be run, each with the reason.")
    scales: Scales = Field(description="How much is measured.")
    calibrate: Calibrate | None = Field(None, description="What `of calibrated` in rates refers to.")
    experiments: tuple[Experiment, ...] = Field(min_length=1, description="Workloads with named cells.")
    claims: tuple[ClaimFields, ...] = Field(min_length=1, description="What is judged.")
