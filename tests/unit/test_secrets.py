from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.errors import UserError
from brokerlab.secrets import is_reference, secret


def test_a_secret_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_TEST_SECRET", "hush")
    assert secret("env:BROKERLAB_TEST_SECRET") == "hush"


def test_a_secret_comes_from_a_file_without_its_last_newline(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("two words \n")
    assert secret(f"file:{tmp_path / 'word'}") == "two words "


def test_a_value_instead_of_a_reference_is_refused_without_repeating_it() -> None:
    with pytest.raises(UserError) as caught:
        secret("hunter2")
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"
    assert not is_reference("hunter2")
    assert not is_reference("env:")


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROKERLAB_TEST_SECRET", raising=False)
    with pytest.raises(UserError, match="BROKERLAB_TEST_SECRET"):
        secret("env:BROKERLAB_TEST_SECRET")
    with pytest.raises(UserError, match="nowhere"):
        secret(f"file:{tmp_path / 'nowhere'}")
