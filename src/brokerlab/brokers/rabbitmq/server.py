"""The files and the environment of one RabbitMQ node."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from brokerlab.brokers.kit.certificates import Certificates
from brokerlab.brokers.kit.local import write_private
from brokerlab.brokers.rabbitmq.settings import Kind

PLUGINS = {
    "classic": ("rabbitmq_management", "rabbitmq_prometheus"),
    "quorum": ("rabbitmq_management", "rabbitmq_prometheus"),
    "stream": ("rabbitmq_management", "rabbitmq_prometheus", "rabbitmq_stream"),
}


@dataclass(frozen=True)
class NodeLayout:
    """One node's name, ports and directory."""

    number: int
    directory: Path
    amqp_port: int
    stream_port: int
    management_port: int
    prometheus_port: int
    distribution_port: int

    @property
    def name(self) -> str:
        return f"rabbitmq-{self.number}"

    @property
    def erlang_name(self) -> str:
        return f"{self.name}@localhost"


@dataclass(frozen=True)
class Account:
    """The one user of a cluster that demands a password. Only a salted hash of the password is ever written."""

    user: str
    password: str

    def definitions(self) -> str:
        """For `load_definitions`; with them RabbitMQ makes no `guest`."""
        salt = os.urandom(4)
        digest = hashlib.sha256(salt + self.password.encode()).digest()
        user = {
            "name": self.user,
            "password_hash": base64.b64encode(salt + digest).decode(),
            "hashing_algorithm": "rabbit_password_hashing_sha256",
            "tags": ["administrator"],
        }
        permission = {"user": self.user, "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}
        return json.dumps({"users": [user], "vhosts": [{"name": "/"}], "permissions": [permission]})


def configuration(
    layout: NodeLayout,
    all_nodes: Sequence[NodeLayout],
    kind: Kind,
    own_settings: Mapping[str, str],
    certificates: Certificates | None,
    definitions: Path | None,
) -> str:
    """rabbitmq.conf. With certificates there is no listener for clients without TLS."""
    lines = [
        "log.console = true",
        "log.console.level = info",
        "log.file = false",
        "prometheus.tcp.ip = 127.0.0.1",
        f"prometheus.tcp.port = {layout.prometheus_port}",
        # Leaves out the sampled, stale message counters that nothing here may rely on, and their cost.
        "management_agent.disable_metrics_collector = true",
        *(_tls(layout, kind, certificates) if certificates else _plain(layout, kind)),
    ]
    if definitions is not None:
        lines.append(f"load_definitions = {definitions}")
    if len(all_nodes) > 1:
        lines += [
            "cluster_formation.peer_discovery_backend = classic_config",
            f"cluster_formation.target_cluster_size_hint = {len(all_nodes)}",
            *(f"cluster_formation.classic_config.nodes.{n.number} = {n.erlang_name}" for n in all_nodes),
        ]
    lines += [f"{name} = {value}" for name, value in own_settings.items()]
    return "\n".join(lines) + "\n"


def _plain(layout: NodeLayout, kind: Kind) -> list[str]:
    lines = [
        f"listeners.tcp.1 = 127.0.0.1:{layout.amqp_port}",
        "management.tcp.ip = 127.0.0.1",
        f"management.tcp.port = {layout.management_port}",
    ]
    if kind == "stream":
        lines += [f"stream.listeners.tcp.1 = 127.0.0.1:{layout.stream_port}"]
    return lines


def _tls(layout: NodeLayout, kind: Kind, certificates: Certificates) -> list[str]:
    files = {
        "cacertfile": certificates.ca_file,
        "certfile": certificates.certificate_file,
        "keyfile": certificates.key_file,
    }
    lines = [
        "listeners.tcp = none",
        f"listeners.ssl.1 = 127.0.0.1:{layout.amqp_port}",
        *(f"ssl_options.{name} = {path}" for name, path in files.items()),
        "ssl_options.verify = verify_none",  # of clients: they prove who they are by password
        "ssl_options.fail_if_no_peer_cert = false",
        "management.ssl.ip = 127.0.0.1",
        f"management.ssl.port = {layout.management_port}",
        *(f"management.ssl.{name} = {path}" for name, path in files.items()),
    ]
    if kind == "stream":
        lines += ["stream.listeners.tcp = none", f"stream.listeners.ssl.1 = 127.0.0.1:{layout.stream_port}"]
    return lines


def environment(layout: NodeLayout, erlang: Path, epmd_port: int) -> dict[str, str]:
    """What a node needs to know that is not in its configuration file. Not our whole environment: it may hold the
    password, and settings of the user's own RabbitMQ."""
    home = layout.directory
    return {
        "HOME": str(home),  # holds .erlang.cookie
        "PATH": f"{erlang / 'bin'}{os.pathsep}{os.environ.get('PATH', '/usr/bin:/bin')}",
        "LC_ALL": "C.UTF-8",
        # The start script then becomes the node (exec). Otherwise it stays as its parent: the process we know would be
        # a shell, and the node would outlive both when they are killed.
        "RUNNING_UNDER_SYSTEMD": "true",
        "RABBITMQ_NODENAME": layout.erlang_name,
        "RABBITMQ_MNESIA_BASE": str(home / "data"),
        "RABBITMQ_LOG_BASE": str(home / "log"),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"),
        "RABBITMQ_CONF_ENV_FILE": str(home / "rabbitmq-env.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "enabled_plugins"),
        "RABBITMQ_PID_FILE": str(home / "pid"),
        "RABBITMQ_GENERATED_CONFIG_DIR": str(home / "generated"),
        "RABBITMQ_DIST_PORT": str(layout.distribution_port),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        # The port mapper is a process of ours: an Erlang that starts its own leaves it behind for ever.
        "ERL_FLAGS": "-start_epmd false",
        "ERL_EPMD_PORT": str(epmd_port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }


def write_files(layout: NodeLayout, configuration_text: str, kind: Kind, cookie: str) -> None:
    home = layout.directory
    home.mkdir(parents=True, exist_ok=True)
    (home / "rabbitmq.conf").write_text(configuration_text)
    (home / "rabbitmq-env.conf").write_text("")
    (home / "enabled_plugins").write_text(f"[{','.join(PLUGINS[kind])}].\n")
    write_private(home / ".erlang.cookie", cookie, 0o400)
