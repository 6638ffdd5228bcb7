# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of an audit as a task: its files, and options that are refused."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible.utils.display import Display

from ansible_collections.monitor.cloud.plugins.action.audit_report import ActionModule, _write
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import OWN, RENAMED, action_of, fleet

OPTIONS = {"account": "account", "config": "audit"}


def run(**options: Any) -> Any:
    variables = fleet(web=RENAMED, db=OWN)
    return action_of(ActionModule, {**OPTIONS, **options}, variables).run(task_vars=variables)


@pytest.mark.parametrize("fails", [True, False])
def test_the_report_is_written_and_drift_fails_on_request(tmp_path: Path, fails: bool) -> None:
    path = tmp_path / "new" / "audit.json"
    done = run(json=str(path), fail_on_drift=fails)
    assert (done["drift"], done.get("failed", False), done["files"]) == (True, fails, {"json": str(path)})
    written = json.loads(path.read_text(encoding="utf-8"))
    assert {host["host"]: host["state"] for host in written["hosts"]} == {"web": "foreign_key", "db": "ok"}


def test_a_client_gets_the_label_of_the_only_host_with_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """All cases: tests/unit/plugins/plugin_utils/_audit/test_findings.py."""
    shown: list[str] = []
    monkeypatch.setattr(Display, "display", lambda self, text: shown.append(text))
    for result, renames, why in (
        (OWN, {"old": "web"}, "gets the label"),
        ({**RENAMED, "label": "db"}, {}, "and so does"),
    ):
        variables = fleet(web=RENAMED, db=result)
        done = action_of(ActionModule, {**OPTIONS, "adopt": True}, variables).run(task_vars=variables)
        assert done["renames"] == renames and why in shown[-1] and "What to do" not in shown[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"artifact": "audit", "fail_on_drift": True}, "artifact cannot be used with fail_on_drift"),
        ({"artifact": "not a name"}, "is not the name of a variable"),
        ({"json": "/tmp/a", "html": "/tmp/../tmp/a"}, "Several reports have the path /tmp/a"),
        ({"max_age": "nan"}, "max_age nan is not a number of hours"),
        ({"json": "/dev/null"}, "/dev/null: it is not a regular file"),
        ({"json": "/proc/audit.json"}, "The report could not be written to /proc/audit.json: "),
        ({"account": "missing"}, "There is no variable 'missing'. First run the task that registers it."),
        ({"account": "{{ x }}"}, "account must be the name of a variable"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    done = run(**options)
    assert done["failed"] is True and message in done["msg"]


def test_files_of_other_runs_with_the_same_process_id_are_left_alone(tmp_path: Path) -> None:
    """One that was killed, or runs in another container."""
    other, path = tmp_path / f"audit.json.{os.getpid()}", tmp_path / "audit.json"
    other.touch()
    assert _write(str(path), "{}") == str(path)
    assert (path.read_text(encoding="utf-8"), sorted(tmp_path.iterdir())) == ("{}", [path, other])
