"""Files that servers in Java read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from brokerlab.brokers.kit.java import properties


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
