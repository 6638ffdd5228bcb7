# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.support import checks
from ansible_collections.monitor.cloud.tests.support.certificates import Kinds, all_kinds
from ansible_collections.monitor.cloud.tests.support.servers import Open, service
from ansible_collections.monitor.cloud.tests.support.tables import markdown


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Kinds:
    return all_kinds(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def account(opened: Open) -> Any:
    return service(opened)[0]


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    proxies = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
    for name in (*proxies, "requests_ca_bundle", "curl_ca_bundle", "ssl_cert_file", "netrc"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the counts of a pytest-xdist worker to the main process."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["counts"] = {part: dict(numbers) for part, numbers in checks.COUNTS.items()}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    for part, numbers in getattr(node, "workeroutput", {}).get("counts", {}).items():
        checks.COUNTS.setdefault(part, Counter()).update(numbers)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if checks.COUNTS and not hasattr(terminalreporter.config, "workerinput"):
        terminalreporter.section("faults")
        terminalreporter.write_line(markdown(("part", *checks.COLUMNS), checks.rows()))
