# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trustme

# Only the proxies of the tests can resolve this name.
HOST = "api.example.test"
Files = tuple[str, str]
# Path of the authority, and files of certificates by name, for example "expired".
Kinds = tuple[str, Mapping[str, Files]]


def loopback(directory: Path) -> Files:
    """Return the path of a certificate for this machine, and the path of its key."""
    authority = trustme.CA()
    return _kept(directory / "loopback", authority.issue_cert("127.0.0.1", "localhost"), authority)


def all_kinds(directory: Path) -> Kinds:
    name: dict[str, Any] = {"organization_name": "monitor.cloud", "organization_unit_name": "Tests"}
    authority, other, own = (trustme.CA(**name) for _number in range(3))
    path = directory / "authority.pem"
    authority.cert_pem.write_to_path(path)

    def issue(*names: str, by: trustme.CA = authority, **options: Any) -> Files:
        return _kept(directory / str(len(list(directory.iterdir()))), by.issue_cert(*names, **options))

    here = ("127.0.0.1", "localhost", HOST)
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    own_files = str(directory / "self.pem"), str(directory / "self.key")
    own.cert_pem.write_to_path(own_files[0])
    own.private_key_pem.write_to_path(own_files[1])
    return str(path), {
        "good": issue(*here),
        "wrong name": issue("192.0.2.1", "elsewhere.example.test"),
        "expired": issue(*here, not_before=now - 3 * day, not_after=now - day),
        "self-signed": own_files,
        "authority of the same name": issue(*here, by=other),
    }


def _kept(path: Path, certificate: trustme.LeafCert, *more: trustme.CA) -> Files:
    files = path.with_suffix(".pem"), path.with_suffix(".key")
    blobs = [*certificate.cert_chain_pems, *(authority.cert_pem for authority in more)]
    files[0].write_bytes(b"".join(blob.bytes() for blob in blobs))
    certificate.private_key_pem.write_to_path(files[1])
    return str(files[0]), str(files[1])
