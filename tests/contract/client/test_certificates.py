# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates: which are trusted, by an option or the environment, and the errors for all others."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError
from ansible_collections.monitor.cloud.plugins.modules import monitor_client
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.certificates import loopback
from ansible_collections.monitor.cloud.tests.support.tasks import go


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The certificate of the service."""
    return loopback(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A certificate of another owner."""
    return loopback(tmp_path_factory.mktemp("tls"))[0]


@pytest.fixture(scope="module")
def secure(trusted: tuple[str, str]) -> Iterator[Emulator]:
    """The service over TLS."""
    certificate, key = trusted
    with Emulator(arguments=["--tls-cert", certificate, "--tls-key", key], cafile=certificate) as emulator:
        yield emulator


@pytest.fixture(autouse=True)
def no_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own settings do not count."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


def test_a_certificate_of_an_untrusted_authority_is_refused_at_once(secure: Emulator, other: str) -> None:
    for ca_path in (None, other):
        began = time.monotonic()
        with pytest.raises(ApiError) as failed:
            go(secure, monitor_client, label="web2", ca_path=ca_path, retry_timeout=60.0)
        assert time.monotonic() - began < 30
        assert str(failed.value).startswith("Could not list the clients: no secure connection: SSLCertVerificationErr")
        assert str(failed.value).endswith("Check base_url; for a private certificate authority set ca_path.")


def test_the_environments_bundle_counts_unless_the_task_names_one(
    secure: Emulator, trusted: tuple[str, str], other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", trusted[0])
    assert go(secure, monitor_client, label="web1")["client"]["label"] == "web1"
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", other)
    assert go(secure, monitor_client, label="web1", ca_path=trusted[0])["client"]["label"] == "web1"
    assert go(secure, monitor_client, label="web1", validate_certs=False)["client"]["label"] == "web1"


def test_plain_http_to_a_secure_service(secure: Emulator) -> None:
    plain = secure.base_url.replace("https:", "http:")
    with pytest.raises(ApiError, match="Could not list the clients: "):
        go(secure, monitor_client, label="web1", base_url=plain, retry_timeout=0.0)
