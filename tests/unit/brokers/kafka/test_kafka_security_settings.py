from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.brokers.kafka.security import client_properties, protocol, server_settings
from brokerlab.brokers.kit.certificates import Certificates
from brokerlab.errors import UserError
from brokerlab.model.plan import Security

FILES = Certificates(Path("/c/ca.pem"), Path("/c/server.pem"), Path("/c/server-key.pem"))


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TEST_PASSWORD", 'a"b\\c€')


FULL = Security(tls=True, ca_file="/c/ca.pem", user="me", password="env:KAFKA_TEST_PASSWORD")


@pytest.mark.parametrize(
    ("security", "name"),
    [
        (None, "PLAINTEXT"),
        (Security(), "PLAINTEXT"),
        (Security(tls=True), "SSL"),
        (Security(user="me"), "SASL_PLAINTEXT"),
        (FULL, "SASL_SSL"),
    ],
)
def test_the_protocol_does_just_what_was_asked(security: Security | None, name: str) -> None:
    assert protocol(security) == name


def test_clients_get_the_authority_the_user_and_the_password_itself() -> None:
    assert client_properties(FULL) == {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": "/c/ca.pem",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": 'a"b\\c€',
    }
    assert client_properties(Security(tls=True)) == {"security.protocol": "SSL"}
    assert client_properties(None) == {}


def test_a_password_that_is_not_there_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match="KAFKA_TEST_NOT_SET"):
        client_properties(Security(user="me", password="env:KAFKA_TEST_NOT_SET"))


def test_servers_demand_the_password_on_every_listener() -> None:
    settings = server_settings(FULL, FILES, "theirs")
    login = settings["listener.name.sasl_ssl.plain.sasl.jaas.config"]
    assert settings["listener.name.controller.plain.sasl.jaas.config"] == login
    assert 'username="brokerlab-servers" password="theirs"' in login
    assert login.isascii()
    assert login.isprintable()
    # Twice escaped: for the .properties file, then for the login configuration within.
    assert '"user_me"="a\\\\"b\\\\\\\\c\\u20ac"' in login
    assert settings["ssl.keystore.type"] == "PEM"


def test_tls_alone_needs_no_login() -> None:
    assert not [name for name in server_settings(Security(tls=True), FILES, "theirs") if "sasl" in name]
