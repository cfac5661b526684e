from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab import secrets
from brokerlab.errors import UserError
from brokerlab.secrets import (
    holds_a_password,
    is_reference,
    names_a_secret,
    redacted,
    redacted_settings,
    resolvable,
    secret,
)


@pytest.fixture(autouse=True)
def nothing_resolved_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests of this process resolved would be hidden here too."""
    monkeypatch.setattr(secrets, "_resolved", set())


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


@pytest.mark.parametrize("text", ["env:", "env:1x", "env:a b", "env:$X", "file:", "file: ", "ENV:X", "x", ""])
def test_what_is_no_reference(text: str) -> None:
    assert not is_reference(text)


@pytest.mark.parametrize(
    ("content", "why"), [("", "empty"), ("\n", "empty"), ("a\nb\n", "one line"), ("a\x00b", "one")]
)
def test_a_secret_is_one_line_of_text(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "word").write_text(content)
    with pytest.raises(UserError, match=why) as caught:
        secret(f"file:{tmp_path / 'word'}")
    assert "a\nb" not in str(caught.value)


def test_bytes_of_a_file_that_is_no_text_are_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "word").write_bytes(b"hunter2\xff")
    with pytest.raises(UserError, match="not text") as caught:
        secret(f"file:{tmp_path / 'word'}")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_all_references_are_asked_for_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_TEST_SECRET", "hush")
    monkeypatch.delenv("BROKERLAB_TEST_OTHER", raising=False)
    resolvable([None, "env:BROKERLAB_TEST_SECRET", None])
    with pytest.raises(UserError, match="BROKERLAB_TEST_OTHER is not set"):
        resolvable(["env:BROKERLAB_TEST_SECRET", "env:BROKERLAB_TEST_OTHER"])


def test_a_secret_once_resolved_is_hidden_in_what_others_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_TEST_SECRET", "swordfish-5527")
    assert redacted("login swordfish-5527 failed") == "login swordfish-5527 failed"
    secret("env:BROKERLAB_TEST_SECRET")
    assert redacted("login swordfish-5527 failed") == "login (hidden) failed"


def test_settings_a_broker_reports_lose_their_secrets_by_name_and_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_TEST_SECRET", "swordfish-5527")
    secret("env:BROKERLAB_TEST_SECRET")
    told = {"node": {"requirepass": "other", "masterauth": "", "user": "lab", "line": "auth swordfish-5527"}}
    assert redacted_settings(told) == {
        "node": {"requirepass": "(hidden)", "masterauth": "", "user": "lab", "line": "auth (hidden)"}
    }


@pytest.mark.parametrize("name", ["ssl.key.password", "sasl.jaas.config", "requirepass", "CLIENT_SECRET", "passphrase"])
def test_names_of_secrets_are_known(name: str) -> None:
    assert names_a_secret(name)
    assert not names_a_secret("flush.messages")
    assert not names_a_secret("bypass")
    assert not names_a_secret("password_encryption")


def test_an_address_with_a_password_is_known() -> None:
    assert holds_a_password("nats://lab:hush@127.0.0.1:4222")
    assert not holds_a_password("nats://127.0.0.1:4222")
    assert not holds_a_password("http://host/a:b@c")
