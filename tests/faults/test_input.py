# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Unexpected options, texts, paths and contents: the right result, or a clear error."""

import json
import math
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._module import CONNECTION_OPTIONS
from ansible_collections.monitor.cloud.plugins.modules import monitor_client_info, monitor_clients
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import SENTINELS, find_key_owner
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, short_or_long, try_task
from ansible_collections.monitor.cloud.tests.support.host_files import change, inspect
from ansible_collections.monitor.cloud.tests.support.inputs import INVALID_VALUES, MODULES, NEEDED, examples
from ansible_collections.monitor.cloud.tests.support.runs import Local
from ansible_collections.monitor.cloud.tests.support.servers import Account
from ansible_collections.monitor.cloud.tests.support.tasks import as_module

_NUMBERS = ("nan", "1e999", "-1", "0", "0.0", "1e-9", "86400", "86401", "9" * 400, "0x10", "1_0", "٣", "½")
# Without infinity, which core's own check of whole numbers does not survive, and half characters, which JSON has not.
_VALUES: tuple[Any, ...] = tuple(
    value for value in INVALID_VALUES if not isinstance(value, (float, str)) or value in ("", 1.5)
)
_VALUES = (*_VALUES, *_NUMBERS, "a\nb", "\x1b[31m", "{{ 7 * 7 }}", "é" * 40, "x" * 5000, [["web1"]], [{"a": 1}], [None])


@pytest.mark.filterwarnings("ignore:Possible nested set")
@pytest.mark.parametrize("name", MODULES)
def test_each_option_with_any_value_gives_a_result_or_a_message(account: Any, name: str) -> None:
    """As Ansible runs modules: its own checks come first, ours behind them."""
    module, needed = MODULES[name], NEEDED.get(name, {})
    given_always = {"base_url": account.base_url, "api_token": Account.TOKEN, "retry_timeout": 0, **needed}
    # Those of the connection are the same for all.
    options = [*(CONNECTION_OPTIONS if module is monitor_client_info else ()), *module.OPTIONS]
    for number, option in enumerate(options):
        for value in _VALUES[number % 2 :: short_or_long(2, 1)]:
            arguments = {**given_always, option: value}
            if option == "subscription":
                arguments.pop("min_clients", None)
            if option == "min_clients":
                arguments.pop("subscription", None)
            result, message = as_module(module, arguments)
            # Requested keys are not a leak, and a failure has none to show.
            shown = "" if option == "include_keys" and not result.get("failed") else message
            assert_sound(account, shown, faults=1)
            assert isinstance(result.get("failed", False), bool)
            assert "msg" in result or not result.get("failed"), (option, value)
            assert "Traceback" not in message, (option, value)
            assert len(str(result.get("msg", ""))) < 12000


def test_numbers_out_of_range_are_refused(account: Any) -> None:
    """With NaN, retries would never end; with more than timers accept, there was a traceback."""
    account.overrides = {("GET", "clients"): (503, {}, b"")}
    for option, value in (
        ("timeout", math.inf),
        ("timeout", 86401.0),
        ("retry_timeout", math.nan),
        ("concurrency", 1001),
    ):
        options: dict[str, Any] = {"labels": ["web1"], option: value}
        message = try_task(account, monitor_clients, **options)[1]
        assert "neither more than 86400" in message or "not more than 1000" in message, option


# Files of hosts are searched with expressions that are made from templates.


def test_no_text_on_a_host_keeps_the_controller_busy() -> None:
    """Before there was a bound, a thousand spaces took minutes, and a file may hold 65,536."""
    key, code = SENTINELS["api_key"], SENTINELS["install_code"]
    space = " " * 65536
    for template in (f"install_code={code}\napi_key={key}\n", f"{code} {code} {key} {code} c\n"):
        for text in (f"{space}x{space}y", f"api_key={space}x{space}y", "x , " * 16384, "a" * 2048 + " " * 2048):
            began = time.monotonic()
            assert find_key_owner(f"{text}\n", template, None, {}, "web1").state in ("no_key", "unknown")
            assert time.monotonic() - began < 30, (template, text[:20])


# Paths and contents on hosts, with the commands that are run there

_NAMES = st.text(
    st.sampled_from("ab '\"$`\\;&|<>*?[]{}()!#~-é=%")
    | st.characters(exclude_categories=["Cs"], exclude_characters=["/", "\x7f", *map(chr, range(32))]),
    min_size=1,
    max_size=20,
).filter(lambda name: name not in (".", "..") and len(name.encode()) < 200)


_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300)


@examples(40, 3000)
@example(directory="a'b \"$x` ", name="it's $(touch x) `y` \\*?[", text="'$(touch x)`y`\\n%s\\c\r\n\n")
@given(directory=_NAMES, name=_NAMES, text=_TEXTS)
def test_any_path_is_written_read_and_removed(
    tmp_path_factory: pytest.TempPathFactory, directory: str, name: str, text: str
) -> None:
    root, data = tmp_path_factory.mktemp("paths"), text.encode()
    path = root / directory / name
    assert change(path, data) == ""
    assert [os.path.join(parent, file) for parent, _inner, files in os.walk(root) for file in files] == [str(path)]
    assert path.read_bytes() == data
    found = inspect(path, data)
    assert (found.kind, found.mode, found.same) == ("file", 0o600, True)
    assert inspect(path, b"other").same is False
    assert change(path, None) == ""
    assert os.listdir(f"{root}/{directory}") == []
    shutil.rmtree(root)


_INVALID_TASKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("monitor_clients", {"labels": [["a", {}], None, 7]}),
    ("monitor_clients", {"labels": ["web1"], "timeout": ".nan", "concurrency": 10**12}),
    ("monitor_client_info", {"base_url": "https://[::1/\x07", "include_keys": True}),
    ("agent_config", {"path": "/tmp/\0", "content": "x", "registration": "sound"}),
    ("agent_config", {"path": ["/x"], "content": {"a": [1]}, "label": 7, "mode": {"a": 1}, "registration": "sound"}),
    ("agent_config", {"path": "/x/y", "content": "@api_key@", "mode": ".inf", "registration": "sound"}),
    ("agent_config", {"path": "/x/y", "template": "/proc/self/mem", "registration": "sound"}),
    ("agent_config", {"path": "/x/y", "content": "x", "registration": [{}, None]}),
    ("agent_config", {"path": "/x/y", "content": "x", "registration": "ansible_version"}),
    ("agent_install", {"command": ["x"], "registration": "sound", "label": 7}),
    ("agent_install", {"command": "", "registration": "groups"}),
    ("audit_report", {"account": "groups", "config": "inventory_hostname"}),
    ("audit_report", {"account": "invalid_account", "config": "invalid_config", "json": "/proc/nothing/x"}),
)
# Messages of core about unexpected errors.
_OF_CORE = ("MODULE FAILURE", "Unexpected failure", "exception occurred", "unexpected exception", "Traceback")


def test_invalid_tasks_through_ansible_fail_with_our_messages(emulator: Emulator, tmp_path: Path) -> None:
    controller = Local(tmp_path, emulator)
    client = {"id": 1, "label": "here", "api_key": "A1B2" * 9, "install_code": "C1D2" * 9}
    registered = {"sound": {"clients": {"here": client}}, "invalid_account": {"account_labels": [], "clients": 7}}
    controller.host_vars = {"here": {**registered, "ansible_connection": "local"}}
    tasks = [{f"monitor.cloud.{name}": options, "ignore_errors": True} for name, options in _INVALID_TASKS]
    run = controller.run(controller.tasks(json.dumps(tasks)), "-v")
    assert_sound(emulator, run.output, faults=len(tasks))
    assert run.code == 0, run.output[-3000:]
    assert [event.status for event in run.events] == ["ignored"] * len(tasks)
    printed = run.output + "".join(str(event.result.get("msg")) for event in run.events)
    assert [phrase for phrase in _OF_CORE if phrase in printed] == [], printed
