"""The files that a node reads."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from brokerlab.brokers.artemis.settings import DATASYNC, server_settings
from brokerlab.brokers.kit.certificates import KEY_STORE_PASSWORD, Certificates, write_key_store
from brokerlab.brokers.kit.java import properties
from brokerlab.brokers.kit.local import HOST
from brokerlab.brokers.kit.wire import credentials
from brokerlab.model.plan import CellPlan, Security

_SCHEMA = 'xmlns="http://activemq.apache.org/schema"'
_USERS, _ROLES = "users.properties", "roles.properties"
_LOGIN = f"""activemq {{ org.apache.activemq.artemis.spi.core.security.jaas.PropertiesLoginModule required
  org.apache.activemq.jaas.properties.user="{_USERS}" org.apache.activemq.jaas.properties.role="{_ROLES}"; }};
"""
# Writing to an address does not make it: without queues it would take messages and keep none. What is delivered again and
# again is never given up; what does not fit into memory goes to disk.
_OF_ADDRESSES = {
    **{f"auto-{act}-{what}": "false" for act in ("create", "delete") for what in ("addresses", "queues")},
    "max-delivery-attempts": "-1",
    "address-full-policy": "PAGE",
}
# A primary without its backup goes on alone; a backup without its primary takes over.
_PRIMARY = {"check-for-active-server": "true", "vote-on-replication-failure": "false"}
_OF_ROLES = {"primary": _PRIMARY, "backup": {"allow-failback": "false"}}


@dataclass(frozen=True)
class Node:
    """Where a node listens, and with whom it makes a pair."""

    name: str
    port: int
    role: str = ""  # "primary" or "backup"; "" for a node alone
    other_port: int = 0  # of the other node of the pair


def node_files(etc: Path, node: Node, cell: CellPlan, password: str, tls: Certificates | None) -> dict[str, str]:
    """Texts by names, for the directory `etc`. Artemis wants the empty management.xml too."""
    broker = quoteattr((etc / "broker.xml").as_uri())
    return {
        "broker.xml": broker_xml(node, cell, password, tls),
        "bootstrap.xml": f'<broker {_SCHEMA}><jaas-security domain="activemq"/><server configuration={broker}/></broker>',
        "management.xml": f"<management-context {_SCHEMA}/>",
        "login.config": _LOGIN,
        **user_files(cell.security),
    }


def broker_xml(node: Node, cell: CellPlan, password: str, tls: Certificates | None) -> str:
    """The `password` is what nodes of a pair use among themselves. DATASYNC is an option of Java's: see beans.py."""
    journal = {name: value for name, value in server_settings(cell).items() if name != DATASYNC}
    user, _ = credentials(cell.security)
    accepted = {"protocols": "CORE,STOMP" if node.role else "STOMP"}
    if tls is not None:
        accepted |= {"sslEnabled": "true", "keyStoreType": "PKCS12", "keyStorePassword": KEY_STORE_PASSWORD}
        accepted["keyStorePath"] = str(write_key_store(tls))
    rights = '<permission type="send" roles="all"/><permission type="consume" roles="all"/>'
    return f"""<configuration xmlns="urn:activemq"><core xmlns="urn:activemq:core">
  <name>{node.name}</name><security-enabled>{"true" if user else "false"}</security-enabled>
  <max-disk-usage>100</max-disk-usage>{_elements(journal)}
  <acceptors><acceptor name="clients">{_url(node.port, accepted)}</acceptor></acceptors>
  {_pair(node, password, tls) if node.role else ""}
  <security-settings><security-setting match="#">{rights}</security-setting></security-settings>
  <address-settings><address-setting match="#">{_elements(_OF_ADDRESSES)}</address-setting></address-settings>
</core></configuration>
"""


def _elements(values: Mapping[str, str]) -> str:
    return "".join(f"<{name}>{escape(value)}</{name}>" for name, value in values.items())


def _url(port: int, parameters: Mapping[str, str]) -> str:
    given = ";".join(f"{name}={quote(value, safe='/,')}" for name, value in parameters.items())
    return escape(f"tcp://{HOST}:{port}?{given}")


def _pair(node: Node, password: str, tls: Certificates | None) -> str:
    trust = {"sslEnabled": "true", "trustStoreType": "PEMCA", "trustStorePath": "" if tls is None else str(tls.ca_file)}
    own, other = (_url(port, trust if tls else {}) for port in (node.port, node.other_port))
    return f"""<cluster-user>pair</cluster-user><cluster-password>{password}</cluster-password>
  <ha-policy><replication><{node.role}>{_elements(_OF_ROLES[node.role])}</{node.role}></replication></ha-policy>
  <connectors><connector name="self">{own}</connector><connector name="other">{other}</connector></connectors>
  <cluster-connections><cluster-connection name="pair">
    <connector-ref>self</connector-ref><message-load-balancing>OFF</message-load-balancing>
    <static-connectors><connector-ref>other</connector-ref></static-connectors>
  </cluster-connection></cluster-connections>"""


def user_files(security: Security | None) -> dict[str, str]:
    """The one user, if any, with the hash of the password: a password that looks like a hash is no special case then."""
    user, password = credentials(security)
    if not user:
        return {_USERS: "", _ROLES: ""}
    salt = secrets.token_bytes(32)
    hashed = hashlib.pbkdf2_hmac("sha1", password.encode(), salt, 1024, 64)
    key = "".join(f"\\u{ord(c):04x}" if c in " :=#!\t" else c for c in user)
    return {_USERS: properties({key: f"ENC(1024:{salt.hex()}:{hashed.hex()})"}), _ROLES: properties({"all": user})}
