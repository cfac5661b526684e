"""Process machinery for brokers: install, ports, readiness, logs, stop, clean. Knows no broker by name."""
