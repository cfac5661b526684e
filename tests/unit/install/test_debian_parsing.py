"""Reading apt's sources, apt's answers and our locks."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerlab.errors import InstallError
from brokerlab.install import debian, debian_apt, debian_sources
from brokerlab.install.debian_lock import contradictions, major_of, parse_lock, parse_print_uris, upstream_version
from brokerlab.install.debian_sources import Source, debian_mirror, parse_deb822, parse_one_line, system_sources

SHA = "ab" * 32
URIS = f"""NOTE: nothing
'http://mirror.invalid/pool/main/r/redis/redis-server_8.0.2-3_amd64.deb' redis-server_5%3a8.0.2-3_amd64.deb 64 SHA256:{SHA}
'http://mirror.invalid/pool/main/a/adduser/adduser_3.152_all.deb' adduser_3.152_all.deb 32 SHA256:{SHA}
"""


def test_one_line_sources_are_read_with_options_and_comments() -> None:
    text = """# deb http://commented.invalid/debian stable main
deb [arch=amd64 signed-by=/k.gpg] http://mirror.invalid/debian bookworm main contrib # here
deb-src http://mirror.invalid/debian bookworm main
"""
    assert parse_one_line(text) == [Source("http://mirror.invalid/debian", "bookworm", ("main", "contrib"))]


def test_deb822_sources_are_read_with_several_suites_comments_and_continued_lines() -> None:
    text = """Types: deb deb-src
# URIs: http://old.invalid
URIs: http://mirror.invalid/debian
Suites: bookworm
 bookworm-updates
Components: main

Types: deb
Enabled: no
URIs: http://off.invalid
Suites: bookworm
Components: main
"""
    assert parse_deb822(text) == [
        Source("http://mirror.invalid/debian", "bookworm", ("main",)),
        Source("http://mirror.invalid/debian", "bookworm-updates", ("main",)),
    ]


def test_the_mirror_is_the_one_of_debians_own_suites_and_not_a_vendors(tmp_path: Path) -> None:
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (parts / "a.list").write_text("deb http://vendor.invalid/x nodistro main\n")
    (parts / "b.sources").write_text(
        "Types: deb\nURIs: http://security.invalid\nSuites: trixie-security\nComponents: main\n\n"
        "Types: deb\nURIs: http://mirror.invalid/debian\nSuites: trixie\nComponents: main\n"
    )
    (parts / "c.bak").write_text("deb http://backup.invalid trixie main\n")
    assert debian_mirror(system_sources(tmp_path)) == "http://mirror.invalid/debian"


def test_a_system_without_debian_sources_has_no_mirror(tmp_path: Path) -> None:
    assert debian_mirror(system_sources(tmp_path)) is None


def test_the_answer_of_print_uris_gives_packages_with_their_epochs() -> None:
    server, other = parse_print_uris(URIS)
    assert (server.name, server.version, server.architecture) == ("redis-server", "5:8.0.2-3", "amd64")
    assert (server.file, server.size_bytes, server.sha256) == ("redis-server_5%3a8.0.2-3_amd64.deb", 64, SHA)
    assert other.key == ("adduser", "3.152", "all")


def test_an_index_without_sha256_is_refused() -> None:
    with pytest.raises(InstallError, match="no sha256"):
        parse_print_uris("'http://mirror.invalid/x_1_all.deb' x_1_all.deb 32 MD5Sum:00")


def test_a_lock_speaks_only_about_its_own_versions() -> None:
    packages = parse_print_uris(URIS)
    same = parse_lock(f"redis-server 5:8.0.2-3 amd64 {SHA}\n", "x.lock")
    newer = parse_lock(f"redis-server 5:8.0.1-1 amd64 {'00' * 32}\n", "x.lock")
    wrong = parse_lock(f"redis-server 5:8.0.2-3 amd64 {'00' * 32}  # altered\n", "x.lock")
    assert contradictions(packages, same) == []
    assert contradictions(packages, newer) == []
    assert len(contradictions(packages, wrong)) == 1


def test_a_broken_lock_names_its_line() -> None:
    with pytest.raises(InstallError, match=r"x\.lock:2"):
        parse_lock("# comment\nredis-server 8\n", "x.lock")


@pytest.mark.parametrize(
    ("version", "upstream", "major"),
    [("5:8.0.2-3+deb13u2", "8.0.2", 8), ("8.1.1+dfsg1-3", "8.1.1", 8), ("1:27.3.4.1+dfsg-1", "27.3.4.1", 27)],
)
def test_upstream_versions_are_told_from_debians(version: str, upstream: str, major: int) -> None:
    assert upstream_version(version) == upstream
    assert major_of(version) == major


def test_a_system_without_apt_or_keys_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_DEBIAN_MIRROR", "http://mirror.invalid/debian")
    monkeypatch.setattr(debian_apt.shutil, "which", lambda _name: None)
    assert "apt-get" in str(debian.debian_problem())
    monkeypatch.setattr(debian_apt.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(debian_sources, "KEYRINGS", ())
    assert "keyring" in str(debian.debian_problem())
    assert "\n" not in str(debian.debian_problem())
