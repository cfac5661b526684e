"""Files that servers in Java read."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit.java import properties, write_java_files


def read_as_java_does(line: str) -> tuple[str, str]:
    """java.util.Properties: what is before the first `=`, and the rest with its escapes undone."""
    name, _, value = line.partition("=")
    return name, value.lstrip().encode("latin-1").decode("unicode_escape").encode("utf-16", "surrogatepass").decode(
        "utf-16"
    )


@given(st.text(st.characters(blacklist_categories=["Cs"]), max_size=20))
def test_any_text_comes_back_from_a_properties_file(text: str) -> None:
    made = properties({"user": "mary", "password": text})
    assert made.isascii()
    lines = made.splitlines()
    assert [read_as_java_does(line) for line in lines] == [("user", "mary"), ("password", text)]


def test_loggers_that_shall_be_silent_are_switched_off_and_others_are_not(tmp_path: Path) -> None:
    write_java_files(tmp_path, silent=["org.example.audit", "org.example.other"])
    lines = (tmp_path / "log4j2.properties").read_text().splitlines()
    names = {line.split("=")[0].removesuffix(".name"): line.split("=")[1] for line in lines if "silent" in line}
    assert {names[key] for key in names if f"{key}.level=OFF" in lines} == {"org.example.audit", "org.example.other"}
    assert "rootLogger.level=INFO" in lines
