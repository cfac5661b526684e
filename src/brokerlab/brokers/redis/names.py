"""Which of the products a broker's name means, and how its nodes are laid out."""

from __future__ import annotations

CLUSTERED = "-cluster"  # ends the names of those that are clusters
MASTERS = 3  # of a cluster


def is_clustered(broker: str) -> bool:
    return broker.endswith(CLUSTERED)


def server_name(broker: str) -> str:
    """The product, as its programs and nodes are called."""
    return broker.removesuffix(CLUSTERED)


def replicas_of_a_master(broker: str, nodes: int) -> int:
    return nodes // MASTERS - 1 if is_clustered(broker) else nodes - 1
