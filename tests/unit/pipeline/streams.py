"""Lanes as hypothesis draws them, and the truth about each, counted message by message."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

WORDS = ("acknowledged", "rejected", "unknown", "sent")


@dataclass(frozen=True)
class Stream:
    """One lane: an outcome per message, and per consumer the numbers in arrival order. Numbers may go beyond sends."""

    outcomes: tuple[str, ...]
    arrivals: tuple[tuple[int, ...], ...]
    whole: bool


STREAMS = st.builds(
    Stream,
    outcomes=st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(tuple),
    arrivals=st.lists(st.lists(st.integers(0, 14), max_size=20).map(tuple), min_size=1, max_size=2).map(tuple),
    whole=st.booleans(),
)


def counted(stream: Stream) -> dict[str, int]:
    """The truth, message by message."""
    everything = [s for arrivals in stream.arrivals for s in arrivals]
    beyond = [s for s in everything if s >= len(stream.outcomes)]
    words = ["unknown" if w == "sent" else w for w in stream.outcomes]
    if not stream.whole:  # what arrived was sent, even if the sender's evidence is gone
        words += ["unknown" if s in beyond else "" for s in range(len(words), 15)]
    known = [s for s in everything if s < len(words) and words[s]]
    late = 0
    for arrivals in stream.arrivals:
        seen: list[int] = []
        for s in arrivals:
            late += s not in seen and any(t > s for t in seen)
            seen.append(s)
    here = set(everything)
    return {
        "sent": sum(bool(w) for w in words),
        "acknowledged": words.count("acknowledged"),
        "rejected": words.count("rejected"),
        "unknown": words.count("unknown"),
        "received": len(everything),
        "delivered": len(set(known)),
        "duplicated": len(known) - len(set(known)),
        "lost": sum(w == "acknowledged" and s not in here for s, w in enumerate(words)),
        "recovered": sum(w == "unknown" and s in here for s, w in enumerate(words)),
        "unknown_absent": sum(w == "unknown" and s not in here for s, w in enumerate(words)),
        "aborted_read": sum(w == "rejected" and s in here for s, w in enumerate(words)),
        "unexpected": len(everything) - len(known),
        "reordered": late,
    }
