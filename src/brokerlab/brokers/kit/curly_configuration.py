"""Configuration files of names, values and blocks in curly braces, as servers of subjects read them."""

from __future__ import annotations

from collections.abc import Sequence

from brokerlab.brokers.kit.certificates import Certificates
from brokerlab.brokers.kit.wire import credentials
from brokerlab.model.plan import Security


def quoted(text: str) -> str:
    """A string; the language knows these escapes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, texts))}]"


def demands(security: Security | None, certificates: Certificates | None) -> list[str]:
    """What clients must show, as lines: TLS, and a user with a password, which stands here and nowhere else."""
    lines = []
    if certificates is not None:
        files = (
            f"cert_file: {quoted(str(certificates.certificate_file))}, key_file: {quoted(str(certificates.key_file))}"
        )
        lines.append(f"tls {{ {files}, timeout: 10 }}")
    user, password = credentials(security)
    login = f"authorization {{ user: {quoted(user)}, password: {quoted(password)} }}"
    return [*lines, login] if user else lines


def routes(name: str, address: str, others: Sequence[str]) -> list[str]:
    """How a node of a cluster finds the others, as a line; none where it is alone."""
    return [f"cluster {{ name: {name}, listen: {address}, routes: {listed(others)} }}"] if others else []
