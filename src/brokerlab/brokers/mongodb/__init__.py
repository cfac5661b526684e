"""MongoDB's protocol as a queue: FerretDB on PostgreSQL, or a mongod of the user's."""
