"""A server whose jars come in an archive."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from brokerlab.brokers.kit.recipes import FromMavenArchive, JavaServer
from brokerlab.install import java, maven
from brokerlab.install.java import Java
from brokerlab.install.maven import Artifact


def packed() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name in ("product-1/lib/b.jar", "product-1/lib/a.jar", "product-1/web/c.jar"):
            member = tarfile.TarInfo(name)
            member.size = len(name)
            archive.addfile(member, io.BytesIO(name.encode()))
    return out.getvalue()


CONTENT = {"product": packed(), "agent": b"an agent"}


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FromMavenArchive:
    def fetch(wanted: Artifact, scratch: Path) -> Path:
        got = scratch / "download"
        got.write_bytes(CONTENT[wanted.name])
        return got

    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path))
    monkeypatch.setattr(maven, "fetch_with_jgo", fetch)
    found = Java(Path("/java"), "17.0.1", "PATH")
    monkeypatch.setattr(java, "find_java", lambda: found)
    lock = tmp_path / "x.lock"
    kinds = {"product": "bin:tar.gz", "agent": ":jar"}
    lines = [
        f"org.example:{name}:1:{kinds[name]} {hashlib.sha256(data).hexdigest()} {len(data)}\n"
        for name, data in CONTENT.items()
    ]
    lock.write_text("".join(lines))
    return FromMavenArchive("x", "1", lock)


def test_the_archives_jars_come_first_in_the_order_of_their_names_and_then_those_of_the_lock(
    recipe: FromMavenArchive,
) -> None:
    assert recipe.found() is None
    assert not recipe.installation().installed
    assert recipe.install(lambda _what, _share: None).installed
    server: JavaServer = recipe.programs()
    assert [jar.name for jar in server.jars] == ["a.jar", "b.jar", "agent-1.jar"]
    assert server.jars[0].read_text() == "product-1/lib/a.jar"
    assert recipe.install(lambda _what, _share: None).installed, "a second time does nothing"


def test_an_archive_that_was_fetched_and_not_unpacked_is_no_installation(recipe: FromMavenArchive) -> None:
    maven.install_artifacts(maven.read_lock(recipe.lock_file), lambda _what, _share: None)
    assert recipe.found() is None
    recipe.install(lambda _what, _share: None)
    assert recipe.found() is not None
