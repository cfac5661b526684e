"""What can go wrong on purpose: one module per kind of fault, and the thread that makes it happen in time."""
