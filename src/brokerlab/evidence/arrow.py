"""Arrow schemas of evidence tables; declared in model.arrow, because result tables use the same."""

from __future__ import annotations

from brokerlab.model.arrow import TABLE_KEY, VERSION_KEY, arrow_schema, schema_version

__all__ = ["TABLE_KEY", "VERSION_KEY", "arrow_schema", "schema_version"]
