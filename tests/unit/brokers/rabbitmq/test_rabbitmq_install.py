"""Finding RabbitMQ and Erlang in an unpacked root, and telling Erlang where it lies."""

from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.rabbitmq.install import RECIPE
from brokerlab.install import debian
from brokerlab.install.debian import DebianRoot

SCRIPT = """#!/bin/sh
if [ -z "$ERL_ROOTDIR" ]
then
    ROOTDIR=/usr/lib/erlang
else
    ROOTDIR=/usr/lib/erlang
fi
BINDIR="$ROOTDIR/erts-15.2.7/bin"
"""


def unpacked(tmp_path: Path) -> DebianRoot:
    for name in (
        "usr/lib/erlang/bin/erl",
        "usr/lib/erlang/erts-15.2.7/bin/erl",
        "usr/lib/erlang/erts-15.2.7/bin/epmd",
        "usr/lib/rabbitmq/lib/rabbitmq_server-4.0.5/sbin/rabbitmq-server",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SCRIPT)
    return DebianRoot(tmp_path, {"rabbitmq-server": "4.0.5-9", "erlang-base": "1:27.3.4.1+dfsg-1"}, "trixie")


def test_an_erlang_that_does_not_know_where_it_lies_is_not_installed(tmp_path: Path) -> None:
    assert RECIPE.programs_in(unpacked(tmp_path)) is None


def test_installing_tells_erlang_where_it_lies_and_may_be_repeated(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    root = unpacked(tmp_path)
    monkeypatch.setattr(debian, "install_debian", lambda *_: root)
    monkeypatch.setattr(debian, "installed_debian", lambda *_: root)
    for _ in range(2):
        made = RECIPE.install(lambda _what, _share: None)
        assert made.installed
        assert made.version == "4.0.5"
        assert "27.3.4.1" in made.reason
    script = tmp_path / "usr/lib/erlang/bin/erl"
    assert script.read_text().count(f'ROOTDIR="{tmp_path}/usr/lib/erlang"') == 2
    assert 'BINDIR="$ROOTDIR' in script.read_text()
    assert script.stat().st_mode & 0o111
    assert RECIPE.programs().epmd.name == "epmd"


def test_a_machine_that_cannot_have_it_says_why_in_one_line(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(debian, "installed_debian", lambda *_: None)
    monkeypatch.setattr(debian, "debian_problem", lambda: "no apt-get here")
    told = RECIPE.installation()
    assert (told.installed, told.runs_here, told.reason) == (False, False, "no apt-get here")
