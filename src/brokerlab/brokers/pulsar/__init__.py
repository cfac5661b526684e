"""Apache Pulsar: standalone or ZooKeeper, bookies and brokers; drivers on pulsar-client; readings."""
