"""What clusters of child processes share."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brokerlab.brokers.kit.local import LocalCluster, not_yet, trial_destination, write_private
from brokerlab.errors import BrokerError
from synthetic import make_plan

DEADLINE_S = 120.0
# Appends a line to a file when it starts, and waits.
NODE = "import time; print(1, file=open('starts', 'a'), flush=True); time.sleep(3600)"


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_private_file_is_for_its_owner_only_however_often_it_is_written(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "node" / "secret"
    for text in ("first", "second"):
        write_private(path, text, mode)
        assert path.read_text() == text
        assert path.stat().st_mode & 0o777 == mode


def test_a_refusal_while_a_broker_starts_is_no_failure_yet() -> None:
    with pytest.raises(OSError, match="not now"), not_yet():
        raise BrokerError("not now", hint="later")


class Admin:
    """Knows which destinations there are."""

    def __init__(self) -> None:
        self.made: dict[str, int] = {}

    def create(self, destinations: tuple[str, ...], partitions: int, groups: tuple[str, ...]) -> None:  # noqa: ARG002
        self.made.update(dict.fromkeys(destinations, partitions))

    def delete(self, destinations: tuple[str, ...], groups: tuple[str, ...]) -> None:  # noqa: ARG002
        for name in destinations:
            del self.made[name]


def test_a_trial_has_a_destination_until_it_has_succeeded() -> None:
    admin: Any = Admin()
    with pytest.raises(OSError, match="not now"), trial_destination(admin, 3):
        raise BrokerError("not now")
    (first,) = admin.made
    with trial_destination(admin, 3) as name:
        assert admin.made == {name: 3}
        assert name == first, "the next trial finds it"
    assert admin.made == {}


class Sleepers(LocalCluster):
    """As many nodes as there are in the cell, each a process that does nothing."""

    def __init__(self, nodes: int, directory: Path) -> None:
        cell = make_plan("run", cells=1).cells[0].model_copy(update={"nodes": nodes})
        super().__init__(cell, directory / "data", directory / "logs", ports=0)
        names = [f"node-{i + 1}" for i in range(nodes)]
        self._processes = [self._server(name, [sys.executable, "-c", NODE], {}) for name in names]

    def starts(self, name: str) -> int:
        file = self._directory / name / "starts"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def is_running(self, name: str) -> bool:
        return self._processes_of(name)[0].is_running()

    def pid(self, name: str) -> int:
        return self._processes_of(name)[0].pid


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)


def test_a_killed_node_is_started_again_alone_on_its_files_and_outlives_the_thread_that_did_it(tmp_path: Path) -> None:
    cluster = Sleepers(2, tmp_path)
    try:
        cluster._start_processes()
        wait_until(lambda: cluster.starts("node-1") == cluster.starts("node-2") == 1)
        before = cluster.pid("node-1"), cluster.pid("node-2")
        cluster.kill_node("node-2")
        assert not cluster.is_running("node-2")
        assert cluster.dead_nodes() == ()
        thread = threading.Thread(target=cluster.restart_node, args=("node-2",))
        thread.start()
        thread.join(DEADLINE_S)
        # The kernel ends a child with the thread that started it: it would not come this far, or not stay.
        wait_until(lambda: cluster.starts("node-2") == 2)
        assert cluster.is_running("node-2")
        assert cluster.dead_nodes() == ()
        assert (cluster.pid("node-1"), cluster.starts("node-1")) == (before[0], 1)
        assert cluster.pid("node-2") != before[1]
        cluster._processes[1].send(9)
        wait_until(lambda: cluster.dead_nodes() == ("node-2",))
        with pytest.raises(KeyError):
            cluster.restart_node("node-3")
    finally:
        cluster.stop()


def test_a_single_node_leads_and_of_several_the_broker_is_asked(tmp_path: Path) -> None:
    assert Sleepers(1, tmp_path).leading_node("any") == "node-1"
    with pytest.raises(NotImplementedError):
        Sleepers(2, tmp_path).leading_node("any")
