"""Headers onto blocks of messages, in place in the payload pool: C where the library is there, else numpy."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from brokerlab.agent.ledger import lateness_ns
from brokerlab.agent.payload import PayloadPool
from brokerlab.model.blocks import Int32s, Int64s
from brokerlab.model.header import CHECKSUM_WORD, HEADER_BYTES, SENT_WORD, checksum_keys
from brokerlab.native import library
from brokerlab.native.loader import address

BLOCK_MOST = 4096  # messages in one block


class Stamper(Protocol):
    """Numbers messages by lane and writes partition, sequence, both times and the checksum into their headers."""

    def stamp(
        self, first_slot: int, first_index: int, scheduled_ns: Int64s, handed_ns: int, free_since_ns: int
    ) -> tuple[Int32s, Int64s]:
        """Partitions and sequences of the messages; both arrays are reused by the next call. They are handed over at
        `handed_ns`, and the client last took fewer than were due at `free_since_ns`."""

    def take_back(self, taken: int) -> None:
        """Of the block stamped last, only the first `taken` were sent: the others' sequences are free again."""


class NativeStamper:
    def __init__(self, pool: PayloadPool, partitions: int) -> None:
        lib = library()
        assert lib is not None
        self._lib = lib
        self._pool = pool
        self._next_sequence = np.zeros(partitions, np.int64)
        self._partitions = np.zeros(BLOCK_MOST, np.int32)
        self._sequences = np.zeros(BLOCK_MOST, np.int64)
        self._out = tuple(address(a) for a in (self._next_sequence, self._partitions, self._sequences))
        self._pattern = (address(pool.partition_pattern), len(pool.partition_pattern))
        self._generation = -1
        self._stamped = 0

    def stamp(
        self, first_slot: int, first_index: int, scheduled_ns: Int64s, handed_ns: int, free_since_ns: int
    ) -> tuple[Int32s, Int64s]:
        pool = self._pool
        if pool.generation != self._generation:
            self._slots = tuple(address(a) for a in (pool.buffer, pool.offsets, pool.body_sums))
            self._generation = pool.generation
        n = self._stamped = len(scheduled_ns)
        if n > BLOCK_MOST:  # C would write beyond the arrays
            raise ValueError(f"a block has at most {BLOCK_MOST} messages, not {n}")
        times = (address(scheduled_ns), handed_ns, free_since_ns)
        self._lib.bl_stamp(*self._slots, first_slot, n, *self._pattern, first_index, *times, *self._out)
        return self._partitions[:n], self._sequences[:n]

    def take_back(self, taken: int) -> None:
        self._lib.bl_unstamp(self._out[1], taken, self._stamped, self._out[0])


class NumpyStamper:
    def __init__(self, pool: PayloadPool, partitions: int) -> None:
        self._pool = pool
        self._next_sequence = np.zeros(partitions, np.int64)
        self._keys = checksum_keys(HEADER_BYTES // 8)
        self._partitions = np.zeros(0, np.int32)

    def stamp(
        self, first_slot: int, first_index: int, scheduled_ns: Int64s, handed_ns: int, free_since_ns: int
    ) -> tuple[Int32s, Int64s]:
        pool, n = self._pool, len(scheduled_ns)
        partitions = pool.partition_pattern[(first_index + np.arange(n)) % len(pool.partition_pattern)]
        sequences = self._number(partitions)
        word = pool.offsets[first_slot : first_slot + n] >> 3
        words = pool.words
        low = words[word + 1] & np.uint64(0xFFFFFFFF0000FFFF)
        words[word + 1] = low | (partitions.astype(np.uint64) << np.uint64(16))
        words[word + 2] = sequences.astype(np.uint64)
        words[word + 3] = scheduled_ns.astype(np.uint64)
        sent_ns = scheduled_ns + lateness_ns(scheduled_ns, handed_ns, free_since_ns)
        words[word + SENT_WORD] = sent_ns.astype(np.uint64)
        with np.errstate(over="ignore"):
            total = pool.body_sums[first_slot : first_slot + n].copy()
            for i in range(HEADER_BYTES // 8):
                total += words[word + i] * self._keys[i]
        words[word + CHECKSUM_WORD] = total
        self._partitions = partitions
        return partitions, sequences

    def _number(self, partitions: Int32s) -> Int64s:
        """Each message's sequence: its lane's next number plus how often the lane came before it in the block."""
        order = np.argsort(partitions, kind="stable")
        lanes, first, counts = np.unique(partitions[order], return_index=True, return_counts=True)
        before = np.arange(len(partitions)) - np.repeat(first, counts)
        sequences = np.empty(len(partitions), np.int64)
        sequences[order] = before + np.repeat(self._next_sequence[lanes], counts)
        self._next_sequence[lanes] += counts
        return sequences

    def take_back(self, taken: int) -> None:
        np.subtract.at(self._next_sequence, self._partitions[taken:], 1)


def stamper(pool: PayloadPool, partitions: int) -> Stamper:
    """`partitions` is the number in the whole cell."""
    return NumpyStamper(pool, partitions) if library() is None else NativeStamper(pool, partitions)
