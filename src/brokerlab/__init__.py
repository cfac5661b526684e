"""brokerlab measures, verifies and watches message brokers, and says when not to believe the numbers."""

__version__ = "0.5.0"
