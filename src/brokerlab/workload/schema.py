"""The JSON Schema of workload files, for editors that complete and check YAML."""

from __future__ import annotations

from typing import Any

from brokerlab.workload.fields import Workload


def json_schema() -> dict[str, Any]:
    """Draft 2020-12, from the same models that check the file; exactly one of broker and brokers is required."""
    schema = Workload.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "brokerlab workload"
    schema["oneOf"] = [{"required": ["broker"]}, {"required": ["brokers"]}]
    return schema
