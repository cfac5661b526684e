"""A broker's name stands in its folder, in the registry and in workloads that ship; a new one changes nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from brokerlab.brokers.registry import BROKERS, broker_named, folder_of

SOURCE = Path(__file__).parents[3] / "src" / "brokerlab"
# A workload or a study is about brokers.
MAY_NAME_THEM = ("brokers/registry.py", "workload/template.py", "workload/shipped/", "studies/")


def names() -> re.Pattern[str]:
    """Of the servers and their folders; what calibrates has names that are ordinary words."""
    servers = [name for name in BROKERS if broker_named(name).kind == "server"]
    every = {*servers, *map(folder_of, servers)}
    return re.compile(rf"\b({'|'.join(sorted(every))})\b", re.IGNORECASE)


def test_no_module_outside_a_brokers_folder_names_it() -> None:
    named, folders = names(), {f"brokers/{folder_of(name)}/" for name in BROKERS}
    found = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not str(path.relative_to(SOURCE)).startswith((*folders, *MAY_NAME_THEM))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if named.search(line)
    ]
    assert not found, "\n".join(found)


def test_the_names_are_found_where_they_stand() -> None:
    assert names().search((SOURCE / "brokers" / "registry.py").read_text())
