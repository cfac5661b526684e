"""What clusters of child processes share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from brokerlab.brokers.kit.local import not_yet, trial_destination, write_private
from brokerlab.errors import BrokerError


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
