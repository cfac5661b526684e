"""Kafka with individual acknowledgement: the KMQ method of markers and redelivery, over the Kafka client."""
