"""A password file for Pulsar's basic authentication: `user:$apr1$salt$hash`, as Apache's htpasswd writes it."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

_ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ORDER = ((0, 6, 12), (1, 7, 13), (2, 8, 14), (3, 9, 15), (4, 10, 5))
_ROUNDS = 1000


def write_password_file(path: Path, user: str, password: str) -> None:
    """Readable by its owner only. It holds a hash, never the password."""
    salt = "".join(secrets.choice(_ALPHABET) for _ in range(8))
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(f"{user}:{apr1(password, salt)}\n")


def apr1(password: str, salt: str) -> str:
    """Apache's variant of the MD5 crypt: the only hash with a long salt that Pulsar 4.2's provider knows."""
    word, grain = password.encode(), salt.encode()
    inner = _md5(word + grain + word)
    start = word + b"$apr1$" + grain + (inner * (len(word) // 16 + 1))[: len(word)]
    bits = len(word)
    while bits:
        start += b"\0" if bits & 1 else word[:1]
        bits >>= 1
    digest = _md5(start)
    for i in range(_ROUNDS):
        mixed = word if i & 1 else digest
        mixed += (grain if i % 3 else b"") + (word if i % 7 else b"")
        digest = _md5(mixed + (digest if i & 1 else word))
    coded = "".join(_coded(digest[a] << 16 | digest[b] << 8 | digest[c], 4) for a, b, c in _ORDER)
    return f"$apr1${salt}${coded}{_coded(digest[11], 2)}"


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _coded(value: int, characters: int) -> str:
    return "".join(_ALPHABET[value >> 6 * i & 63] for i in range(characters))
