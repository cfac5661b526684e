"""Every measure and figure once: what other modules, tables and pages know about them comes from here."""

from __future__ import annotations

MEASURES = (
    "publish_latency",
    "end_to_end_latency",
    "send_delay",
)  # histograms of an interval, in the order of the ledger
