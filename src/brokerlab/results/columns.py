"""Columns that many result tables share."""

from __future__ import annotations

from brokerlab.model.metrics import MEASURES
from brokerlab.model.tables import Column

RUN = Column("run", "string", "", "run directory's name", since="0.2.0", default="", added=True)
COUNTED = Column(
    "counted", "boolean", "", "false: the execution was set aside, because the machine or our own agents spoiled it",
    since="0.2.0", default=True, added=True,
)  # fmt: skip
CELL = Column("cell", "string", "", "cell of the sweep")
REPEAT = Column("repeat", "int", "1", "repeat of the cell, from 1")
SECOND = Column("second_unix_s", "long", "s", "second of the UNIX clock")
PHASE = Column("phase", "string", "", "phase: warm_up, measure, drain")
MEASURE = Column("measure", "string", "", ", ".join(MEASURES))
GROUP = Column("group", "string", "", "consumer group; empty for producer-side rows")
EXECUTION = (RUN, CELL, REPEAT, COUNTED)


def count(name: str, meaning: str) -> Column:
    return Column(name, "long", "1", meaning)


def maybe(name: str, unit: str, meaning: str) -> Column:
    """A number that is null where it is not known."""
    return Column(name, "double", unit, meaning, nullable=True)
