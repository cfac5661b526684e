"""A name server and brokers as child processes on loopback: one master, or pairs of a master and its slave."""

from __future__ import annotations

import json
from pathlib import Path
from string import Template

from brokerlab.brokers.contract import NodeInfo
from brokerlab.brokers.kit.asking import json_object
from brokerlab.brokers.kit.java import properties, property_value
from brokerlab.brokers.kit.java_cluster import JavaCluster
from brokerlab.brokers.kit.local import HOST, trial_destination, write_private
from brokerlab.brokers.kit.loopback import check_closed, loopback_environment
from brokerlab.brokers.kit.placing import endpoint_at, place
from brokerlab.brokers.kit.recipes import JavaServer
from brokerlab.brokers.kit.wire import credentials
from brokerlab.brokers.rocketmq import remoting
from brokerlab.brokers.rocketmq.admin import RocketAdmin
from brokerlab.brokers.rocketmq.settings import OPEN_PORT, ROLE, master_settings
from brokerlab.model.plan import CellPlan, Endpoint
from brokerlab.processes.ports import HeldPorts

_NAME_SERVER = "rocketmq-nameserver"
_OPENED = ("jdk.internal.ref", "java.nio", "sun.nio.ch", "jdk.internal.misc")
_DISK = ("rocketmq.broker.diskSpaceWarningLevelRatio", "rocketmq.broker.diskSpaceCleanForciblyRatio")
_LOGGING = f"-Drmq.logback.configurationFile={Path(__file__).with_name('logback.xml')}"
_LOCAL_USERS = "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider"


class RocketCluster(JavaCluster):
    """See brokers.contract.Cluster and CanLoseANode. Odd nodes are masters, the next one is the slave of each."""

    stop_together_s = 5.0

    def __init__(self, cell: CellPlan, server: JavaServer, directory: Path, logs: Path) -> None:
        super().__init__(cell, directory, logs, ports=1 + cell.nodes)
        self._name_server, *self._replication_ports = self._held.numbers
        self._twos = HeldPorts(cell.nodes, also_below=2)  # a broker takes the port 2 below its own as well
        self._names = [f"rocketmq-{number + 1}" for number in range(cell.nodes)]
        self._masters = range(0, cell.nodes, 2)
        self._is_open = cell.broker_settings.get(OPEN_PORT) == "true"
        self._add(server, _NAME_SERVER, "namesrv.NamesrvStartup", 128)
        for name in self._names:
            self._add(server, name, "broker.BrokerStartup", 512 if cell.nodes == 1 else 256)

    def _add(self, server: JavaServer, name: str, main: str, heap_mb: int) -> None:
        home = self._directory / name
        options = [f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m", f"-Duser.home={home}", _LOGGING, *self._tls_options()]
        options += [f"-D{ratio}=0.97" for ratio in _DISK]  # by default logs are deleted when a disk is 85 % full
        options += [f"--add-{way}=java.base/{p}=ALL-UNNAMED" for p in _OPENED for way in ("exports", "opens")]
        program = [f"org.apache.rocketmq.{main}", "-c", "node.conf"]
        env = {"ROCKETMQ_HOME": str(home), **({} if self._is_open else loopback_environment())}
        self._processes.append(self._java(name, server, options, program, env))

    def _tls_options(self) -> list[str]:
        if (own := self._certificates) is None:
            return []
        asked = {"enable": "true", "test.mode.enable": "false", "config.file": "none", "server.mode": "enforcing"}
        server = {"server.keyPath": own.key_file, "server.certPath": own.certificate_file}
        client = {"client.authServer": "true", "client.trustCertPath": own.ca_file}
        return [f"-Dtls.{name}={value}" for name, value in (asked | server | client).items()]

    def start(self) -> None:
        self._make_certificates()
        conf = {name: self._broker_conf(number) for number, name in enumerate(self._names)}
        conf[_NAME_SERVER] = f"listenPort={self._name_server}\nbindAddress={HOST}\n"
        for name, text in conf.items():
            (self._directory / name / "tmp").mkdir(parents=True, exist_ok=True)
            write_private(self._directory / name / "node.conf", text)
        self._start_processes(self._processes[:1] + self._processes[1::2])

    def _broker_conf(self, number: int) -> str:
        """There may be a password in it."""
        pair, is_slave = divmod(number, 2)
        ports = {"port": self._twos.numbers[number], "replication_port": self._replication_ports[number]}
        named = {"pair": f"pair-{pair + 1}", "id": is_slave, "name_server_port": self._name_server} | ports
        file = Path(__file__).with_name("broker.properties")
        store = property_value(str(self._directory / self._names[number] / "store"))
        fixed = Template(file.read_text()).substitute(named, store=store, copies=min(self._cell.nodes, 2))
        settings = master_settings(self._cell) | ({ROLE: "SLAVE"} if is_slave else {})
        user, password = credentials(self._cell.security)
        if user:
            settings |= {"authenticationEnabled": "true", "authenticationMetadataProvider": _LOCAL_USERS}
            settings["initAuthenticationUser"] = json.dumps({"username": user, "password": password})
            settings["innerClientAuthenticationCredentials"] = json.dumps({"accessKey": user, "secretKey": password})
        return fixed + properties(settings)

    def wait_ready(self, deadline_mono_ns: int) -> None:
        self._wait("an acknowledged write to every master", self._written, deadline_mono_ns, every_s=0.25)
        if not self._is_open:
            check_closed([self._name_server, *self._twos.numbers, *self._replication_ports])

    def _written(self) -> bool:
        """Every slave follows its master, every master has acknowledged a message, and the name server has answered."""
        endpoint, masters = self.endpoint(), len(self._masters)
        with trial_destination(RocketAdmin(endpoint, self._cell), masters) as name:
            # Slaves; one that asks for its master too early asks again after 10 s.
            self._start_processes(self._processes[2::2])
            for address in endpoint.addresses:  # as many queues as masters: the first one of each
                with remoting.RemotingLink.session(endpoint_at(endpoint, address)) as link:
                    replication = json_object(link.call(remoting.REPLICATION, {}).body)
                    if self._cell.nodes > 1 and not replication.get("inSyncSlaveNums"):
                        raise OSError("a slave does not follow its master yet")
                    link.call(remoting.SEND, remoting.send_fields(name, 0, batch=False), b"ready")
        return True

    def endpoint(self) -> Endpoint:
        return self._endpoint([self._twos.numbers[number] for number in self._masters])

    def nodes(self) -> tuple[NodeInfo, ...]:
        return self._node_infos("remoting", [f"{HOST}:{port}" for port in (self._name_server, *self._twos.numbers)])

    def _leading_node(self, destination: str) -> str:
        """A partition has one master, and no slave takes over."""
        return self._names[self._masters[place(destination, 0, len(self._masters))[0]]]
