"""Events of a run as its journal holds them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def event_detail(event: Mapping[str, Any]) -> dict[str, Any]:
    """The event's JSON detail; empty when it is not an object."""
    try:
        detail = json.loads(event["detail"] or "{}")
    except ValueError:
        return {"text": event["detail"]}
    return detail if isinstance(detail, dict) else {"text": detail}
