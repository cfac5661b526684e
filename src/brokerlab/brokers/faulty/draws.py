"""Which fault and which delay a message gets: a pure function of the seed and the message's place in its lane.

So the same seed gives the same faults, however blocks were cut and whenever messages arrived.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from brokerlab.brokers.faulty.settings import SHARES, Delay, Faults
from brokerlab.model.blocks import Int64s

NONE, LOSS, DUPLICATION, REORDERING, CORRUPTION, REJECT, DROP_ACK = range(7)
Headers = npt.NDArray[np.void]
Words = npt.NDArray[np.uint64]


def _mixed(z: Words) -> Words:
    """splitmix64's finisher."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniforms(seed: int, purpose: int, headers: Headers) -> npt.NDArray[np.float64]:
    """One number in (0, 1) for each message; different purposes give independent numbers."""
    with np.errstate(over="ignore"):
        key = _mixed(np.array([seed], np.uint64) + np.uint64(purpose) * np.uint64(0x9E3779B97F4A7C15))
        lane = headers["producer"].astype(np.uint64) << np.uint64(16) | headers["partition"].astype(np.uint64)
        words = _mixed(_mixed(lane ^ key) + headers["sequence"].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) / float(1 << 53)


def draw_faults(faults: Faults, headers: Headers) -> npt.NDArray[np.int64]:
    """NONE or one fault for each message: the shares cut the unit interval, so no message gets two."""
    edges = np.cumsum([getattr(faults, name) for name in SHARES])
    kinds = np.searchsorted(edges, uniforms(faults.seed, 1, headers), side="right") + 1
    return np.where(kinds > len(SHARES), NONE, kinds)


def draw_delays_ns(seed: int, delay: Delay | None, headers: Headers) -> Int64s:
    """Added delay of each message."""
    if delay is None:
        return np.zeros(len(headers), np.int64)
    if delay.kind == "constant":
        return np.full(len(headers), int(delay.first_ns), np.int64)
    u = uniforms(seed, 2, headers)
    if delay.kind == "uniform":
        return (delay.first_ns + (delay.second - delay.first_ns) * u).astype(np.int64)
    normal = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * uniforms(seed, 3, headers))  # Box-Muller
    delays: Int64s = (delay.first_ns * np.exp(delay.second * normal)).astype(np.int64)
    return delays
