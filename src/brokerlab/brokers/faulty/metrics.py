"""What is watched of the faulty server: what is watched of the one in memory."""

from brokerlab.brokers.memory.metrics import METRICS

__all__ = ["METRICS"]
