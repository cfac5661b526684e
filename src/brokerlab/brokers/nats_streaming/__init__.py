"""NATS Streaming, an ended product, by its own protocol."""
