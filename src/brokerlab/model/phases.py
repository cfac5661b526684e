"""The phases of an execution and the roles of agents by name, for what runs in Spark's executors: model.plan has them as
types, and needs pydantic."""

from __future__ import annotations

WARM_UP, MEASURE, DRAIN = "warm_up", "measure", "drain"
PHASES = (WARM_UP, MEASURE, DRAIN)  # in their order
PRODUCER, CONSUMER = "producer", "consumer"
