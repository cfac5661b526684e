"""Certificates for a cluster of ours: an authority that exists for one cluster, and one server certificate from it."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

VALID_DAYS = 30
KEY_STORE_PASSWORD = "brokerlab"  # Java wants one; who may read the file is what protects it


@dataclass(frozen=True)
class Certificates:
    """PEM files. The authority's own key is never written."""

    ca_file: Path
    certificate_file: Path
    key_file: Path  # PKCS#8, unencrypted, readable by the owner only


def certificate_files(directory: Path) -> Certificates:
    """Where `make_certificates` writes them, made or not."""
    return Certificates(directory / "ca.pem", directory / "server.pem", directory / "server-key.pem")


def make_certificates(directory: Path) -> Certificates:
    """A certificate for localhost and 127.0.0.1, signed by a new authority; both in `directory`."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.datetime.now(datetime.UTC)

    def draft(subject: str, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name("brokerlab authority"))
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
        )

    authority_key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = (
        draft("brokerlab authority", authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
                key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )  # fmt: skip
    server = (
        draft("localhost", server_key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("localhost"), x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))]
            ),
            critical=False,
        )
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    directory.mkdir(parents=True, exist_ok=True)
    made = certificate_files(directory)
    made.ca_file.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    made.certificate_file.write_bytes(server.public_bytes(serialization.Encoding.PEM))
    made.key_file.touch(mode=0o600)
    made.key_file.write_bytes(
        server_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return made


def write_key_store(certificates: Certificates) -> Path:
    """The server's key and certificate as one PKCS#12 file beside them, for Java; as private as the key itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

    key = load_pem_private_key(certificates.key_file.read_bytes(), None)
    assert isinstance(key, EllipticCurvePrivateKey)
    certificate = x509.load_pem_x509_certificate(certificates.certificate_file.read_bytes())
    path = certificates.key_file.with_name("server.p12")
    path.touch(mode=0o600)
    made = pkcs12.serialize_key_and_certificates(
        b"server", key, certificate, None, BestAvailableEncryption(KEY_STORE_PASSWORD.encode())
    )
    path.write_bytes(made)
    return path
