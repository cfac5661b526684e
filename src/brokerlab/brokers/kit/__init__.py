"""What broker folders share, so that a new one is mostly facts. Knows no broker by name."""
