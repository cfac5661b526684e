"""Makes a sensor data file shaped like that of the DEBS 2012 Grand Challenge: a machine's recordings, one per line.

66 tab-separated columns, about 220 bytes a line: an ISO timestamp (10 ms apart), a running index, 14 analog values that
drift, and 50 states that are 0 or 1 and seldom change. The same seed gives the same file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from brokerlab.errors import MachineError
from brokerlab.home import cache_directory

COLUMNS = 66
ANALOG_COLUMNS = 14  # drifting integers, five digits
STATE_COLUMNS = COLUMNS - 2 - ANALOG_COLUMNS
START = np.datetime64("2012-02-22T16:46:00.000000", "us")
INTERVAL_US = 10_000
TIME_ZONE = b"0+00:00"  # seven decimals of a second, as the original has
FIRST_INDEX = 2_556_001
LINES_AT_ONCE = 20_000

Digits = npt.NDArray[np.uint8]


def sensor_file(lines: int) -> Path:
    """Where the generated file of so many lines is kept for workloads that ask for one."""
    return cache_directory() / "sensors" / f"{lines}.tsv"


def make_sensor_file(path: Path, lines: int) -> None:
    """Write it where it is missing. Raises MachineError."""
    if not path.is_file():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MachineError(f"cannot make {path.parent}: {error.strerror}") from error
        write_sensor_file(path, lines, seed=1)


def write_sensor_file(path: Path, lines: int, seed: int) -> int:
    """Write `lines` lines and return the bytes written. The file appears whole or not at all."""
    if lines < 1:
        raise ValueError("a sensor file has at least one line")
    random = np.random.default_rng(seed)
    analog = random.integers(5_000, 15_000, ANALOG_COLUMNS)
    states = random.integers(0, 2, STATE_COLUMNS)
    part = path.with_name(f".{path.name}.part")
    written = 0
    try:
        with part.open("wb") as out:
            for first in range(0, lines, LINES_AT_ONCE):
                count = min(LINES_AT_ONCE, lines - first)
                text, analog, states = _lines(first, count, analog, states, random)
                written += out.write(text)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise MachineError(
            f"cannot write {path}: {error.strerror}", hint="choose another place or free some space"
        ) from error
    return written


def _lines(
    first: int,
    count: int,
    analog: npt.NDArray[np.int64],
    states: npt.NDArray[np.int64],
    random: np.random.Generator,
) -> tuple[bytes, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """`count` lines from number `first`, and the values the next ones go on from."""
    numbers = np.arange(first, first + count)
    walk = analog + np.cumsum(random.integers(-3, 4, (count, ANALOG_COLUMNS)), axis=0)
    walk = np.abs(walk) % 100_000
    flips = random.random((count, STATE_COLUMNS)) < 0.002
    state = (states + np.cumsum(flips, axis=0)) % 2
    stamps = np.datetime_as_string(START + numbers * np.timedelta64(INTERVAL_US, "us"), unit="us")
    zone = np.broadcast_to(np.frombuffer(TIME_ZONE, np.uint8), (count, len(TIME_ZONE)))
    columns = [
        np.hstack([np.char.encode(stamps, "ascii").view(np.uint8).reshape(count, -1), zone]),
        _digits(FIRST_INDEX + numbers, 10),
        *(_digits(walk[:, i], 5) for i in range(ANALOG_COLUMNS)),
        *((state[:, i : i + 1] + ord("0")).astype(np.uint8) for i in range(STATE_COLUMNS)),
    ]
    tab = np.full((count, 1), ord("\t"), np.uint8)
    pieces = [piece for column in columns for piece in (column, tab)]
    pieces[-1] = np.full((count, 1), ord("\n"), np.uint8)
    text = np.hstack(pieces)
    return text[text != 0].tobytes(), walk[-1], state[-1]


def _digits(values: npt.NDArray[np.int64], width: int) -> Digits:
    """The decimal digits of each value as characters; NUL where a zero would lead."""
    powers = 10 ** np.arange(width - 1, -1, -1)
    digits = (values[:, None] // powers % 10 + ord("0")).astype(np.uint8)
    digits[:, :-1][values[:, None] < powers[:-1]] = 0
    return digits
