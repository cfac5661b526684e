"""The memory broker with scripted, counted faults: what brokerlab finds can be compared with what was done."""
