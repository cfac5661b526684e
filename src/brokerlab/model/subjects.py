"""What a reading is about, as the column `subject` says it, and back.

    host                            the machine
    cluster                         all nodes together
    process:<name>  jvm:<name>  broker:<name>
    load:<cell>                     what our agents do in a cell; in exports only
    destination:<broker>/<destination>
    group:<broker>/<group>/<destination>/<partition>

The parts between slashes are quoted as in a URL, so that names may hold anything.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

HOST, CLUSTER = "host", "cluster"
_LABELS = {  # scope -> names of its parts in Prometheus' form
    "process": ("process",),
    "load": ("cell",),
    "jvm": ("node",),
    "broker": ("node",),
    "destination": ("broker", "messaging_destination_name"),
    "group": (
        "broker",
        "messaging_consumer_group_name",
        "messaging_destination_name",
        "messaging_destination_partition_id",
    ),
}


def destination_subject(broker: str, destination: str) -> str:
    return f"destination:{_joined(broker, destination)}"


def group_subject(broker: str, group: str, destination: str, partition: int) -> str:
    return f"group:{_joined(broker, group, destination, str(partition))}"


def _joined(*parts: str) -> str:
    return "/".join(quote(part, safe="") for part in parts)


def scope_of(subject: str) -> str:
    """One of model.watched.Scope, as far as the subject is one that is made here."""
    return subject.partition(":")[0]


def parts_of(subject: str) -> tuple[str, ...]:
    """The names in a subject: () for the host, (group's broker, group, destination, partition) for a group."""
    scope, _, rest = subject.partition(":")
    if scope not in ("destination", "group"):
        return (rest,) if rest else ()
    return tuple(unquote(part) for part in rest.split("/"))


def labels_of(subject: str) -> dict[str, str]:
    """The parts of a subject under the names they have outside, in Prometheus' form."""
    return dict(zip(_LABELS.get(scope_of(subject), ()), parts_of(subject), strict=False))
