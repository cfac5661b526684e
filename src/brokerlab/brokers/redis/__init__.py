"""Redis and Valkey Streams: server processes, settings, drivers on raw connections parsed by hiredis, readings."""
