"""TLS and passwords: what servers of ours are started with to demand them, and what clients connect with.

With security every listener of our servers is the same kind: clients', the brokers' among themselves and the
controllers'. A plain one on loopback would let any user of the machine in.
"""

from __future__ import annotations

from collections.abc import Mapping

from brokerlab.brokers.kit.certificates import Certificates
from brokerlab.model.plan import Security
from brokerlab.secrets import secret

MECHANISM = "PLAIN"  # over TLS, so the password is never readable on the wire
SERVERS_USER = "brokerlab-servers"  # whom our servers are to each other


def protocol(security: Security | None) -> str:
    """Kafka's name of the protocol that does just this."""
    if security is None:
        return "PLAINTEXT"
    if security.user is None:
        return "SSL" if security.tls else "PLAINTEXT"
    return "SASL_SSL" if security.tls else "SASL_PLAINTEXT"


def client_properties(security: Security | None) -> dict[str, str]:
    """librdkafka's properties. Resolves the password: call it in the process that connects, and never print the result."""
    if security is None:
        return {}
    properties = {"security.protocol": protocol(security)}
    if security.tls and security.ca_file is not None:
        properties["ssl.ca.location"] = security.ca_file
    if security.user is not None:
        properties |= {"sasl.mechanism": MECHANISM, "sasl.username": security.user, "sasl.password": ""}
        if security.password is not None:
            properties["sasl.password"] = secret(security.password)
    return properties


def server_settings(security: Security, certificates: Certificates | None, servers_password: str) -> dict[str, str]:
    """Lines of server.properties, the user's password among them: for a file that only its owner can read."""
    settings: dict[str, str] = {}
    if certificates is not None:
        settings |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(certificates.certificate_file.with_name("server-both.pem")),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(certificates.ca_file),
        }
    if security.user is not None:
        users = {SERVERS_USER: servers_password}
        users[security.user] = "" if security.password is None else secret(security.password)
        login = _escaped(_jaas(users, servers_password))
        settings |= {
            "sasl.enabled.mechanisms": MECHANISM,
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            "sasl.mechanism.controller.protocol": MECHANISM,
        }
        name = protocol(security).lower()
        settings |= {f"listener.name.{one}.plain.sasl.jaas.config": login for one in (name, "controller")}
    return settings


def write_keystore(certificates: Certificates) -> None:
    """Kafka wants a PEM key store as one file: key, then certificate. As private as the key itself."""
    path = certificates.certificate_file.with_name("server-both.pem")
    path.touch(mode=0o600)
    path.write_bytes(certificates.key_file.read_bytes() + certificates.certificate_file.read_bytes())


def _jaas(users: Mapping[str, str], servers_password: str) -> str:
    known = " ".join(f"{_quoted(f'user_{name}')}={_quoted(password)}" for name, password in users.items())
    return (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f"username={_quoted(SERVERS_USER)} password={_quoted(servers_password)} {known};"
    )


def _quoted(text: str) -> str:
    """A string of Java's login configuration. Secrets are one line of printable characters."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


def _escaped(text: str) -> str:
    """A value of a .properties file: Latin-1 with backslash escapes."""
    return "".join(c if " " <= c <= "~" else _unicode(c) for c in text.replace("\\", "\\\\"))


def _unicode(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
