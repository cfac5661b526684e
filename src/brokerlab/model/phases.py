"""The phases of an execution by name, for those who read evidence: model.plan has them as a type."""

from __future__ import annotations

WARM_UP, MEASURE, DRAIN = "warm_up", "measure", "drain"
PHASES = (WARM_UP, MEASURE, DRAIN)  # in their order
