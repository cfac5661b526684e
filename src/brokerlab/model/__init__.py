"""Frozen values every stage shares. Imports nothing of ours."""
