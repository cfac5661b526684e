"""Where the path in C serves: plain connections without a login, messages that are not compressed."""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.pulsar.driver_native import NativeConsumer, NativeProducer
from brokerlab.brokers.pulsar.settings import client_settings_of
from brokerlab.model.plan import Security
from brokerlab.native import library

__all__ = ["NativeConsumer", "NativeProducer", "available", "limit"]


def available() -> bool:
    return library() is not None


def limit(security: Security | None, client_settings: Mapping[str, str]) -> str | None:
    """What of this it does not do; None where it does all."""
    if security is not None:
        return "TLS and no login"
    return None if client_settings_of(client_settings)["compression_type"] == "NONE" else "compression"
