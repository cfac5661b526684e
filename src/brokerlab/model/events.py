"""Events of a run: one class per kind. The evidence table `event` holds the kind, and the other fields as JSON.

Fields that came later have defaults; fields that this version does not know are ignored, and so are kinds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    def detail(self) -> dict[str, Any]:
        """All fields but the kind."""
        return self.model_dump(mode="json", exclude={"kind"})


class NodeStarted(_Event):
    kind: Literal["node_started"] = "node_started"
    pid: int


class ClusterKept(_Event):
    """The execution runs on a cluster that an earlier one started. Its logs are with that one."""

    kind: Literal["cluster_kept"] = "cluster_kept"
    started_for: str = ""
    executions: int = 0  # how many it has had, this one included


class ClusterWarmedUp(_Event):
    """The execution's cluster was just started, and had the cell's load for so long before; nothing of that was kept."""

    kind: Literal["cluster_warmed_up"] = "cluster_warmed_up"
    seconds: float = 0.0


class AgentStarted(_Event):
    kind: Literal["agent_started"] = "agent_started"
    pid: int


class PhaseBegun(_Event):
    kind: Literal["phase"] = "phase"
    phase: str
    start_mono_ns: int | None = None  # where it was agreed on before


class BacklogComplete(_Event):
    """All messages are sent; consumers start now."""

    kind: Literal["backlog_complete"] = "backlog_complete"


class ConsumersStarted(_Event):
    """A set of consumers that starts later than the first send starts now. `reached`: for the reason that was planned; else
    producers had sent everything before."""

    kind: Literal["consumers_started"] = "consumers_started"
    consumer_set: str = ""  # its name; empty where a cell has one set
    because: str = ""
    sent_bytes: int = 0  # until the end of the last second that producers told of
    reached: bool = True
    all_sent: bool = False


class PageCacheDropped(_Event):
    """Before a backlog is read: how much of the nodes' files the kernel held, and how much it still holds."""

    kind: Literal["page_cache_dropped"] = "page_cache_dropped"
    files: int = 0
    bytes: int = 0
    held_before_bytes: int = 0
    held_after_bytes: int = 0


class GroupDrain(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    complete: bool
    because: str = ""


class Drain(_Event):
    """The drain is over. `complete`: every group has read everything that could arrive."""

    kind: Literal["drain"] = "drain"
    complete: bool
    groups: dict[str, GroupDrain] = {}

    def is_complete(self, group: str) -> bool:
        """Of one group; of all of them where the group is not named."""
        return self.groups[group].complete if group in self.groups else self.complete


class End(_Event):
    kind: Literal["end"] = "end"
    failure: str | None = None


class Interrupted(_Event):
    kind: Literal["interrupted"] = "interrupted"
    error: str = ""


class Failed(_Event):
    kind: Literal["failed"] = "failed"
    error: str = ""


class Annotation(_Event):
    """A remark of somebody who watched, at the moment it was made."""

    kind: Literal["annotation"] = "annotation"
    text: str = ""


class TargetGone(_Event):
    """Something that is watched does not answer any more; it is read again when it does."""

    kind: Literal["target_gone"] = "target_gone"
    target: str = ""
    why: str = ""


class TargetBack(_Event):
    kind: Literal["target_back"] = "target_back"
    target: str = ""
    after_s: float = 0.0


class LeftBehind(_Event):
    """Clean-up failed: what is left, and how to remove it."""

    kind: Literal["left_behind"] = "left_behind"
    what: str = ""
    what_to_do: str = ""


class _Death(_Event):
    """Something ended while it was needed: `names` of the nodes or agents, `text` they or their logs ended with."""

    names: tuple[str, ...] = ()
    text: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_0_1_0(cls, value: Any) -> Any:
        """It wrote one string of names, an agent's with the colon that followed it in a sentence, and `log_lines`."""
        if not isinstance(value, dict) or "names" in value:
            return value
        named = str(value.get("node") or value.get("agent") or "")
        names = tuple(name.strip(":") for name in named.split(", ") if name)
        return {**value, "names": names, "text": value.get("text") or value.get("log_lines") or ""}


class NodeDied(_Death):
    kind: Literal["node_died"] = "node_died"


class AgentDied(_Death):
    kind: Literal["agent_died"] = "agent_died"


class BrokerFailed(_Death):
    """The broker failed although no node of ours has ended; `names` are the agents that noticed."""

    kind: Literal["broker_failed"] = "broker_failed"


Death = NodeDied | AgentDied | BrokerFailed


class FaultBegun(_Event):
    """A planned fault. `fault` is its kind; `at_s` when it was planned after the beginning of the measure phase."""

    kind: Literal["fault_begun"] = "fault_begun"
    fault: str
    target: str
    node: str
    leader: str
    nodes: int = 0  # of the cluster; 0 before this was written
    was_leading: bool
    at_s: float
    begun_mono_ns: int
    measure_from_mono_ns: int
    measure_until_mono_ns: int


class FaultEnded(_Event):
    """A fault that does not last until the end of the execution is over: the node's process has been started again."""

    kind: Literal["fault_ended"] = "fault_ended"
    fault: str
    node: str
    ended_mono_ns: int


class FaultFailed(_Event):
    """A planned fault could not be made to happen."""

    kind: Literal["fault_failed"] = "fault_failed"
    text: str = ""


class TookOver(_Event):
    """The broker names another node as leading since `fault_node` was struck."""

    kind: Literal["took_over"] = "took_over"
    node: str
    fault_node: str
    after_s: float


class NothingTookOver(_Event):
    kind: Literal["nothing_took_over"] = "nothing_took_over"
    fault_node: str
    within_s: float


KnownEvent = (
    NodeStarted | ClusterKept | ClusterWarmedUp | AgentStarted | PhaseBegun | BacklogComplete | ConsumersStarted | PageCacheDropped | Drain | End | Interrupted | Failed | Annotation | TargetGone | TargetBack | LeftBehind
    | NodeDied | AgentDied | BrokerFailed | FaultBegun | FaultEnded | FaultFailed | TookOver | NothingTookOver
)  # fmt: skip


class OtherEvent(_Event):
    """A kind that this version does not know, or a detail that lacks what its kind needs; as it was written."""

    kind: str
    text: str


Event = KnownEvent | OtherEvent
_KNOWN: TypeAdapter[KnownEvent] = TypeAdapter(Annotated[KnownEvent, Field(discriminator="kind")])


def event_of(row: Mapping[str, Any]) -> Event:
    """The event of a row of the table `event`. Never raises: a damaged detail must not hide that something died."""
    try:
        detail = json.loads(row["detail"] or "{}")
    except ValueError:
        detail = {}
    fields = detail if isinstance(detail, dict) else {}
    for candidate in ({**fields, "kind": row["kind"]}, {"kind": row["kind"]}):
        try:
            return _KNOWN.validate_python(candidate)
        except ValidationError:
            continue
    return OtherEvent(kind=row["kind"], text=row["detail"])
