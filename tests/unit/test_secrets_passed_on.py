"""What others wrote and we pass on (log lines, errors) loses the secrets this process knows."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from brokerlab.cli.main import exit_code_for
from brokerlab.errors import BrokerError
from brokerlab.events import Journal
from brokerlab.model.events import NodeDied
from brokerlab.model.execution_id import ExecutionId
from brokerlab.secrets import secret

PLANTED = 'sword"fish-5527'


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_TEST_SECRET", PLANTED)
    secret("env:BROKERLAB_TEST_SECRET")


def test_the_journal_keeps_a_servers_log_lines_without_them(tmp_path: Path) -> None:
    died = NodeDied(names=("kafka-1",), text=f"login with {PLANTED} failed")
    Journal(tmp_path, "run", ExecutionId(cell="c01", repeat=1)).add(died)
    (file,) = tmp_path.rglob("*.parquet")
    (row,) = pq.read_table(file).to_pylist()
    assert row["detail"] == '{"names": ["kafka-1"], "text": "login with (hidden) failed"}'


def test_an_error_is_told_without_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_for(BrokerError(f"last log lines: login with {PLANTED} failed")) == 4
    said = capsys.readouterr()
    assert "login with (hidden) failed" in said.err
    assert PLANTED not in said.err + said.out
