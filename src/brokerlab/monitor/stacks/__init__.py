"""The monitoring programs others wrote, as child processes of ours: collectd and jmxtrans into Graphite, or Prometheus with
its node exporter. In a private folder, on loopback, without root."""
