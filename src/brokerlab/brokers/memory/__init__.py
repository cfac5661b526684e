"""A small real broker that ships with brokerlab: it calibrates the load agents and the verification."""
