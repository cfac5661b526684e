"""KurrentDB, which was EventStoreDB: streams with persistent subscriptions."""
