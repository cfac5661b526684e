"""Child processes: ports, readiness, logs, stop, and the supervisor of what `up` started. Knows no broker."""
