"""The small C library: built on first use with `cc`, loaded with ctypes; everything works without it, slower.

`library()` gives it, or None with `why_not()` saying the reason. BROKERLAB_NATIVE=0 turns it off;
BROKERLAB_NATIVE=<file>.so takes that one instead, built with sanitizers for instance (tools/check_native.py).
"""

from brokerlab.native.loader import library, why_not

__all__ = ["library", "why_not"]
