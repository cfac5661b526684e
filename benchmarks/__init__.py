"""Our own speed, beside the vendors' tools: alternately, in one go, with equal settings. `make bench`.

A figure here is never asserted by CI. The ratio is the result; medians come with their range, and every round says what
else used the machine.
"""
