# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Python that is too old on the host where a module runs: one sentence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import ansible
import pytest

from ansible_collections.monitor.cloud.plugins.modules import monitor_plan_info

_PLUGINS = Path(monitor_plan_info.__file__).parents[1]
_SENTENCE = "monitor.cloud needs Python 3.9 or newer on the host where the module runs; this is 3.8."
# Core up to 2.19 runs modules with 3.8; later ones refuse in a sentence of their own.
_BY_CORE = "Ansible requires Python 3.9 or newer on the target. Current version: 3.8."


def _old_pythons() -> list[str]:
    """The 3.8 of this machine, if it has one: on the path, or beside our own in a version manager's directory."""
    found = [shutil.which("python3.8"), *map(str, Path(sys.base_prefix).parent.glob("3.8.*/bin/python3.8"))]
    return [
        path
        for path in found
        if path and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0
    ]


def test_an_old_python_fails_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ansible.module_utils.testing import patch_module_args

    monkeypatch.setattr(sys, "version_info", (3, 8, 18, "final", 0))
    with patch_module_args({"base_url": "http://127.0.0.1:1/v4"}), pytest.raises(SystemExit):
        monitor_plan_info.main()
    message = json.loads(capsys.readouterr().out)["msg"]
    assert message.startswith(_SENTENCE)
    assert sys.executable in message


def test_a_real_old_python_fails_with_the_same_sentence(tmp_path: Path) -> None:
    """Without such a Python, the sources are searched for what fails there: classes without subscripts before 3.9."""
    for python in _old_pythons():
        command = [str(Path(sys.executable).with_name("ansible")), "localhost", "-m", "monitor.cloud.monitor_plan_info"]
        settings = {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCAL_TEMP": str(tmp_path), "HOME": str(tmp_path)}
        settings |= {"MONITOR_BASE_URL": "http://127.0.0.1:1/v4", "MONITOR_API_TOKEN": "x"}
        done = subprocess.run(
            [*command, "-e", f"ansible_python_interpreter={python}"],
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        sentence = _SENTENCE if ansible.__version__.startswith("2.19.") else _BY_CORE
        assert f'"msg": "{sentence}' in done.stdout, done.stdout
        assert "Traceback" not in done.stdout + done.stderr
    for file in [*(_PLUGINS / "module_utils").glob("*.py"), *(_PLUGINS / "modules").glob("*.py")]:
        for line in file.read_text().splitlines():
            name, equals, value = line.partition(" = ")
            assert not (equals and name.isidentifier() and value.startswith(("dict[", "list[", "tuple[", "set["))), line
