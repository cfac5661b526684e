"""What clusters of child processes share."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.brokers.kit.local import not_yet, write_private
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
