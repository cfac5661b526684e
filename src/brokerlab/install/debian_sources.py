"""Which Debian mirror this system uses: read from its own apt sources, so that no host stands in our files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MIRROR_VARIABLE = "BROKERLAB_DEBIAN_MIRROR"
KEYRINGS = (
    Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
    Path("/usr/share/keyrings/debian-archive-keyring.pgp"),
)
# Suites by which a source is known to be Debian itself and not, say, a vendor's repository on the same host.
_DEBIAN_SUITES = {
    *("oldoldstable", "oldstable", "stable", "testing", "unstable", "sid"),
    *("buster", "bullseye", "bookworm", "trixie", "forky", "duke"),
}
_ONE_LINE = re.compile(r"deb\s+(?:\[[^\]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s*(?P<components>.*)")


@dataclass(frozen=True)
class Source:
    """One repository of binary packages as apt's files name it."""

    uri: str
    suite: str
    components: tuple[str, ...]


def parse_one_line(text: str) -> list[Source]:
    """The `deb` lines of a sources.list."""
    found = []
    for line in text.splitlines():
        match = _ONE_LINE.fullmatch(line.partition("#")[0].strip())
        if match is not None:
            found.append(Source(match["uri"], match["suite"], tuple(match["components"].split())))
    return found


def parse_deb822(text: str) -> list[Source]:
    """The enabled `deb` stanzas of a .sources file, one Source for every URI and suite."""
    found = []
    for stanza in re.split(r"\n[ \t]*\n", text):
        fields = _fields(stanza)
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        components = tuple(fields.get("components", "").split())
        uris, suites = fields.get("uris", "").split(), fields.get("suites", "").split()
        found += [Source(uri, suite, components) for uri in uris for suite in suites]
    return found


def _fields(stanza: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    last = ""
    for line in stanza.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line[0] in " \t":  # goes on
            fields[last] = f"{fields.get(last, '')} {line.strip()}"
        else:
            last, _, value = line.partition(":")
            last = last.strip().lower()
            fields[last] = value.strip()
    return fields


def system_sources(directory: Path = Path("/etc/apt")) -> list[Source]:
    """Everything the system's apt reads, in apt's order. Files that cannot be read count as absent."""
    found = parse_one_line(_text(directory / "sources.list"))
    for path in sorted((directory / "sources.list.d").glob("*")):
        if path.suffix == ".list":
            found += parse_one_line(_text(path))
        elif path.suffix == ".sources":
            found += parse_deb822(_text(path))
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def debian_mirror(sources: Iterable[Source]) -> str | None:
    """The first address that serves Debian's own suites; the security archive has suites of other names."""
    for source in sources:
        if source.suite in _DEBIAN_SUITES and "main" in source.components:
            return source.uri
    return None


def mirror() -> str | None:
    """BROKERLAB_DEBIAN_MIRROR, else the system's own mirror, else None."""
    return os.environ.get(MIRROR_VARIABLE) or debian_mirror(system_sources())


def keyring() -> Path | None:
    """The distribution's keys, with which its archive is verified."""
    return next((path for path in KEYRINGS if path.is_file()), None)
