"""Signature Version 4 by the vectors that AWS publishes (aws-sig-v4-test-suite), and where keys are found."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from brokerlab.brokers.kit.aws_signing import Credentials, Signer, find_credentials
from brokerlab.errors import UserError

AT = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7"
    "mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d"
    "+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)
FORM = {"content-type": "application/x-www-form-urlencoded"}
VECTORS = {
    "get-vanilla": ("GET", {}, b"", None, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    "post-vanilla": ("POST", {}, b"", None, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    "post-header-key-sort": (
        "POST", {"my-header1": "value1"}, b"", None, "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
    ),
    "post-header-value-case": (
        "POST", {"my-header1": "VALUE1"}, b"", None, "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
    ),
    "get-header-value-trim": (
        "GET", {"my-header1": " value1", "my-header2": ' "a   b   c"'}, b"", None,
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    ),
    "post-x-www-form-urlencoded": (
        "POST", FORM, b"Param1=value1", None, "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ),
    "post-sts-header-before": (
        "POST", {}, b"", TOKEN, "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_a_published_vector_is_signed_as_published(name: str) -> None:
    method, headers, body, token, signature = VECTORS[name]
    signer = Signer(Credentials(KEY, SECRET, token), "us-east-1", "service")
    signed = signer.signed(method, "/", {"host": "example.amazonaws.com", **headers}, body, AT)
    names = sorted({"host", "x-amz-date", *headers, *(["x-amz-security-token"] if token else [])})
    assert signed["authorization"] == (
        f"AWS4-HMAC-SHA256 Credential={KEY}/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders={';'.join(names)}, Signature={signature}"
    )
    assert signed["x-amz-date"] == "20150830T123600Z"
    assert signed.get("x-amz-security-token") == token


def test_the_environment_comes_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("[default]\naws_access_key_id = F\naws_secret_access_key = f%1\n\n[other]\naws_access_key_id=O\n"
                    "aws_secret_access_key=o\naws_session_token=t\n")  # fmt: skip
    at = {"AWS_SHARED_CREDENTIALS_FILE": str(file)}
    own = {"AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "e"}
    assert find_credentials({**at, **own}) == Credentials("E", "e")
    assert find_credentials({**at, **own, "AWS_SESSION_TOKEN": "t"}) == Credentials("E", "e", "t")
    assert find_credentials(at) == Credentials("F", "f%1")
    assert find_credentials({**at, "AWS_PROFILE": "other"}) == Credentials("O", "o", "t")


@pytest.mark.parametrize("text", ["", "[other]\naws_access_key_id=O\n", "[default]\naws_access_key_id=O\n"])
def test_where_no_key_is_found_the_places_are_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(text)
    with pytest.raises(UserError) as told:
        find_credentials({"AWS_SHARED_CREDENTIALS_FILE": str(file)})
    assert "AWS_ACCESS_KEY_ID" in str(told.value.hint)


def test_a_file_that_cannot_be_read_is_named_and_nothing_of_it_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("aws_secret_access_key = very-secret\n")
    with pytest.raises(UserError) as told:
        find_credentials({"AWS_SHARED_CREDENTIALS_FILE": str(file)})
    assert str(file) in str(told.value)
    assert "very-secret" not in str(told.value)
    assert told.value.__suppress_context__


def test_a_secret_is_not_shown() -> None:
    assert "very-secret" not in repr(Credentials("K", "very-secret", "very-secret"))
