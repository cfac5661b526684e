from __future__ import annotations

from pathlib import Path

from brokerlab.brokers.kit.recipes import JavaServer
from brokerlab.brokers.pulsar import server
from brokerlab.brokers.pulsar.password_file import apr1, write_password_file
from brokerlab.brokers.pulsar.settings import PulsarSettings
from brokerlab.install.java import Java

SYNCED = PulsarSettings(3, 3, 2, {"journalSyncData": "true", "journalWriteData": "true"}, {"maxMessageSize": "7"})
PROTECTION = server.Protection(Path("/c/ca.pem"), Path("/c/s.pem"), Path("/c/k.pem"), Path("/c/passwords"))


def properties(text: str) -> dict[str, str]:
    lines = text.splitlines()
    made = dict(line.split("=", 1) for line in lines)
    assert len(made) == len(lines), "a name stands twice"
    return made


def test_every_listener_is_on_loopback() -> None:
    zookeeper = properties(server.zookeeper_conf(1, Path("/d")))
    assert (zookeeper["clientPortAddress"], zookeeper["admin.enableServer"]) == ("127.0.0.1", "false")
    bookie = properties(server.bookie_conf(1, 2, 3, Path("/d"), SYNCED))
    assert (bookie["listeningInterface"], bookie["httpServerHost"]) == ("lo", "127.0.0.1")
    for text in (
        server.broker_conf(1, 2, 3, SYNCED, None),
        server.standalone_conf(1, 2, 3, SYNCED, None),
    ):
        made = properties(text)
        assert (made["bindAddress"], made["advertisedAddress"]) == ("127.0.0.1", "127.0.0.1")


def test_the_sync_is_always_written_and_topics_are_never_deleted_for_want_of_subscriptions() -> None:
    for text in (server.bookie_conf(1, 2, 3, Path("/d"), SYNCED), server.standalone_conf(1, 2, 3, SYNCED, None)):
        assert properties(text)["journalSyncData"] == "true"
    for text in (server.broker_conf(1, 2, 3, SYNCED, None), server.standalone_conf(1, 2, 3, SYNCED, None)):
        made = properties(text)
        assert made["brokerDeleteInactiveTopicsEnabled"] == "false"
        assert made["managedLedgerDefaultAckQuorum"] == "2"
        assert made["maxMessageSize"] == "7"


def test_what_was_set_replaces_what_we_would_write() -> None:
    set_here = PulsarSettings(
        3, 3, 1, dict(SYNCED.journal), {"managedLedgerCacheSizeMB": "7"}, {"dbStorage_writeCacheMaxSizeMb": "9"}
    )
    bookie = properties(server.bookie_conf(1, 2, 3, Path("/d"), set_here))
    assert (bookie["dbStorage_writeCacheMaxSizeMb"], bookie["dbStorage_readAheadCacheMaxSizeMb"]) == ("9", "16")
    assert properties(server.broker_conf(1, 2, 3, set_here, None))["managedLedgerCacheSizeMB"] == "7"
    assert properties(server.standalone_conf(1, 2, 3, set_here, None))["dbStorage_writeCacheMaxSizeMb"] == "9"


def test_a_protected_broker_listens_with_tls_only_and_its_files_hold_no_password() -> None:
    made = properties(server.broker_conf(1, 2, 3, SYNCED, PROTECTION))
    assert (made["brokerServicePort"], made["webServicePort"]) == ("", "")
    assert (made["brokerServicePortTls"], made["webServicePortTls"]) == ("1", "2")
    assert made["authenticationEnabled"] == "true"
    assert "AuthenticationProviderBasic" in made["authenticationProviders"]
    assert made["brokerClientAuthenticationParameters"] == "tlsCertFile:/c/s.pem,tlsKeyFile:/c/k.pem"


def test_an_option_that_old_java_does_not_know_is_given_to_new_java_only() -> None:
    def command(major: int) -> list[str]:
        return server.java_command(
            JavaServer(Java(Path("java"), f"{major}.0.1", "PATH"), (Path("a.jar"),)),
            server.Memory(64, 64),
            Path("/h"),
            ["Main"],
        )

    assert "--sun-misc-unsafe-memory-access=allow" not in command(17)
    assert "--sun-misc-unsafe-memory-access=allow" in command(25)
    assert command(17)[-3:] == ["-cp", "a.jar", "Main"]


def test_a_heap_of_the_workload_takes_the_place_of_ours() -> None:
    programs = JavaServer(Java(Path("java"), "17.0.1", "PATH"), (Path("a.jar"),))
    command = server.java_command(programs, server.Memory(64, 32), Path("/h"), ["Main"], ["-Xmx2g", "-XX:+UseZGC"])
    assert [o for o in command if o.startswith("-Xm")] == ["-Xmx2g"]
    assert {"-XX:MaxDirectMemorySize=32m", "-XX:+UseZGC"} <= set(command)


def test_the_hash_is_the_one_htpasswd_makes() -> None:
    # From `openssl passwd -apr1 -salt abcdefgh`.
    assert apr1("geheim mit sehr langem text", "abcdefgh") == "$apr1$abcdefgh$2Ers.UaLuNmleYBaCPbPn1"


def test_the_password_file_holds_no_password_and_is_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    write_password_file(path, "lab", "planted-secret")
    assert path.stat().st_mode & 0o777 == 0o600
    user, _, coded = path.read_text().strip().partition(":")
    assert user == "lab"
    assert "planted" not in coded
    assert coded == apr1("planted-secret", coded.split("$")[2])
