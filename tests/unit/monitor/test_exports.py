"""--export: what may be written, and what is refused before anything starts."""

from __future__ import annotations

import socket

import pytest

from brokerlab.errors import MachineError, UserError
from brokerlab.monitor.exports import Export, check_exports, parse_exports


def test_several_are_separated_by_commas_and_prometheus_has_an_address_of_its_own() -> None:
    assert parse_exports("prometheus, graphite=127.0.0.1:2003") == (
        Export("prometheus", "127.0.0.1", 9464),
        Export("graphite", "127.0.0.1", 2003),
    )
    assert parse_exports("prometheus=[::1]:9000") == (Export("prometheus", "::1", 9000),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("promtheus", "must be prometheus or graphite"),
        ("graphite=127.0.0.1", "must be HOST:PORT"),
        ("graphite=127.0.0.1:99999", "must be HOST:PORT"),
        ("prometheus=0.0.0.0:9464", "no token is given"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_exports(text)


def test_the_nearest_kind_is_named() -> None:
    with pytest.raises(UserError) as refused:
        parse_exports("promtheus")
    assert refused.value.hint == "did you mean 'prometheus'?"


def test_other_machines_may_read_with_a_token() -> None:
    (export,) = parse_exports("prometheus=0.0.0.0:9464", "env:TOKEN")
    assert export.token == "env:TOKEN"


def test_a_token_that_is_not_set_and_a_port_that_is_taken_are_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("BROKERLAB_TEST_TOKEN", raising=False)
    with pytest.raises(UserError, match="BROKERLAB_TEST_TOKEN is not set"):
        check_exports((Export("prometheus", "127.0.0.1", 1, "env:BROKERLAB_TEST_TOKEN"),))
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(MachineError, match="nothing can listen"):
        check_exports((Export("prometheus", "127.0.0.1", taken.getsockname()[1]),))
