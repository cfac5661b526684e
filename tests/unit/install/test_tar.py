"""Unpacking what was fetched: everything that belongs there, nothing outside, nothing with somebody else's rights."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from brokerlab.install import tar


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, link, mode
    made.uid = made.gid = 12345
    made.uname = made.gname = "daemon"
    made.size = len(name) if kind == tarfile.REGTYPE else 0
    return made


def unpack(target: Path, *members: tarfile.TarInfo) -> None:
    """Each file's content is its name."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:xz") as archive:
        for one in members:
            archive.addfile(one, io.BytesIO(one.name.encode()))
    written.seek(0)
    with tarfile.open(fileobj=written, mode="r|*") as archive:
        tar.unpack(archive, target)


def test_files_folders_and_links_come_out_as_ours(tmp_path: Path) -> None:
    unpack(
        tmp_path / "new",
        member("./", tarfile.DIRTYPE, mode=0o755),
        member("./closed", tarfile.DIRTYPE, mode=0o555),
        member("./closed/program", mode=0o6775),
        member("./closed/again", tarfile.LNKTYPE, "./closed/program", mode=0o6775),
        member("./elsewhere", tarfile.SYMTYPE, "/etc/alternatives/nothing"),
        member("./null", tarfile.CHRTYPE),
    )
    found = {str(p.relative_to(tmp_path / "new")): p.lstat() for p in sorted((tmp_path / "new").rglob("*"))}
    assert list(found) == ["closed", "closed/again", "closed/program", "elsewhere"]
    assert {status.st_uid for status in found.values()} == {os.getuid()}
    assert {status.st_gid for status in found.values()} == {(tmp_path / "new").stat().st_gid}
    program = tmp_path / "new/closed/program"
    assert program.read_text() == "./closed/program"
    assert program.stat().st_mode & 0o7777 == 0o755
    assert program.samefile(tmp_path / "new/closed/again")
    assert str((tmp_path / "new/elsewhere").readlink()) == "/etc/alternatives/nothing"


@pytest.mark.parametrize(
    "members",
    [
        pytest.param([member("../taken")], id="above"),
        pytest.param([member("a/../../taken")], id="above, by a detour"),
        pytest.param([member("/../taken")], id="absolute"),
        pytest.param([member("out", tarfile.SYMTYPE, ".."), member("out/taken")], id="through a link"),
        pytest.param([member("out", tarfile.SYMTYPE, "../taken"), member("out")], id="over a link"),
        pytest.param([member("in", tarfile.LNKTYPE, "../secret")], id="a hard link to what is outside"),
        pytest.param([member("../taken", tarfile.SYMTYPE, "in")], id="a link that stands outside"),
    ],
)
def test_nothing_lands_outside(tmp_path: Path, members: list[tarfile.TarInfo]) -> None:
    (tmp_path / "secret").write_text("secret")
    with pytest.raises(tarfile.TarError, match="would land outside"):
        unpack(tmp_path / "new", *members)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new", "secret"]
    assert not (tmp_path / "new/in").exists()
