"""What broker folders share: install, ports, readiness, logs, stop, clean, checks of settings. Knows no broker by name."""
