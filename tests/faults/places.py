# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures for tests of the transport."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.faults.certificates import all_kinds
from ansible_collections.monitor.cloud.tests.faults.listeners import Listener
from ansible_collections.monitor.cloud.tests.faults.transport import VARIABLES, Kinds, Open


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Kinds:
    """An authority, and its certificates by what is wrong with them."""
    return all_kinds(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine's own settings do not count."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens listeners and proxies that end with the test."""
    listeners: list[Listener] = []

    def listen(kind: Callable[..., Listener], *arguments: Any, **options: Any) -> Listener:
        listeners.append(kind(*arguments, **options))
        return listeners[-1]

    yield listen
    for listener in listeners:
        listener.stop()
