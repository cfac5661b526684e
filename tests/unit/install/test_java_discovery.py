from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from brokerlab.install.java import Java, find_java, java_home_for_spark, major_version, parse_version


@pytest.mark.parametrize(
    ("said", "version", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', "17.0.15", 17),
        ('java version "1.8.0_402"\nJava(TM) SE Runtime Environment', "1.8.0_402", 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25" 2025-09-16 LTS', "25", 25),
        ('openjdk version "26-ea" 2026-03-17', "26-ea", 26),
        ('openjdk version "11.0.2" 2019-01-15', "11.0.2", 11),
    ],
)
def test_versions_of_all_vendors_are_understood(said: str, version: str, major: int) -> None:
    assert parse_version(said) == version
    assert major_version(version) == major


def test_a_program_that_names_no_version_is_not_java() -> None:
    assert parse_version("The operation couldn't be completed. Unable to locate a Java Runtime.") is None


def pretend_java(directory: Path, version: str, modules: str = "java.base") -> Path:
    """A program that answers -version and --list-modules, and prints its arguments otherwise."""
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        f"  -version) echo 'openjdk version \"{version}\"' >&2 ;;\n"
        f"  --list-modules) echo '{modules}' ;;\n"
        '  *) for a do echo "[$a]"; done ;;\n'
        "esac\n"
    )
    program.chmod(0o755)
    return program


@pytest.fixture
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


@pytest.mark.usefixtures("no_java")
def test_without_java_nothing_is_found_and_nothing_is_installed() -> None:
    assert find_java() is None


@pytest.mark.usefixtures("no_java")
def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home = pretend_java(tmp_path / "home-jdk", "21.0.1")
    on_path = pretend_java(tmp_path / "path-jdk", "17.0.2")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_java() == Java(on_path, "17.0.2", "PATH")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home-jdk"))
    assert find_java() == Java(at_home, "21.0.1", "JAVA_HOME")


@pytest.mark.usefixtures("no_java")
def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_java(tmp_path / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    assert find_java() is None
    new = pretend_java(tmp_path / "new", "17")
    monkeypatch.setenv("PATH", str(new.parent))
    found = find_java()
    assert found is not None
    assert found.path == new


@pytest.mark.usefixtures("no_java")
def test_spark_gets_a_java_that_drops_the_module_a_small_runtime_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = pretend_java(tmp_path / "jre", "25")
    home = java_home_for_spark(Java(program, "25", "wheel"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    arguments = ["-Dx=a b", "--add-modules=jdk.incubator.vector", "", "Main"]
    said = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["[-Dx=a b]", "[]", "[Main]"]


@pytest.mark.usefixtures("no_java")
def test_spark_uses_a_full_runtime_as_it_is(tmp_path: Path) -> None:
    program = pretend_java(tmp_path / "jdk", "21", modules="java.base jdk.incubator.vector@21")
    assert java_home_for_spark(Java(program, "21", "PATH")) == (tmp_path / "jdk").resolve()
