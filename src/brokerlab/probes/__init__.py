"""Host, process and broker readings on an interval, taken by one process of its own: `python -m brokerlab.probes`."""
