"""YAML to a checked RunPlan: units, sweeps, objectives. Starts nothing."""
