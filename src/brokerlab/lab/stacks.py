"""Monitoring programs in the background, and what makes a Grafana show their points."""

from brokerlab.monitor.grafana.provisioning import Sources, write_provisioning
from brokerlab.monitor.stacks.control import STACKS, down, status, statuses, up

__all__ = ["STACKS", "Sources", "down", "status", "statuses", "up", "write_provisioning"]
