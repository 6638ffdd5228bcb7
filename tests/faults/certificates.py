# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A private certificate authority, and certificates that are right or wrong in one respect."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

# A name that is never looked up: proxies of the tests know where it is.
HOST = "api.example.test"
_HERE = ("127.0.0.1", "localhost", HOST)
_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """Signs certificates; ``path`` is its own, which callers trust."""

    def __init__(self, place: Path, name: str) -> None:
        self._place = place
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("Private authority")
        self._certificate = self._signed(self._name, self._key, "now", authority=True)
        self.path = str(place / f"{name}.pem")
        Path(self.path).write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *, names: Sequence[str] = _HERE, valid: str = "now") -> tuple[str, str]:
        """A certificate for these names, or alone a common name where there are none, and its key; paths of files."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(_named("localhost"), key, valid, names=names)
        return _kept(self._place / name, certificate, key)

    def _signed(
        self, subject: x509.Name, key: Any, valid: str, *, names: Sequence[str] = (), authority: bool = False
    ) -> x509.Certificate:
        return _certificate(subject, self._name, key, self._key, valid, names, authority=authority)


def self_signed(place: Path) -> tuple[str, str]:
    """A certificate that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _named("localhost")
    return _kept(place / "self", _certificate(name, name, key, key, "now", _HERE, authority=False), key)


def all_kinds(place: Path) -> tuple[Authority, Mapping[str, tuple[str, str]]]:
    """An authority and certificates by what is wrong with them; ``good`` is right."""
    authority, other = Authority(place, "authority"), Authority(place, "other")
    return authority, {
        "good": authority.issue("good"),
        "wrong name": authority.issue("elsewhere", names=["192.0.2.1", "elsewhere.example.test"]),
        "no alternative name": authority.issue("common", names=[]),
        "expired": authority.issue("expired", valid="past"),
        "not valid yet": authority.issue("future", valid="future"),
        "self-signed": self_signed(place),
        "authority of the same name": other.issue("impostor"),
    }


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: Any, signer: Any, valid: str, names: Sequence[str], *, authority: bool
) -> x509.Certificate:
    day = datetime.timedelta(days=1)
    start = datetime.datetime.now(datetime.UTC) + {"past": -3 * day, "now": -day, "future": 2 * day}[valid]
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(start).not_valid_after(start + 2 * day)
    builder = builder.add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = builder.add_extension(identifier, critical=False)
    if authority:
        # From Python 3.13 on, an authority that does not say what its key is for is not believed.
        builder = builder.add_extension(_SIGNS, critical=True)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
    return builder.sign(signer, hashes.SHA256())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _kept(path: Path, certificate: x509.Certificate, key: Any) -> tuple[str, str]:
    paths = str(path.with_suffix(".pem")), str(path.with_suffix(".key"))
    Path(paths[0]).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    Path(paths[1]).write_bytes(private)
    return paths
