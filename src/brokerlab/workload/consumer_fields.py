"""Fields of `consumers`: one set of groups, or a list of sets that start at different times."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from brokerlab.model.plan import Frozen
from brokerlab.workload.quantity_fields import Bytes, Count, Seconds

RECEIVE_MOST = 2048  # messages taken at once share one time of arrival
SET_NAME_PATTERN = (
    r"^[a-z][a-z0-9_]{0,15}$"  # part of groups' names in brokers of every kind; a hyphen ends the part before
)


class StartAfter(Frozen):
    after: Seconds = Field(ge=0, description="When, after the beginning of measure.")


class StartBacklog(Frozen):
    backlog: Annotated[Bytes, Field(ge=1)] = Field(description="Bytes of messages that producers have sent by then.")


def _start_form(value: Any) -> str:
    if isinstance(value, dict | StartAfter | StartBacklog):
        return "<backlog>" if "backlog" in value or isinstance(value, StartBacklog) else "<after>"
    return "<word>"


ConsumersStart = Annotated[
    Annotated[Literal["tailing", "after_backlog"], Tag("<word>")]
    | Annotated[StartAfter, Tag("<after>")]
    | Annotated[StartBacklog, Tag("<backlog>")],
    Discriminator(_start_form),
]


class Consumers(Frozen):
    groups: Annotated[int, Field(strict=True, ge=0, le=1000)] = Field(
        1, description="Groups, each of which gets every message."
    )
    per_group: Count = Field(1, description="Connections that share the messages of one group.")
    agents_per_group: Count = Field(1, description="Processes the consumers of one group are spread over.")
    agents: Count | None = Field(
        None, description="Processes of all groups together, instead of agents_per_group: several groups share one."
    )
    start: ConsumersStart = Field(
        "tailing", description="Before the first send, after the last, or between them: {after: 10s}, {backlog: 2GB}."
    )
    acknowledge: Literal["each", "batch", "automatic"] = Field("batch", description="How receipt is acknowledged.")
    page_cache: Literal["kept", "dropped"] = Field(
        "kept", description="dropped lets the kernel forget the nodes' files before a backlog is read; not for tailing."
    )
    receive_most: Annotated[int, Field(strict=True, ge=1, le=RECEIVE_MOST)] = Field(
        RECEIVE_MOST, description="Messages a consumer takes at once."
    )


def _set_name(value: str) -> str:
    if re.fullmatch(SET_NAME_PATTERN, value) is None:
        raise ValueError("must be a lower-case letter, then letters, digits and _, at most 16 of them")
    return value


class ConsumerSet(Consumers):
    name: Annotated[str, AfterValidator(_set_name)] = Field(description="What its groups are called after.")


def _not_empty(sets: tuple[ConsumerSet, ...]) -> tuple[ConsumerSet, ...]:
    if not sets:
        raise ValueError("must not be empty: leave consumers out for none")
    return sets


def _consumers_form(value: Any) -> str:
    return "<sets>" if isinstance(value, list | tuple) else "<one>"


ConsumerSets = Annotated[
    Annotated[Consumers, Tag("<one>")] | Annotated[tuple[ConsumerSet, ...], AfterValidator(_not_empty), Tag("<sets>")],
    Discriminator(_consumers_form),
]
