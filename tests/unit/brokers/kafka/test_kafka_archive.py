"""The archive of classes is made once; where that fails, nothing is left and nobody is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from brokerlab.brokers.kafka.archive import make_once
from brokerlab.errors import BrokerError


def writes(directory: Path, archive: Path) -> None:
    (directory / "data").mkdir()
    archive.write_text("classes")


def dies(directory: Path, archive: Path) -> None:  # noqa: ARG001
    (directory / "data").mkdir()
    raise BrokerError("kafka-1 died")


def is_killed(directory: Path, archive: Path) -> None:  # noqa: ARG001
    (directory / "data").mkdir()


def test_it_is_made_once(tmp_path: Path) -> None:
    archive = tmp_path / "kafka" / "a.jsa"
    make_once(archive, writes)
    assert archive.read_text() == "classes"
    make_once(archive, dies)
    assert archive.read_text() == "classes"
    assert not list(archive.parent.glob("*.making"))


@pytest.mark.parametrize("run_a_node", [dies, is_killed])
def test_where_it_cannot_be_made_nothing_is_left_and_it_is_tried_again(
    tmp_path: Path, run_a_node: Callable[[Path, Path], None]
) -> None:
    archive = tmp_path / "a.jsa"
    make_once(archive, run_a_node)
    assert not archive.exists()
    assert not list(tmp_path.glob("*.making"))
    make_once(archive, writes)
    assert archive.exists()


def test_what_somebody_left_who_was_killed_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "a.making" / "data").mkdir(parents=True)
    make_once(tmp_path / "a.jsa", writes)
    assert (tmp_path / "a.jsa").exists()
