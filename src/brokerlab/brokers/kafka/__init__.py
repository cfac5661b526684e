"""Apache Kafka in KRaft mode, from its jars."""
