"""Host, process, JVM and broker readings on an interval."""
