# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from ansible.utils.display import Display

from ansible_collections.monitor.cloud.plugins.action.audit_report import ActionModule
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import OWN, RENAMED, action_of, fleet

OPTIONS = {"account": "account", "inspected": "audit"}


def run(**options: Any) -> Any:
    variables = fleet(web=RENAMED, db=OWN)
    return action_of(ActionModule, {**OPTIONS, **options}, variables).run(task_vars=variables)


def test_the_reports_are_written_and_drift_fails_on_request(tmp_path: Path) -> None:
    files = {kind: str(tmp_path / "new" / f"audit.{kind}") for kind in ("json", "junit", "html", "metrics")}
    old = os.umask(0o077)
    try:
        done = run(**files, metrics_hosts=True, fail_on_drift=True)
    finally:
        os.umask(old)
    assert (done["drift"], done["failed"], done["files"]) == (True, True, files)
    assert '{host="db",state="ok"} 1\n' in Path(files["metrics"]).read_text(encoding="utf-8")
    modes = {kind: stat.S_IMODE(Path(path).stat().st_mode) for kind, path in files.items()}
    assert modes == {**dict.fromkeys(files, 0o600), "metrics": 0o644}


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ({}, {}),
        ({"ansible_limit": "web"}, {}),
        ({"ansible_inventory_sources": ["web,db"]}, {}),
        ({"awx_workflow_job_id": 7}, {}),
        ({}, {"artifact": "monitor_audit"}),
        ({"groups": {"all": ["web", "db", "other"]}}, {}),
    ],
)
def test_an_audit_of_a_part_of_the_inventory_does_not_propose_adopt(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], options: dict[str, Any]
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(Display, "display", lambda self, text: shown.append(text))
    variables = {**fleet(web=RENAMED, db=OWN), **more}
    variables["hostvars"]["other"] = {}
    action_of(ActionModule, {**OPTIONS, **options}, variables).run(task_vars=variables)
    expected = "Undecided without the other hosts: 1." if more or options else "monitor.cloud.adopt --limit web"
    assert expected in shown[-1]


def test_adopt_shows_the_batch_and_writes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown: list[str] = []
    monkeypatch.setattr(Display, "display", lambda self, text: shown.append(text))
    variables = fleet(web=RENAMED, db=OWN)
    variables["ansible_play_batch"] = ["web"]
    path = tmp_path / "audit.json"
    options = {**OPTIONS, "adopt": True, "json": str(path)}
    done = action_of(ActionModule, options, variables).run(task_vars=variables)
    assert done == {"changed": False} and not path.exists()
    assert "Client 'old' gets the label 'web'.\nHosts to adopt: 1 of 1." in shown[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"artifact": "audit", "fail_on_drift": True}, "artifact cannot be used with fail_on_drift"),
        ({"json": "/dev/null"}, "could not be written to /dev/null"),
        ({"account": "missing"}, "account must be the name of a variable"),
        ({"account": "{{ x }}"}, "account must be the name of a variable"),
        ({"audits": ["a.json"]}, "parameters are mutually exclusive: inspected|audits"),
        ({"changes": "changes"}, "Unsupported parameters"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    done = run(**options)
    assert done["failed"] is True and message in done["msg"]
