"""What agents and probes write while a run goes on: schemas, segment writers, readers."""
