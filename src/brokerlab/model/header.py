"""The 48 bytes at the start of every message: who sent it, where it belongs, when it was due and sent, a checksum.

All integers little-endian:

    offset  size  field
         0     2  magic 0x4C42 ("BL")
         2     1  version (2)
         3     1  flags (0)
         4     4  run_tag: tells one execution's messages from any other
         8     2  producer
        10     2  partition, cell-wide
        12     4  length of the whole message in bytes
        16     8  sequence within the lane (producer x partition), from 0
        24     8  scheduled time, CLOCK_MONOTONIC nanoseconds of the producer's host
        32     8  checksum
        40     8  time of handing over to the client, same clock; see model/metrics.py

checksum = sum over the message's 8-byte words w_i (zero-padded at the end, the checksum's own word left out) of
w_i x k_i modulo 2^64, with fixed odd pseudo-random k_i. Odd keys make w -> w x k one-to-one, so damage within one word
is always found, and damage elsewhere is missed once in 2^64. Being linear, it lets a sender add the header's five other
words to a sum of the body computed once; and numpy computes it for a whole block as one matrix product.

Version 1 ended with the checksum. It is still where it was, so that what a run of an older release left in a broker is
told apart by its version (unexpected) and not taken for damage.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

HEADER_BYTES = 48
MAGIC = 0x4C42
VERSION = 2
CHECKSUM_WORD, SENT_WORD = 4, 5

HEADER = np.dtype(
    [
        ("magic", "<u2"),
        ("version", "u1"),
        ("flags", "u1"),
        ("run_tag", "<u4"),
        ("producer", "<u2"),
        ("partition", "<u2"),
        ("length", "<u4"),
        ("sequence", "<i8"),
        ("scheduled_mono_ns", "<i8"),
        ("checksum", "<u8"),
        ("sent_mono_ns", "<i8"),
    ]
)
assert HEADER.itemsize == HEADER_BYTES


def checksum_keys(words: int) -> npt.NDArray[np.uint64]:
    """k_0 .. k_(words-1): splitmix64 of the word's number, made odd; the checksum's own word has key 0."""
    with np.errstate(over="ignore"):
        z = (np.arange(words, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys = (z ^ (z >> np.uint64(31))) | np.uint64(1)
    if words > CHECKSUM_WORD:
        keys[CHECKSUM_WORD] = 0
    return keys


def checksum(message: bytes | bytearray | memoryview) -> int:
    """The checksum of one whole message, header included."""
    padded = bytes(message) + bytes(-len(message) % 8)
    words = np.frombuffer(padded, np.uint64)
    with np.errstate(over="ignore"):
        return int((words * checksum_keys(len(words))).sum(dtype=np.uint64))
