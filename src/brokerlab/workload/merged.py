"""Plans of single cells joined to the plan of one run."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from brokerlab.model.plan import RunPlan
from brokerlab.workload.order import interleaved_in_groups, one_group_by_one


def merged(
    plans: Mapping[str, RunPlan], *, repeats: int, tag: str, one_by_one: bool = False, now_unix_s: float | None = None
) -> RunPlan:
    """One run of the cells of `plans`, which have one cell each; a cell's label is its name. What belongs to the whole
    run (name, question, seed, objectives) is that of the first plan. `one_by_one`: all repeats on one kept cluster before
    the next."""
    first = next(iter(plans.values()))
    width = max(2, len(str(len(plans))))
    cells = tuple(
        plan.cells[0].model_copy(update={"cell": f"c{i:0{width}d}", "label": name})
        for i, (name, plan) in enumerate(plans.items(), 1)
    )
    groups: dict[str | None, list[str]] = {}
    for cell in cells:
        groups.setdefault(cell.cluster_key(), []).append(cell.cell)
    order = (one_group_by_one if one_by_one else interleaved_in_groups)(list(groups.values()), repeats)
    retries = min(first.retries, repeats)
    decides = {
        "name": first.name,
        "cells": [cell.model_dump(mode="json") for cell in cells],
        "order": [execution.model_dump(mode="json") for execution in order],
        "retries": retries,
        "seed": first.seed,
        "tag": tag,
    }
    fingerprint = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()
    at = datetime.fromtimestamp(time.time() if now_unix_s is None else now_unix_s, UTC)
    return first.model_copy(
        update={
            "run": f"{at:%Y%m%dT%H%M%SZ}-{first.name}-{fingerprint[:6]}",
            "overrides": tuple(f"{name}: {text}" for name, plan in plans.items() for text in plan.overrides),
            "fingerprint": fingerprint,
            "tag": tag,
            "repeats": repeats,
            "retries": retries,
            "cells": cells,
            "order": order,
        }
    )
