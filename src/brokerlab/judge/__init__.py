"""What may be believed: limits, reasons, statistics, and the verdicts of an execution, a cell and a run.

Reads small tables and documents only, so that it serves the runner, the pipeline, compare, studies and the report alike.
"""
