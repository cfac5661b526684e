"""The load process: a plan in, evidence out; the only place a message is timed."""
