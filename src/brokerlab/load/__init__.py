"""Starts agents, hands them their plan, follows their live line."""
