"""Watching without load: the table of metrics, targets, and readings and load given to other tools while they come."""
