"""The run directory and typed readers of its tables. Needs neither Spark nor a broker."""
