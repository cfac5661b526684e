"""PostgreSQL as a queue: server processes, tables, drivers on libpq's pipeline mode, readings."""
