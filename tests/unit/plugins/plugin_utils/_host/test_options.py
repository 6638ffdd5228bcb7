# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.options import (
    LARGEST_FILE,
    Desired,
    desired_file,
    setting_texts,
)

_OPTIONS = {**dict.fromkeys(("owner", "group", "service")), "path": "/a", "mode": "0640", "create_directory": False}


@pytest.mark.parametrize(
    ("option", "values", "expected"),
    [
        ("path", ["/a", "/etc/with space"], None),
        # YAML reads an unquoted 0600 as an octal number.
        ("mode", ["0600", "600", "0o600", 0o600], 0o600),
        ("mode", ["0640", 0o640], 0o640),
        ("mode", ["0444", 0o444], 0o444),
        ("mode", ["4755"], 0o4755),
        ("group", [None, "root", "1000", "DOMAIN\\user", "user@domain", "a.b-c"], None),
    ],
)
def test_valid_values(option: str, values: list[Any], expected: Any) -> None:
    for value in values:
        desired = desired_file({**_OPTIONS, option: value}, "")
        assert getattr(desired, option) == (value if expected is None else expected)


@pytest.mark.parametrize(
    ("option", "values", "message"),
    [
        ("path", ["", "agent.conf", "/", "/etc/", "/etc/a\0b"], "the absolute path of a file"),
        ("mode", ["", "u=rw", "9999", "0600\n", "60", "0240"], "Use a quoted octal string, such as '0640'"),
        ("mode", [True, None, 6.0], "Use a quoted octal string, such as '0640'"),
        # YAML reads an unquoted 400 as a decimal number, which has the octal digits 0620.
        ("mode", [400, 440, 444, 600, 640, 644, 660], r"mode \d{3} .* number, which is \d{4} in octal. Quote the mode"),
        ("mode", [0, 1, -1, 0o40, 0o240, 0o755, 0o4640, 0o10600], "Quote the mode"),
        ("owner", ["-R", "+0"], "^owner '[-+].' must be a name or a number"),
        ("group", ["a b", "root:wheel"], "^group .* must be a name or a number"),
    ],
)
def test_refused_values(option: str, values: list[Any], message: str) -> None:
    for value in values:
        with pytest.raises(InputError, match=message):
            desired_file({**_OPTIONS, option: value}, "")


def test_content_is_limited_before_the_keys_are_known() -> None:
    assert desired_file(_OPTIONS, "", is_known=False) == Desired("/a", None, None, None, 0o640, False, "")
    options = {**_OPTIONS, "group": "", "service": "x"}
    text = "é" * (LARGEST_FILE // 2)
    assert desired_file(options, text) == Desired("/a", text.encode(), None, None, 0o640, False, "x")
    for is_known in (True, False):
        for invalid in (f"{text}x", "a\0b"):
            with pytest.raises(InputError, match="larger than 64 KiB, or has a NUL byte"):
                desired_file(options, invalid, is_known=is_known)


def test_settings_are_sorted_texts() -> None:
    given = {"z": True, "interval": 60, "a.b-c_d": ["x", 1.5, False], "text": "{{ no }} template"}
    expected = [("a.b-c_d", "x,1.5,false"), ("interval", "60"), ("text", "{{ no }} template"), ("z", "true")]
    assert [*setting_texts(given).items()] == expected
    for name in ("api_key", "install_code", "", "a b", "a=b"):
        with pytest.raises(InputError, match="settings has the invalid name"):
            setting_texts({name: 1})
    for value in ("a\nb", "a\0", None, {"b": 1}, [["a"]]):
        with pytest.raises(InputError, match="The setting 'a' must be a string"):
            setting_texts({"a": value})
