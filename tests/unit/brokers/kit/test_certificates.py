from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest

from brokerlab.brokers.kit.certificates import Certificates, make_certificates


def _serve_once(listener: socket.socket, made: Certificates) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate_file, made.key_file)
    raw, _ = listener.accept()
    try:
        with context.wrap_socket(raw, server_side=True) as wrapped:
            wrapped.sendall(b"hello")
    except ssl.SSLError:
        raw.close()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_a_client_that_trusts_the_authority_accepts_the_server(tmp_path: Path, name: str) -> None:
    made = make_certificates(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=_serve_once, args=(listener, made))
        server.start()
        context = ssl.create_default_context(cafile=str(made.ca_file))
        with (
            socket.create_connection(listener.getsockname()) as raw,
            context.wrap_socket(raw, server_hostname=name) as wrapped,
        ):
            assert wrapped.recv(5) == b"hello"
        server.join()


def test_another_authority_is_not_trusted(tmp_path: Path) -> None:
    made, other = make_certificates(tmp_path / "a"), make_certificates(tmp_path / "b")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=_serve_once, args=(listener, made))
        server.start()
        context = ssl.create_default_context(cafile=str(other.ca_file))
        with socket.create_connection(listener.getsockname()) as raw, pytest.raises(ssl.SSLCertVerificationError):
            context.wrap_socket(raw, server_hostname="localhost")
        server.join()


def test_the_key_is_for_its_owner_only(tmp_path: Path) -> None:
    assert make_certificates(tmp_path).key_file.stat().st_mode & 0o077 == 0
