# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to do with an agent's configuration, and whose key it carries."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._keys import fingerprint
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent_config import (
    SENTINELS,
    KeyOwner,
    Wanted,
    check_owner,
    check_place,
    check_writable,
    differences,
    file_change,
    file_mode,
    has_keys,
    may_hold_key,
    removal_change,
    whose_key,
    with_sentinels,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._host_file import HostFile

_OWN = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_OTHER = "FFFF2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_STRANGE = "EEEE2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_CODE = "DDDD2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_OWNERS = {fingerprint(_OTHER): "web2"}
_SHAPES = {
    "two values": "# managed\napi_key = {key}\ninstall_code = {code}\n",
    "code first": "install_code: {code}\napi_key: {key}\n",
    "quoted": "[agent]\nkey='{key}'\ncode='{code}'\n",
    "json": '{{"install_code": "{code}", "api_key": "{key}"}}\n',
    "bare key": "{key}\n",
    "one line": "--key={key} --code={code}\n",
    "xml": "<key>{key}</key><code>{code}</code>\n",
}


def _found(shape: str, key: str, *, own: str | None = _OWN, code: str = _CODE) -> KeyOwner:
    pattern = shape.format(key=SENTINELS["api_key"], code=SENTINELS["install_code"])
    text = shape.format(key=key, code=code)
    return whose_key(text, pattern, own and fingerprint(own), _OWNERS, "web1")


@pytest.mark.parametrize("shape", _SHAPES.values(), ids=_SHAPES)
def test_whose_key_a_file_carries(shape: str) -> None:
    assert _found(shape, _OWN) == KeyOwner("own", "web1", fingerprint(_OWN))
    assert _found(shape, _OTHER) == KeyOwner("other", "web2", fingerprint(_OTHER))
    assert _found(shape, _OTHER, own=None) == KeyOwner("other", "web2", fingerprint(_OTHER))


@pytest.mark.parametrize("name", _SHAPES)
def test_a_key_that_nobody_knows_is_found_where_the_template_puts_it(name: str) -> None:
    assert _found(_SHAPES[name], _STRANGE) == KeyOwner("unknown", None, fingerprint(_STRANGE))
    assert _found(_SHAPES[name], _STRANGE, own=None).state == "unknown"


@pytest.mark.parametrize("key", ["", "[REDACTED]", "short"])
@pytest.mark.parametrize("name", ["two values", "bare key", "quoted"])
def test_a_file_without_a_key(name: str, key: str) -> None:
    assert _found(_SHAPES[name], key, code="").state == "no_key"


@pytest.mark.parametrize("text", [f"old_format|{_OTHER}|x", f"KEY={_OTHER};", f"a:\n  b: '{_OTHER}'", f"{_OTHER}\r\n"])
def test_a_known_key_is_found_in_a_file_of_another_form(text: str) -> None:
    pattern = f"api_key = {SENTINELS['api_key']}\n"
    assert whose_key(text, pattern, None, _OWNERS, "web1").label == "web2"
    assert may_hold_key(text)


def test_the_key_in_its_place_counts_before_others() -> None:
    pattern = f"api_key = {SENTINELS['api_key']}\n"
    text = f"# was {_OTHER}\napi_key = {_OWN}\n"
    assert whose_key(text, pattern, fingerprint(_OWN), _OWNERS, "web1").state == "own"


def test_spaces_and_line_ends_do_not_matter() -> None:
    pattern = f"api_key = {SENTINELS['api_key']}\n"
    for text in (f"api_key={_STRANGE}", f"  api_key   =  {_STRANGE}\r\n"):
        assert whose_key(text, pattern, None, {}, "web1") == KeyOwner("unknown", None, fingerprint(_STRANGE))


def test_own_by_the_label_of_a_fingerprint() -> None:
    owners = {fingerprint(_OWN): "web1"}
    assert whose_key(_OWN, SENTINELS["api_key"], None, owners, "web1").state == "own"


@given(st.text(), st.text())
def test_any_text_can_be_looked_at(text: str, pattern: str) -> None:
    found = whose_key(text, pattern, None, {}, "web1")
    assert found.state in ("no_key", "unknown")
    assert may_hold_key(text) or found.state == "no_key"


def _wanted(**fields: Any) -> Wanted:
    values: dict[str, Any] = {"content": "text", "owner": None, "group": None, "mode": 0o600, **fields}
    return Wanted("web1", fingerprint(_OWN), **values)


_FILE = HostFile("file", True, "0", "root", "0", "wheel", 0o600, "d" * 64)


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({}, []),
        ({"owner": "root", "group": "wheel"}, []),
        ({"owner": "0", "group": "0"}, []),
        ({"owner": "agent"}, ["owner"]),
        ({"group": "agent"}, ["group"]),
        ({"mode": 0o640}, ["mode"]),
    ],
)
def test_what_differs(wanted: dict[str, Any], names: list[str]) -> None:
    assert differences(_FILE, _wanted(**wanted), content_differs=False) == names
    assert differences(_FILE, _wanted(**wanted), content_differs=True) == ["content", *names]
    change = file_change(_FILE, _wanted(**wanted), KeyOwner("own", "web1"), content_differs=False)
    assert change.changed is bool(names)


@pytest.mark.parametrize(("kind", "names"), [("missing", ["content"]), ("homeless", ["content"]), ("link", ["type"])])
def test_what_is_no_file_is_written(kind: str, names: list[str]) -> None:
    found = HostFile(kind)
    assert differences(found, _wanted(owner="agent"), content_differs=False) == names
    assert file_change(found, _wanted(), KeyOwner("no_file"), content_differs=False).action == "write"


def test_leftovers_of_a_killed_writer_are_a_reason_to_write() -> None:
    found = dataclasses.replace(_FILE, leftovers=True)
    assert differences(found, _wanted(), content_differs=False) == ["leftovers"]
    change = file_change(found, _wanted(), KeyOwner("own", "web1"), content_differs=False)
    assert (change.action, change.before["leftovers"], "leftovers" in change.after) == ("write", True, False)


def test_changes_hold_facts_and_no_text() -> None:
    change = file_change(_FILE, _wanted(content=f"key={_OWN}"), KeyOwner("other", "web2", "abc"), content_differs=True)
    assert change.before["key_of"] == "web2"
    assert change.after["key_of"] == "web1"
    assert change.after["mode"] == "0600"
    assert change.after["sha256"] == hashlib.sha256(f"key={_OWN}".encode()).hexdigest()
    assert _OWN not in repr(change)


def test_removal() -> None:
    assert removal_change(HostFile("missing"), "web1", KeyOwner("no_file")).changed is False
    left = removal_change(HostFile("missing", leftovers=True), "web1", KeyOwner("no_file"))
    assert (left.action, left.before, left.after) == ("delete", {"leftovers": True}, {})
    for kind in ("file", "link"):
        change = removal_change(HostFile(kind), "web1", KeyOwner("own", "web1"))
        assert (change.action, change.after) == ("delete", {})


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("directory", "is a directory"),
        ("other", "is neither a file nor a link"),
        ("hidden", "Use become"),
        ("file", "stat"),
    ],
)
def test_places_that_are_refused(kind: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_place(HostFile(kind), "/etc/agent")


def test_places_that_are_taken() -> None:
    for found in (_FILE, HostFile("missing"), HostFile("homeless"), HostFile("link")):
        check_place(found, "/etc/agent")
    with pytest.raises(InputError, match="has no directory to be in"):
        check_place(HostFile("homeless"), "/etc/agent", create_directory=False)
    change = file_change(HostFile("missing", False), _wanted(), KeyOwner("no_file"), content_differs=True)
    with pytest.raises(InputError, match="can't be written"):
        check_writable(change, HostFile("missing", False), "/etc/agent")
    check_writable(change, HostFile("missing"), "/etc/agent")


@pytest.mark.parametrize(
    ("given_mode", "bits"),
    [("0600", 0o600), ("600", 0o600), ("0o640", 0o640), (0o600, 0o600), ("4755", 0o4755), ("04755", 0o4755)],
)
def test_modes(given_mode: object, bits: int) -> None:
    assert file_mode(given_mode) == bits


@pytest.mark.parametrize("given_mode", ["", "u=rw", "9999", "-1", -1, True, None, 0o10000, "0600\n", "60", 6.0])
def test_modes_that_are_refused(given_mode: object) -> None:
    with pytest.raises(InputError, match="must be octal digits such as '0600'"):
        file_mode(given_mode)


def test_owners() -> None:
    for name in ("root", "1000", "DOMAIN\\user", "user@domain", "a.b-c"):
        assert check_owner(name, "owner") == name
    assert check_owner("", "owner") is check_owner(None, "owner") is None
    for name in ("a b", "root:wheel", "-R", "a\nb"):
        with pytest.raises(InputError, match="must be a name or a number"):
            check_owner(name, "owner")


def test_sentinels_stand_for_keys() -> None:
    client = {"label": "web1", "api_key": _OWN, "install_code": _CODE}
    assert has_keys(client)
    assert with_sentinels(client) == {"label": "web1", **SENTINELS}
    assert has_keys(SENTINELS)
    assert not has_keys({**client, "install_code": "[REDACTED]"})
    assert not has_keys({"api_key": _OWN})
