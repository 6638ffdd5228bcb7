# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many of the collection's functions are between the task and the library that sends its requests."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest
import requests

from ansible_collections.monitor.cloud.plugins.modules import monitor_clients
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.tasks import go

_PLUGINS = Path(__file__).resolve().parents[3] / "plugins"


class _Stop(Exception):
    """Nothing of the collection handles it, so its traceback has every frame, across threads."""


def _is_ours(file: str) -> bool:
    return Path(file).resolve().is_relative_to(_PLUGINS)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("GET", {"labels": ["web1"]}),
        ("POST", {"labels": ["web1", "web2"]}),
        ("POST", {"labels": [], "renames": {"old1": "new1"}}),
        ("DELETE", {"labels": ["old1", "old2"], "state": "absent"}),
    ],
)
def test_at_most_eight_frames_from_run_to_the_request(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, method: str, options: dict[str, Any]
) -> None:
    go(emulator, monitor_clients, labels=["old1", "old2"])
    send = requests.Session.request

    def stop(self: requests.Session, *arguments: Any, **details: Any) -> requests.Response:
        if arguments[0] == method:
            raise _Stop
        return send(self, *arguments, **details)

    monkeypatch.setattr(requests.Session, "request", stop)
    with pytest.raises(_Stop) as stopped:
        go(emulator, monitor_clients, check_capacity=False, **options)
    frames = [frame for frame in traceback.extract_tb(stopped.tb) if _is_ours(frame.filename)]
    assert (frames[0].name, frames[-1].name) == ("run", "_attempt")
    assert len(frames) <= 8, [frame.name for frame in frames]
