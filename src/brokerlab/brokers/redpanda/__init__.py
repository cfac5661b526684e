"""Redpanda: Kafka's protocol, with settings, durability and an administration of its own."""
