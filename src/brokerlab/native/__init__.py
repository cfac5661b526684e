"""The small C library: built on first use with `cc`, loaded with ctypes; everything works without it, slower."""
