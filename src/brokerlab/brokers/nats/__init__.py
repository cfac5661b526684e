"""NATS JetStream: server processes, settings, drivers in C and on nats-py, readings."""
