"""A YAML text as nodes, refused where its aliases or its nesting would make it endless, huge or too deep to read.

Reading YAML recurses over the nodes and follows every alias, so `&p {again: *p}` never ends, nine levels of ten aliases
are a billion values, and 5,000 brackets exhaust the stack. Events come one after the other and cost nothing: they are
counted first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import yaml

LEVELS_MOST = 32  # of mappings and lists inside each other; the deepest workload has 6
ALIASED_VALUES_MOST = 10_000  # that aliases stand for, all together


class TooMuchError(yaml.MarkedYAMLError):
    """Good YAML that no workload needs. `problem` is a whole sentence for people, with what to do."""


def composed(text: str) -> yaml.Node | None:
    """The document's node, None for an empty one. Raises yaml.YAMLError, and TooMuchError as one of them."""
    _refuse_too_much(text)
    node: yaml.Node | None = yaml.compose(text, yaml.SafeLoader)
    return node


@dataclass
class _Extent:
    """How many values a node stands for, aliases followed, and how many levels they take."""

    anchor: str | None
    values: int = 1
    levels: int = 0

    def hold(self, inner: _Extent) -> None:
        self.values += inner.values
        self.levels = max(self.levels, 1 + inner.levels)


def _refuse_too_much(text: str) -> None:
    open_nodes: list[_Extent] = []
    anchored: dict[str, _Extent] = {}
    aliased_values = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            open_nodes.append(_Extent(event.anchor, levels=1))
            _check_levels(len(open_nodes), event)
            continue
        if isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            ended = open_nodes.pop()
        elif isinstance(event, yaml.AliasEvent):
            if any(node.anchor == event.anchor for node in open_nodes):
                raise _refusal(f"*{event.anchor} stands inside what it means; write the value out", event)
            ended = anchored.get(str(event.anchor), _Extent(None))  # one without an anchor is refused by composing
            aliased_values += ended.values
            _check_levels(len(open_nodes) + ended.levels, event)
            if aliased_values > ALIASED_VALUES_MOST:
                raise _refusal(
                    f"the aliases up to here stand for more than {ALIASED_VALUES_MOST:,} values; "
                    f"write out what is meant, or use `sweep`",
                    event,
                )
        elif isinstance(event, yaml.ScalarEvent):
            ended = _Extent(event.anchor)
        else:
            continue
        if not isinstance(event, yaml.AliasEvent) and ended.anchor is not None:
            anchored[ended.anchor] = ended
        if open_nodes:
            open_nodes[-1].hold(ended)


def _check_levels(levels: int, event: yaml.Event) -> None:
    if levels > LEVELS_MOST:
        raise _refusal(
            f"mappings and lists must be at most {LEVELS_MOST} levels deep; look for brackets that are not closed",
            event,
        )


def _refusal(sentence: str, event: yaml.Event) -> TooMuchError:
    return TooMuchError(None, None, sentence, cast(yaml.Mark, event.start_mark))
