"""PySpark: evidence to tables, one module per table."""
