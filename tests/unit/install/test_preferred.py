"""BROKERLAB_PREFER_PATH: servers of the user's own instead of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.brokers.rabbitmq.install import RECIPE, Programs
from brokerlab.brokers.registry import BROKERS, broker_named, preferable
from brokerlab.errors import UserError
from brokerlab.install.preferred import server_on_path


def program(file: Path, says: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\necho '{says}'\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only directory on PATH; nothing is preferred."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("BROKERLAB_PREFER_PATH", raising=False)
    return tmp_path / "bin"


def test_a_server_on_path_is_used_only_when_preferred(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = program(path / "nats-server")
    assert server_on_path("nats", "nats-server") is None
    for said, found in (("redis, nats", server), ("all", server), ("redis", None), ("", None)):
        monkeypatch.setenv("BROKERLAB_PREFER_PATH", said)
        assert server_on_path("nats", "nats-server") == found


def test_a_name_nobody_offers_is_an_error_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_PREFER_PATH", "redis,rabitmq")
    with pytest.raises(UserError, match="'rabitmq' to prefer; did you mean rabbitmq"):
        broker_named("redis")


@pytest.mark.parametrize(
    ("broker", "file", "says", "version"),
    [
        ("nats", "nats-server", "nats-server: v2.11.4", "2.11.4"),
        ("redis", "redis-server", "Redis server v=7.2.4 sha=00000000:0 malloc=libc bits=64", "7.2.4"),
        ("valkey", "valkey-server", "Valkey server v=8.1.1 sha=0", "8.1.1"),
        ("postgresql", "postgres", "postgres (PostgreSQL) 17.5 (Debian 17.5-1)", "17.5"),
    ],
)
def test_a_preferred_server_is_the_installation_with_its_own_version(
    path: Path, monkeypatch: pytest.MonkeyPatch, broker: str, file: str, says: str, version: str
) -> None:
    program(path / file, says)
    program(path / "initdb")
    monkeypatch.setenv("BROKERLAB_PREFER_PATH", broker)
    found = broker_named(broker).installation()
    assert (found.installed, found.version) == (True, version)
    assert "found on PATH" in found.reason
    assert broker_named(broker).install(lambda *_: pytest.fail("something was fetched")) == found


def test_rabbitmq_is_taken_with_its_erlang_from_behind_a_distributions_wrapper(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BROKERLAB_PREFER_PATH", "rabbitmq")
    path.mkdir()
    (path / "rabbitmq-server").symlink_to(program(tmp_path / "lib/rabbitmq/bin/rabbitmq-script-wrapper"))
    assert RECIPE.preferred() is None  # no Erlang
    erlang = tmp_path / "lib" / "erlang"
    epmd = program(erlang / "erts-16.0" / "bin" / "epmd")
    (path / "erl").symlink_to(program(erlang / "bin" / "erl"))
    assert RECIPE.preferred() is None  # a wrapper, and nothing behind it
    server = program(tmp_path / "lib/rabbitmq/lib/rabbitmq_server-4.1.0/sbin/rabbitmq-server")
    found = RECIPE.preferred()
    assert found is not None
    assert found.programs == Programs(server, erlang, epmd)
    assert found.version == "4.1.0"


def test_rabbitmqs_own_archive_is_taken_as_it_is(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BROKERLAB_PREFER_PATH", "rabbitmq")
    sbin = tmp_path / "rabbitmq_server-4.2.1" / "sbin"
    monkeypatch.setenv("PATH", f"{sbin}:{path}")
    server = program(sbin / "rabbitmq-server")
    program(tmp_path / "otp/erts-16.0/bin/epmd")
    (path).mkdir()
    (path / "erl").symlink_to(program(tmp_path / "otp/bin/erl"))
    found = RECIPE.preferred()
    assert found is not None
    assert (found.programs.server, found.version) == (server, "4.2.1")


def test_every_offered_name_is_a_broker_or_a_family_of_brokers() -> None:
    assert all(any(n == o or n.startswith(f"{o}-") for n in BROKERS) for o in preferable())
