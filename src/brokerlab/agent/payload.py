"""The messages a producer sends, made before it sends: a flat buffer of slots the engine stamps and hands on.

A slot starts at a multiple of 8 and is followed by zeros up to the next one, so checksums read whole words. What never
changes in a header (magic, version, run tag, producer, length) is in place; the engine writes partition, sequence,
both times and the checksum. Without `read_in_ram` the slots are a chunk of the file, replaced when used up.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from brokerlab.errors import MachineError
from brokerlab.model.blocks import Bytes, Int32s, Int64s
from brokerlab.model.header import HEADER_BYTES, MAGIC, VERSION, checksum_keys
from brokerlab.model.plan import DEFAULT_STRIPE, KeysPlan, PayloadPlan

POOL_BYTES = 16 << 20
POOL_BYTES_MOST = 32 << 20
MEMORY_LIMIT_BYTES = 512 << 20
CHUNK_BYTES = 4 << 20  # what one refill reads when a file is not held in memory
COPY_BYTES = 1 << 20  # index arrays are eight times what they move: work in pieces
KEYS_LEAST, KEYS_MOST = 1 << 16, 1 << 22

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class _Slots:
    """Messages laid out one behind the other, headers still empty but for what never changes."""

    words: Words
    offsets: Int64s
    lengths: Int32s
    body_sums: Words


class PayloadPool:
    """Slots to send from, and the patterns that say which partition (and key) message i has: pattern[i % len].

    `partitions` is the number in the whole cell. `generation` changes when a refill has replaced `buffer`, `words`,
    `offsets`, `lengths` and `body_sums`: code that keeps their addresses takes them again then.
    """

    def __init__(
        self,
        payload: PayloadPlan,
        keys: KeysPlan | None,
        *,
        partitions: int,
        seed: int,
        producer: int,
        run_tag: int,
        stripe: int = DEFAULT_STRIPE,
        pool_bytes: int = POOL_BYTES,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self._stamp = (run_tag, producer)
        self._lines: _LineChunks | None = None
        self._position = 0
        self.generation = 0
        random = np.random.default_rng([seed, producer, 2])
        if payload.kind == "random":
            lengths = _mixed_lengths(payload, pool_bytes, random)
            self._use(_random_slots(lengths, payload.compressibility, random))
        elif payload.kind == "file":
            self._use(_file_slots(_path(payload, producer), pool_bytes))
        elif payload.read_in_ram:
            self._use(_all_lines(_path(payload, producer)))
        else:
            self._lines = _LineChunks(_path(payload, producer), chunk_bytes)
            self.refill()
        self.key_pattern = None if keys is None else _drawn_keys(keys, random)
        self.partition_pattern = (
            _striped_partitions(partitions, producer, stripe)
            if self.key_pattern is None
            else (self.key_pattern % partitions).astype(np.int32)
        )

    @property
    def slots(self) -> int:
        return len(self.offsets)

    @property
    def in_memory(self) -> bool:
        """Whether the slots are all there is and may be gone through again and again without a refill."""
        return self._lines is None

    def take(self, most: int) -> tuple[int, int]:
        """(first, k): the next k <= most slots, first .. first + k - 1, never across the pool's end; k > 0 if most > 0.

        A pool that is not in memory reads its next chunk here: that is the cost `read_in_ram: false` measures.
        """
        if self._position == len(self.offsets):
            if self._lines is not None:
                self.refill()
            self._position = 0
        first = self._position
        k = min(most, len(self.offsets) - first)
        self._position += k
        return first, k

    def give_back(self, count: int) -> None:
        """The last `count` slots of the last `take` were not sent: the next one begins with them."""
        self._position -= count

    def refill(self) -> None:
        """Replace the slots by the file's next lines, from its beginning again after its end."""
        if self._lines is None:
            raise ValueError("this pool is in memory and is never refilled")
        self._use(_line_slots([self._lines.following()]))
        self._position = 0

    def close(self) -> None:
        """Close the data file, if one is open. Idempotent."""
        if self._lines is not None:
            self._lines.close()

    def _use(self, slots: _Slots) -> None:
        self.words = slots.words
        self.buffer: Bytes = slots.words.view(np.uint8)
        self.offsets = slots.offsets
        self.lengths = slots.lengths
        self.body_sums = slots.body_sums
        run_tag, producer = self._stamp
        first_word = slots.offsets >> 3
        self.words[first_word] = np.uint64(MAGIC | VERSION << 16 | run_tag << 32)
        self.words[first_word + 1] = np.uint64(producer) | slots.lengths.astype(np.uint64) << np.uint64(32)
        self.generation += 1


def _path(payload: PayloadPlan, producer: int) -> Path:
    if payload.paths:
        return Path(payload.paths[producer % len(payload.paths)])
    if payload.path is None:
        raise ValueError(f"a payload of kind {payload.kind} needs a path")
    return Path(payload.path)


def _offsets(lengths: Int32s) -> tuple[Int64s, int]:
    """Where slots of these lengths begin, and the bytes they take together."""
    ends = np.cumsum((lengths.astype(np.int64) + 7) & ~7)
    return np.concatenate([np.zeros(1, np.int64), ends[:-1]]), int(ends[-1])


def _slot_count(mean_bytes: float, pool_bytes: int) -> int:
    """About `pool_bytes` worth, at least 1024 unless that were too large, at least 16 unless those were huge."""
    slots = int(pool_bytes / mean_bytes)
    if slots < 1024:
        slots = max(16, min(1024, int(POOL_BYTES_MOST / mean_bytes)))
    return max(1, min(slots, int(MEMORY_LIMIT_BYTES / mean_bytes)))


def _mixed_lengths(payload: PayloadPlan, pool_bytes: int, random: np.random.Generator) -> Int32s:
    """Every size as often as its weight says, to within one slot, in random order."""
    sizes = np.array([s.message_bytes for s in payload.sizes], np.int32)
    shares = np.array([s.weight for s in payload.sizes], np.float64)
    shares /= shares.sum()
    slots = _slot_count(float(shares @ ((sizes + 7) & ~7)), pool_bytes)
    if len(sizes) == 1:
        return np.full(slots, sizes[0], np.int32)
    slots = min(slots, 1 << 16)
    drawn = np.searchsorted(np.cumsum(shares)[:-1], (np.arange(slots) + 0.5) / slots, side="right")
    return random.permutation(sizes[drawn])


def _random_slots(lengths: Int32s, compressibility: float, random: np.random.Generator) -> _Slots:
    """Incompressible bytes, and zeros for the compressible share at the end of every body."""
    offsets, total = _offsets(lengths)
    words = random.integers(0, 1 << 64, total // 8, np.uint64)
    buffer = words.view(np.uint8)
    noisy = HEADER_BYTES + np.rint((lengths - HEADER_BYTES) * (1.0 - compressibility)).astype(np.int64)
    if bool((lengths == lengths[0]).all()):
        rows = buffer.reshape(len(lengths), -1)
        rows[:, :HEADER_BYTES] = 0
        rows[:, int(noisy[0]) :] = 0
    else:
        ends = [*offsets[1:].tolist(), total]
        for start, filled, end in zip(offsets.tolist(), noisy.tolist(), ends, strict=True):
            buffer[start : start + HEADER_BYTES] = 0
            buffer[start + filled : end] = 0
    return _Slots(words, offsets, lengths, _body_sums(words, offsets))


def _file_slots(path: Path, pool_bytes: int) -> _Slots:
    """The whole file as one body, repeated so that blocks are long."""
    _check_size(path)
    length = HEADER_BYTES + path.stat().st_size
    slot_bytes = (length + 7) & ~7
    lengths = np.full(_slot_count(slot_bytes, pool_bytes), length, np.int32)
    words = np.zeros(len(lengths) * slot_bytes // 8, np.uint64)
    words.view(np.uint8).reshape(len(lengths), slot_bytes)[:, HEADER_BYTES:length] = np.fromfile(path, np.uint8)
    offsets, _ = _offsets(lengths)
    return _Slots(words, offsets, lengths, _body_sums(words, offsets))


def _check_size(path: Path) -> None:
    size = path.stat().st_size
    if size > MEMORY_LIMIT_BYTES:
        raise MachineError(
            f"{path} has {size / (1 << 20):,.0f} MiB; at most {MEMORY_LIMIT_BYTES >> 20} MiB are read into memory",
            hint="for lines, set producers.payload.read_in_ram: false; or give a smaller file",
        )


def _all_lines(path: Path) -> _Slots:
    _check_size(path)
    size = path.stat().st_size
    chunks = _LineChunks(path, CHUNK_BYTES)
    try:
        parts = [chunks.following()]
        got = len(parts[0])
        while got < size:
            parts.append(chunks.following())
            got += len(parts[-1])
    finally:
        chunks.close()
    return _line_slots(parts)


class _LineChunks:
    """Whole lines of a file, some megabytes at a time, over and over."""

    def __init__(self, path: Path, chunk_bytes: int) -> None:
        self._path = path
        self._chunk_bytes = chunk_bytes
        self._file: BinaryIO = path.open("rb")

    def following(self) -> bytes:
        """The next lines with their ends; the file's beginning follows its end."""
        text = self._file.read(self._chunk_bytes)
        if not text:
            self._file.seek(0)
            text = self._file.read(self._chunk_bytes)
        if not text:
            self.close()
            raise MachineError(f"{self._path} is empty: there is no line to send")
        return text if text.endswith(b"\n") else text + self._file.readline()

    def close(self) -> None:
        self._file.close()


def _line_slots(texts: list[bytes]) -> _Slots:
    """One slot for each line; line ends are not sent. Every text ends with a whole line."""
    lengths = np.concatenate([_line_lengths(t) for t in texts]) + np.int32(HEADER_BYTES)
    offsets, total = _offsets(lengths)
    words = np.zeros(total // 8, np.uint64)
    buffer = words.view(np.uint8)
    done = 0
    for text in texts:
        for piece in _pieces(text):
            sizes = _line_lengths(piece).astype(np.int64)
            source = np.frombuffer(piece, np.uint8)
            body = source[source != 10]
            before = np.cumsum(sizes) - sizes
            shift = offsets[done : done + len(sizes)] + HEADER_BYTES - before
            buffer[np.arange(len(body)) + np.repeat(shift, sizes)] = body
            done += len(sizes)
    return _Slots(words, offsets, lengths, _body_sums(words, offsets))


def _line_lengths(text: bytes) -> Int32s:
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10)
    if not text.endswith(b"\n"):
        ends = np.append(ends, len(text))
    return (np.diff(ends, prepend=-1) - 1).astype(np.int32)


def _pieces(text: bytes) -> list[bytes]:
    """The text in runs of whole lines of about COPY_BYTES."""
    pieces, start = [], 0
    while start < len(text):
        end = text.find(b"\n", min(start + COPY_BYTES, len(text)) - 1) + 1
        pieces.append(text[start : end or len(text)])
        start = end or len(text)
    return pieces


def _body_sums(words: Words, offsets: Int64s) -> Words:
    """What the words behind the header add to each slot's checksum (see model/header.py)."""
    starts = offsets >> 3
    sums = np.empty(len(starts), np.uint64)
    ends = np.append(starts[1:], len(words))
    keys = checksum_keys(int((ends - starts).max()))
    keys[: HEADER_BYTES // 8] = 0
    first = 0
    while first < len(starts):
        last = max(first + 1, int(np.searchsorted(ends, starts[first] + COPY_BYTES // 8, side="right")))
        begin, end = int(starts[first]), int(ends[last - 1])
        sizes = ends[first:last] - starts[first:last]
        within = np.arange(begin, end) - np.repeat(starts[first:last], sizes)
        sums[first:last] = np.add.reduceat(words[begin:end] * keys[within], starts[first:last] - begin)
        first = last
    return sums


def _striped_partitions(partitions: int, producer: int, stripe: int) -> Int32s:
    """So many consecutive messages go to one partition before the next one's turn."""
    turns = (np.arange(partitions, dtype=np.int64) + producer) % partitions
    return np.repeat(turns, stripe).astype(np.int32) if partitions > 1 else np.zeros(1, np.int32)


def _drawn_keys(keys: KeysPlan, random: np.random.Generator) -> Int32s:
    """Keys 0 .. count - 1; zipf: key k is 1 / (k + 1) times as frequent as key 0."""
    draws = min(max(KEYS_LEAST, 4 * keys.count), KEYS_MOST)
    if keys.distribution == "uniform":
        return random.integers(0, keys.count, draws, np.int32)
    cumulative = np.cumsum(1.0 / np.arange(1, keys.count + 1))
    drawn = np.searchsorted(cumulative[:-1], random.random(draws) * cumulative[-1], side="right")
    return np.asarray(drawn, np.int32)
