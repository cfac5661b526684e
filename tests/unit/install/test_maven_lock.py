from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from brokerlab.brokers.kafka.broker import BROKER as KAFKA
from brokerlab.errors import InstallError
from brokerlab.install.maven import Artifact, commented, install_artifacts, missing, parse_lock, remade

CONTENT = {name: f"the bytes of {name}".encode() * 100 for name in ("one", "two", "three")}


def artifact(name: str) -> Artifact:
    content = CONTENT[name]
    return Artifact("org.example", name, "1.0", "", "jar", hashlib.sha256(content).hexdigest(), len(content))


ALL = tuple(artifact(name) for name in CONTENT)


class Repository:
    """Hands out CONTENT and remembers who asked; `wrong` gets other bytes, `absent` an error."""

    def __init__(self, wrong: str = "", absent: str = "") -> None:
        self.wrong = wrong
        self.absent = absent
        self.asked: list[str] = []

    def fetch(self, wanted: Artifact, scratch: Path) -> Path:
        self.asked.append(wanted.name)
        if wanted.name == self.absent:
            raise ConnectionError("no route to host")
        got = scratch / "download"
        got.write_bytes(b"something else" if wanted.name == self.wrong else CONTENT[wanted.name])
        return got


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path))
    return tmp_path


def nothing(what: str, share: float) -> None:
    pass


def test_a_lock_is_read_line_by_line_with_comments_and_classifiers() -> None:
    sha = "0" * 64
    text = f"# head\n\norg.a:b:1 {sha} 10\norg.a:c:2:agent:jar {sha} 20 # why\norg.a:d:3::tar.gz {sha} 30\n"
    first, second, third = parse_lock(text, "x.lock")
    assert (first.coordinate, first.size_bytes, first.path.name) == ("org.a:b:1", 10, "b-1.jar")
    assert (second.coordinate, second.path.name) == ("org.a:c:2:agent:jar", "c-2-agent.jar")
    assert (third.coordinate, third.path.name) == ("org.a:d:3::tar.gz", "d-3.tar.gz")


@pytest.mark.parametrize(
    "line",
    [
        "org.a:b:1",
        "org.a:b:1 abc 10",
        f"org.a:b {'0' * 64} 10",
        f"org.a:b:1 {'0' * 64} ten",
        f"org.a:b:1:x {'0' * 64} 1",
    ],
)
def test_a_broken_line_is_named_by_file_and_number(line: str) -> None:
    with pytest.raises(InstallError, match=r"x\.lock:2: ") as raised:
        parse_lock(f"# head\n{line}\n", "x.lock")
    assert raised.value.hint


def test_kafkas_lock_holds_its_roots_and_the_agent() -> None:
    lock = KAFKA.recipe.lock_file.read_text()
    coordinates = {a.coordinate for a in parse_lock(lock, "kafka.lock")}
    named = {*commented(lock, "root"), *commented(lock, "alone")}
    assert len(named) == 4
    assert coordinates >= named


def test_kafkas_jars_are_all_of_one_version() -> None:
    artifacts = parse_lock(KAFKA.recipe.lock_file.read_text(), "kafka.lock")
    versions = {a.name: a.version for a in artifacts if a.group == "org.apache.kafka"}
    assert "kafka-clients" in versions
    assert set(versions.values()) == {KAFKA.version}


def test_what_is_missing_is_fetched_and_reported_until_all_is_there() -> None:
    shares: list[float] = []
    repository = Repository()
    install_artifacts(ALL, lambda _, share: shares.append(share), repository.fetch)
    assert missing(ALL) == []
    assert sorted(repository.asked) == sorted(CONTENT)
    assert [a.path.read_bytes() for a in ALL] == list(CONTENT.values())
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_what_is_there_is_not_fetched_again_and_what_was_damaged_is() -> None:
    install_artifacts(ALL, nothing, Repository().fetch)
    path = artifact("two").path
    path.write_bytes(b"x" * len(CONTENT["two"]))
    again = Repository()
    install_artifacts(ALL, nothing, again.fetch)
    assert again.asked == ["two"]
    assert path.read_bytes() == CONTENT["two"]


def test_a_file_with_another_hash_is_refused_and_leaves_nothing(cache: Path) -> None:
    with pytest.raises(InstallError, match=r"org\.example:two:1\.0 has sha256") as raised:
        install_artifacts(ALL, nothing, Repository(wrong="two").fetch)
    assert raised.value.hint
    assert artifact("two") in missing(ALL)
    left = {p.name for p in (cache / "maven" / "org.example").iterdir()}
    assert left <= {"one-1.0.jar", "three-1.0.jar"}


def test_an_interrupted_installation_goes_on_where_it_was() -> None:
    with pytest.raises(InstallError, match="no route to host") as raised:
        install_artifacts(ALL, nothing, Repository(absent="three").fetch)
    assert "network" in (raised.value.hint or "")
    have = {a.name for a in ALL} - {a.name for a in missing(ALL)}
    assert "three" not in have
    again = Repository()
    install_artifacts(ALL, nothing, again.fetch)
    assert set(again.asked) == set(CONTENT) - have
    assert missing(ALL) == []


def test_two_processes_at_once_fetch_every_file_once(tmp_path: Path) -> None:
    script = tmp_path / "installer.py"
    script.write_text(
        "import sys, os, time\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_maven_lock import ALL, Repository, nothing\n"
        "from brokerlab.install.maven import install_artifacts\n"
        "repository = Repository()\n"
        "install_artifacts(ALL, nothing, repository.fetch)\n"
        "print(*repository.asked)\n"
    )
    both = [
        subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(" ".join(said).split()) == sorted(CONTENT)
    assert missing(ALL) == []


def test_a_lock_is_made_again_from_what_its_comments_name() -> None:
    lock = "# Two things.\n# root g:a:1\n# root g:b:2\n# alone g:c:3::zip\ng:a:1 old 1\n"
    asked: list[list[str]] = []

    def lines(roots: list[str], alone: list[str]) -> list[str]:
        asked.extend([roots, alone])
        return ["g:a:1 new 2"]

    made = remade(lock, lines)
    assert asked == [["g:a:1", "g:b:2"], ["g:c:3::zip"]]
    assert made == lock.replace("g:a:1 old 1", "g:a:1 new 2")
