"""What `up` says about using the broker it started."""

from __future__ import annotations

from brokerlab.cli.planning import given_endpoints
from brokerlab.cli.started_brokers import use_flags

STATUS = {
    "broker": "rabbitmq-stream",
    "endpoint": ["127.0.0.1:5672", "127.0.0.1:5673"],
    "endpoint_options": {"management": "http://127.0.0.1:15672", "stream": "127.0.0.1:5552"},
    "security": {"tls": True, "user": "lab", "password": "env:WORD"},
}


def test_the_flags_make_run_use_just_this_broker() -> None:
    flags = use_flags(STATUS)
    assert flags[3:] == ["--set security.tls=true", "--set security.user=lab", "--set security.password=env:WORD"]
    (found,) = given_endpoints(tuple(flag.removeprefix("--endpoint ") for flag in flags[:3])).values()
    assert list(found.addresses) == STATUS["endpoint"]
    assert found.options == STATUS["endpoint_options"]


def test_options_a_broker_does_not_have_are_not_printed() -> None:
    said = {"broker": "pulsar", "endpoint": ["127.0.0.1:6650"], "endpoint_options": {"bookies": ""}, "security": None}
    assert use_flags(said) == ["--endpoint pulsar=127.0.0.1:6650"]
