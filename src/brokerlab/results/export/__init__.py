"""An analyzed run in the formats of other programs. Made from its tables and documents alone."""
