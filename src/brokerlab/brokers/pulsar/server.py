"""Files and command lines of Pulsar's servers: pure functions to text. Every listener is on 127.0.0.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from brokerlab.brokers.kit import java as kit_java
from brokerlab.brokers.kit.jvm_options import with_own
from brokerlab.brokers.kit.recipes import JavaServer
from brokerlab.brokers.pulsar import tuning
from brokerlab.brokers.pulsar.settings import PulsarSettings

CLUSTER = "lab"
HOST = "127.0.0.1"
STANDALONE = "org.apache.pulsar.PulsarStandaloneStarter"
BROKER = "org.apache.pulsar.PulsarBrokerStarter"
BOOKIE = "org.apache.bookkeeper.server.Main"
ZOOKEEPER = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
METADATA_SETUP = "org.apache.pulsar.PulsarClusterMetadataSetup"
_OPENED = {
    "java.base": ("java.io", "java.util.zip", "java.nio", "java.lang", "jdk.internal.misc", "jdk.internal.platform",
                  "sun.net"),
    "java.management": ("sun.management",),
    "jdk.management": ("com.sun.management.internal",),
}  # fmt: skip


@dataclass(frozen=True)
class Protection:
    """Files of a cluster that demands TLS and, with `password_file`, a user and a password."""

    ca_file: Path
    certificate_file: Path
    key_file: Path
    password_file: Path | None


@dataclass(frozen=True)
class Memory:
    heap_mb: int
    direct_mb: int


def text(settings: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def java_command(
    programs: JavaServer, memory: Memory, home: Path, main: Sequence[str], own: Sequence[str] = ()
) -> list[str]:
    """The command that runs one server in the foreground."""
    opened = [
        part for module, packages in _OPENED.items() for p in packages
        for part in ("--add-opens", f"{module}/{p}=ALL-UNNAMED")
    ]  # fmt: skip
    if programs.java.major >= 23:  # the option does not exist before; without it newer ones warn at every start
        opened.append("--sun-misc-unsafe-memory-access=allow")
    options = [
        *(f"-Xms{memory.heap_mb // 2}m", f"-Xmx{memory.heap_mb}m", f"-XX:MaxDirectMemorySize={memory.direct_mb}m"),
        "-Djute.maxbuffer=10485760",
        *opened,
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dorg.apache.pulsar.shade.io.netty.tryReflectionSetAccessible=true",
    ]
    return kit_java.java_command(programs.java.path, programs.jars, home, with_own(options, own), main)


def zookeeper_conf(port: int, data: Path) -> str:
    return text(
        {
            "tickTime": "2000",
            "dataDir": str(data),
            "clientPort": str(port),
            "clientPortAddress": HOST,
            "admin.enableServer": "false",
            "maxClientCnxns": "0",
            "4lw.commands.whitelist": "mntr,ruok",
        }
    )


def _bookie_settings(http_port: int, settings: PulsarSettings) -> dict[str, str]:
    return {
        **settings.journal,
        "listeningInterface": "lo",
        "allowLoopback": "true",
        "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
        **{name: str(mb) for name, mb in tuning.BOOKIE_CACHES_MB.items()},
        "dbStorage_rocksDB_blockCacheSize": "8388608",
        "gcWaitTime": "300000",
        "diskUsageThreshold": "0.99",
        "diskUsageWarnThreshold": "0.98",
        "enableStatistics": "true",
        "statsProviderClass": "org.apache.bookkeeper.stats.prometheus.PrometheusMetricsProvider",
        "prometheusStatsHttpEnable": "false",  # the bookie's own server has the page; this one would be on all addresses
        # Counts of timed operations are published when their window ends; the default of a minute is too late for us.
        "prometheusStatsLatencyRolloverSeconds": "1",
        "httpServerEnabled": "true",
        "httpServerClass": "org.apache.bookkeeper.http.vertx.VertxHttpServer",
        "httpServerHost": HOST,
        "httpServerPort": str(http_port),
        **settings.bookie,
    }


def bookie_conf(port: int, http_port: int, zookeeper_port: int, home: Path, settings: PulsarSettings) -> str:
    return text(
        {
            **_bookie_settings(http_port, settings),
            "bookiePort": str(port),
            "advertisedAddress": HOST,
            "metadataServiceUri": f"zk+hierarchical://{HOST}:{zookeeper_port}/ledgers",
            "journalDirectories": str(home / "journal"),
            "ledgerDirectories": str(home / "ledgers"),
            "zkTimeout": "30000",
            # Two of three bookies must acknowledge, so nothing slows producers down for the slowest one. Without a limit it
            # buffers unwritten entries until it runs out of memory; with one, brokers wait for it (below), then producers.
            "maxAddsInProgressLimit": "512",
        }
    )


def _broker_settings(
    port: int, web_port: int, settings: PulsarSettings, protection: Protection | None
) -> dict[str, str]:
    tls = "Tls" if protection else ""
    plain = {"brokerServicePort": "", "webServicePort": ""} if protection else {}
    return {
        **plain,
        f"brokerServicePort{tls}": str(port),
        f"webServicePort{tls}": str(web_port),
        "clusterName": CLUSTER,
        "bindAddress": HOST,
        "advertisedAddress": HOST,
        "managedLedgerDefaultEnsembleSize": str(settings.ensemble),
        "managedLedgerDefaultWriteQuorum": str(settings.write_quorum),
        "managedLedgerDefaultAckQuorum": str(settings.ack_quorum),
        tuning.ENTRY_CACHE: str(tuning.ENTRY_CACHE_MB),
        # A topic without a subscription would be deleted with its data after a minute.
        "brokerDeleteInactiveTopicsEnabled": "false",
        "allowAutoTopicCreation": "false",
        # Without it an acknowledgement within a batch is kept in the client only.
        "acknowledgmentAtBatchIndexLevelEnabled": "true",
        "subscriptionBacklogScanMaxEntries": "1000000",
        # With as many bookies as copies a lost one cannot be replaced: go on while the ack quorum holds.
        "bookkeeper_delayEnsembleChange": "true",
        "bookkeeper_waitTimeoutOnBackpressureMs": "5000",
        # Nothing moves during a run.
        "loadBalancerSheddingEnabled": "false",
        "loadBalancerAutoBundleSplitEnabled": "false",
        "defaultNumberOfNamespaceBundles": "4",
        "systemTopicEnabled": "false",
        "topicLevelPoliciesEnabled": "false",
        "webSocketServiceEnabled": "false",
        "exposeTopicLevelMetricsInPrometheus": "false",
        "numHttpServerThreads": "8",
        **settings.broker,
        **({} if protection is None else _protection_settings(protection)),
    }


def _protection_settings(protection: Protection) -> dict[str, str]:
    """TLS, and a password for clients. The brokers' own client shows the server certificate instead of a password, so
    that no password stands in any configuration."""
    settings = {
        "tlsCertificateFilePath": str(protection.certificate_file),
        "tlsKeyFilePath": str(protection.key_file),
        "tlsTrustCertsFilePath": str(protection.ca_file),
        "brokerClientTlsEnabled": "true",
        "brokerClientTrustCertsFilePath": str(protection.ca_file),
        "tlsHostnameVerificationEnabled": "true",
    }
    if protection.password_file is not None:
        provider = "org.apache.pulsar.broker.authentication.AuthenticationProvider"
        settings |= {
            "authenticationEnabled": "true",
            "authenticationProviders": f"{provider}Basic,{provider}Tls",
            "basicAuthConf": protection.password_file.as_uri(),
            "brokerClientAuthenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationTls",
            "brokerClientAuthenticationParameters": (
                f"tlsCertFile:{protection.certificate_file},tlsKeyFile:{protection.key_file}"
            ),
        }
    return settings


def broker_conf(
    port: int, web_port: int, zookeeper_port: int, settings: PulsarSettings, protection: Protection | None
) -> str:
    zookeeper = f"zk:{HOST}:{zookeeper_port}"
    stores = {"metadataStoreUrl": zookeeper, "configurationMetadataStoreUrl": zookeeper}
    return text({**stores, **_broker_settings(port, web_port, settings, protection)})


def standalone_conf(
    port: int, web_port: int, bookie_http_port: int, settings: PulsarSettings, protection: Protection | None
) -> str:
    """The one bookie inside reads the same file. BookKeeper's own provider of figures would register the JVM's a second
    time, and the broker would not start."""
    own = _broker_settings(port, web_port, settings, protection) | {
        "clusterName": "standalone",
        "statsProviderClass": "org.apache.pulsar.broker.stats.prometheus.metrics.PrometheusMetricsProvider",
    }
    return text({**_bookie_settings(bookie_http_port, settings), **own})


def standalone_arguments(conf: Path, home: Path, bookie_port: int) -> list[str]:
    return [
        *(STANDALONE, "--config", str(conf), "-nfw", "-nss", "-a", HOST, "--bookkeeper-port", str(bookie_port)),
        *("--bookkeeper-dir", str(home / "bookkeeper"), "--metadata-dir", str(home / "metadata")),
    ]


def setup_arguments(zookeeper_port: int, web: str, service: str) -> list[str]:
    """`web` and `service` are the brokers' addresses with their schemes, plain or TLS."""
    zookeeper = f"zk:{HOST}:{zookeeper_port}"
    tls = "-tls" if web.startswith("https:") else ""
    # Both plain addresses are demanded even where nothing listens on them.
    plain = ["--web-service-url", "http://127.0.0.1:1", "--broker-service-url", "pulsar://127.0.0.1:1"] if tls else []
    return [
        *(METADATA_SETUP, "--cluster", CLUSTER, "--zookeeper-session-timeout-ms", "120000"),
        *("--metadata-store", zookeeper, "--configuration-metadata-store", zookeeper),
        *plain,
        *(f"--web-service-url{tls}", web, f"--broker-service-url{tls}", service),
    ]
