"""NATS JetStream: server processes, settings, drivers on nats-py, readings."""
