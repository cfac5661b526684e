"""What clients that speak STOMP can be told, whichever broker they speak it with."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.kit.setting_checks import TRUE_OR_FALSE, Known, whole_number

STOMP_CLIENT: Known = {"persistent": TRUE_OR_FALSE, "pending_bytes": whole_number()}
_DEFAULTS = {
    "persistent": "true",  # whether the broker's store keeps messages at all
    "pending_bytes": str(1 << 20),  # more unsent bytes than this and `send` takes fewer
}


def stomp_settings(given: Mapping[str, str], **defaults: str) -> dict[str, str]:
    """What holds where something is given; `defaults` are those of the broker's own settings."""
    return {**_DEFAULTS, **defaults, **given}
