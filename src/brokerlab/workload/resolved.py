"""What a workload says in general, resolved for one broker: its durability level, and its security."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath

from brokerlab.brokers.contract import Capabilities, CellProblem
from brokerlab.model import plan
from brokerlab.model.plan import Durability, Endpoint
from brokerlab.workload.fields import Security, Workload
from brokerlab.workload.tree import Path

WORDS = ("strongest", "weakest")


def level(workload: Workload, can: Capabilities) -> Durability:
    """The level asked for. `strongest` and `weakest` are of those the broker has with this number of nodes; where that
    number is none of its own, which is refused elsewhere, of all."""
    if workload.durability not in WORDS:
        return Durability(workload.durability)
    every = [one for levels in can.durability_levels.values() for one in levels]
    here = can.durability_levels.get(workload.cluster.nodes) or every or [Durability.L4]
    return min(here) if workload.durability == "strongest" else max(here)


def security(given: Security | None, folder: FilePath, *, own_cluster: bool) -> plan.Security | None:
    """Paths become absolute, from the workload file's folder; nothing asked is None. A cluster of ours makes its own
    certificate."""
    if given is None or not (given.tls or given.user or given.password):
        return None
    password = given.password
    if password is not None and password.startswith("file:"):
        where = FilePath(password.removeprefix("file:").strip()).expanduser()
        password = f"file:{(folder / where).absolute()}"
    trusted = None if own_cluster or given.ca_file is None else str((folder / given.ca_file).absolute())
    return plan.Security(tls=given.tls, ca_file=trusted, user=given.user, password=password)


def endpoint_problems(workload: Workload, broker: str, endpoint: Endpoint | None) -> Iterator[CellProblem]:
    """What cannot be said of a broker the user runs."""
    if endpoint is not None and workload.durability in WORDS:
        said = f"{broker} is given with --endpoint: name the level it is set up for, L1 to L4"
        yield CellProblem(("durability",), said)


def ca_file_problems(workload: Workload, endpoints: bool) -> Iterator[tuple[Path, str]]:
    """`endpoints`: whether any broker of this run is the user's."""
    if workload.security is not None and workload.security.ca_file is not None and not endpoints:
        said = "is for brokers given with --endpoint: a cluster started here makes its own certificate"
        yield ("security", "ca_file"), said


def security_contradictions(given: Security | None, folder: FilePath) -> Iterator[tuple[Path, str]]:
    """Fields of `security` that cannot stand together, whatever the broker."""
    if given is None:
        return
    if given.user is not None and given.password is None:
        yield ("security", "password"), "is missing: a user needs one, as env:NAME or file:PATH"
    if given.password is not None and given.user is None:
        yield ("security", "user"), "is missing: a password needs a user"
    if given.ca_file is not None:
        if not given.tls:
            yield ("security", "ca_file"), "needs tls: true"
        elif not (folder / given.ca_file).is_file():
            yield ("security", "ca_file"), f"no such file: {folder / given.ca_file}"
