"""Servers that need what several recipes bring."""

from __future__ import annotations

from dataclasses import dataclass

from brokerlab.brokers.contract import Progress
from brokerlab.brokers.kit.recipes import Found, ServerRecipe


@dataclass(frozen=True)
class Together(ServerRecipe):
    """`programs` are those of the parts, as a tuple, or the user's own program alone. A server that is preferred stands
    for all parts: whether one of them could be preferred is not asked."""

    parts: tuple[ServerRecipe, ...]

    def fetched(self) -> Found | None:
        found = [part.fetched() for part in self.parts]
        whole = [one for one in found if one is not None]
        if len(whole) < len(found):
            return None
        programs, reasons = tuple(one.programs for one in whole), "; ".join(one.reason for one in whole)
        return Found(programs, self.version, reasons, whole[0].location)

    def impossible(self) -> str | None:
        return next(filter(None, (part.impossible() for part in self.parts)), None)

    def fetch_ours(self, progress: Progress) -> None:
        for number, part in enumerate(self.parts):

            def of_the_whole(what: str, share: float, before: int = number) -> None:
                progress(what, (before + share) / len(self.parts))

            part.fetch_ours(of_the_whole)
