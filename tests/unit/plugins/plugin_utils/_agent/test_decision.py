# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is done with a host's file, from facts, text, desired file and client."""

import hashlib
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.client import Registered
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.decision import (
    Decision,
    Desired,
    decide,
    decide_removal,
    desired_file,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import SENTINELS, KeyOwner
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.remote_file import LARGEST_FILE, HostFile, Kind

_OWN = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_OTHER = "FFFF2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_STRANGE = "EEEE2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_TEXT = f"api_key={_OWN}\n"
_PATTERN = f"api_key={SENTINELS['api_key']}\n"
_DIGEST = hashlib.sha256(_TEXT.encode()).hexdigest()
_FILE = HostFile("file", True, "0", "root", "0", "wheel", 0o600, _DIGEST)
_CLIENT = Registered(
    "web1", {"id": 1, "label": "web1", "api_key": _OWN, "install_code": "C" * 36}, {fingerprint(_OTHER): "web2"}
)
_MASKED = Registered("web1", {"id": 1, "label": "web1"}, {fingerprint(_OTHER): "web2"})
# Of a task that sets the path alone.
_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("owner", "group", "service")), "path": "/etc/agent", "mode": "0600", "create_directory": True
}  # fmt: skip


def _desired(**fields: Any) -> Desired:
    values: dict[str, Any] = {"content": _TEXT, "owner": None, "group": None, "mode": 0o600, **fields}
    return Desired("/etc/agent", **values)


def _decide(found: HostFile = _FILE, text: str | None = None, client: Registered = _CLIENT, **fields: Any) -> Decision:
    return decide(found, text, _PATTERN, _desired(**fields), client)


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({}, []),
        ({"owner": "root", "group": "wheel"}, []),
        ({"owner": "0", "group": "0"}, []),
        ({"owner": "agent"}, ["owner"]),
        ({"group": "agent"}, ["group"]),
        ({"mode": 0o640}, ["mode"]),
    ],
)
def test_differences_are_named(fields: dict[str, Any], names: list[str]) -> None:
    decided = _decide(**fields)
    assert (decided.differences, decided.change.changed) == (names, bool(names))
    assert decided.key == KeyOwner("own", "web1", fingerprint(_OWN))
    other = _decide(_FILE._replace(digest="d" * 64), "old\n", **fields)
    assert (other.differences, other.change.changed) == (["content", *names], True)
    assert other.key == KeyOwner("no_key")


@pytest.mark.parametrize(("kind", "names"), [("missing", ["content"]), ("no_parent", ["content"]), ("link", ["type"])])
def test_a_path_without_a_regular_file_is_written(kind: Kind, names: list[str]) -> None:
    # Only a symbolic link has text, and it is replaced whatever that is.
    decided = _decide(HostFile(kind), _TEXT if kind == "link" else None, owner="agent")
    assert (decided.differences, decided.change.action) == (names, "write")


@pytest.mark.parametrize(
    ("text", "state", "label"),
    [
        (f"api_key={_OTHER}\n", "other", "web2"),
        (f"api_key={_STRANGE}\n", "unknown", None),
        ("nothing\n", "no_key", None),
        (None, "unverifiable", None),
    ],
)
def test_the_owner_of_the_key_in_the_file(text: str | None, state: str, label: str | None) -> None:
    found = _FILE._replace(digest="d" * 64)
    decided = _decide(found, text)
    assert (decided.key.state, decided.key.label, decided.differences) == (state, label, ["content"])
    removal = decide_removal(found, text, _PATTERN, "/etc/agent", "web1", _CLIENT)
    assert (removal.change.action, removal.key) == ("delete", decided.key)
    removal = decide_removal(found, text, _PATTERN, "/etc/agent", "web1", None)
    assert (removal.key.state, removal.change.before["key_of"]) == ("unverifiable", None)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (f"api_key={_OTHER}\n", "other"),
        (f"api_key={_STRANGE}\n", "unverifiable"),
        (f"x y {_STRANGE}\n", "unverifiable"),
        ("nothing\n", "no_key"),
    ],
)
def test_nothing_is_written_while_keys_are_masked(text: str, state: str) -> None:
    decided = _decide(_FILE._replace(digest="d" * 64), text, client=_MASKED, content=None, mode=0o640)
    assert (decided.key.state, decided.differences, decided.change.changed) == (state, ["mode"], False)


@pytest.mark.parametrize(
    ("content", "there", "same"),
    [
        ("key\n", "key\n", True),
        ("key\n", "key", True),
        ("key", "key\n", True),
        ("key\n", "key\n\n", False),
        ("key", "key ", False),
        ("\n", "", True),
    ],
)
def test_a_final_newline_does_not_count_as_a_difference(content: str, there: str, same: bool) -> None:
    desired, digest = _desired(content=content), hashlib.sha256(there.encode()).hexdigest()
    assert desired.has_content(_FILE._replace(digest=digest)) is same
    assert desired.has_content(_FILE._replace(digest=None), there) is same
    assert not desired.has_content(_FILE._replace(digest=None), None)


def test_a_file_that_is_too_large_to_be_read_whole_differs() -> None:
    found = _FILE._replace(digest=None, size=LARGEST_FILE + 1)
    content = "x" * LARGEST_FILE
    assert not _desired(content=content).has_content(found, content)
    assert _desired(content=content).has_content(found._replace(size=LARGEST_FILE), content)
    assert desired_file(_OPTIONS, content).content == content
    with pytest.raises(InputError, match="larger than 64 KiB"):
        desired_file(_OPTIONS, content + "x")


def test_leftovers_of_a_killed_writer_are_a_reason_to_write() -> None:
    decided = _decide(_FILE._replace(leftovers=True))
    change = decided.change
    assert decided.differences == ["leftovers"]
    assert (change.action, change.before["leftovers"], "leftovers" in change.after) == ("write", True, False)


@pytest.mark.parametrize(
    ("found", "names", "action"),
    [
        (_FILE, ["restart"], "write"),
        (_FILE._replace(mode=0o640), ["mode", "restart"], "write"),
        (HostFile("missing"), ["content", "restart"], "write"),
    ],
    ids=["nothing else differs", "the mode differs too", "no file"],
)
def test_a_marker_is_a_pending_restart(found: HostFile, names: list[str], action: str) -> None:
    found = found._replace(markers=("0123abcd",))
    decided = _decide(found, service="agent")
    assert (decided.differences, decided.change.action, decided.writes) == (names, action, names != ["restart"])
    assert decided.change.before["restart_pending"] is True
    assert "restart_pending" not in decided.change.after
    without = _decide(found, service="")
    assert without.differences == names[:-1]
    assert "restart_pending" not in without.change.before
    removal = decide_removal(HostFile("missing", markers=found.markers), None, "", "/etc/agent", "web1", None).change
    assert (removal.action, removal.before, removal.after) == ("delete", {"restart_pending": True}, {})


def test_nothing_but_the_pending_restart_differs_in_the_diff() -> None:
    change = _decide(_FILE._replace(markers=("0123abcd",)), service="agent").change
    assert change.before == {**change.after, "restart_pending": True}


def test_a_restart_is_pending_while_keys_are_masked() -> None:
    found = _FILE._replace(digest="d" * 64, markers=("0123abcd",))
    decided = _decide(found, "nothing\n", client=_MASKED, content=None, service="agent")
    assert (decided.differences, decided.change.changed) == (["restart"], False)


def test_changes_hold_facts_and_no_text() -> None:
    change = _decide(_FILE._replace(digest="d" * 64), f"api_key={_OTHER}\n").change
    assert change.before["key_of"] == "web2"
    assert change.after["key_of"] == "web1"
    assert change.after["mode"] == "0600"
    assert change.after["sha256"] == _DIGEST
    assert _OWN not in repr(change)


@pytest.mark.parametrize(("owner", "group"), [(None, "agent"), ("agent", None)])
def test_owner_and_group_stay_unless_set(owner: str | None, group: str | None) -> None:
    after = _decide(mode=0o640, owner=owner, group=group).change.after
    assert (after["owner"], after["group"]) == (owner or "root", group or "wheel")


def test_removal() -> None:
    def removal(found: HostFile, text: str | None = None) -> Decision:
        return decide_removal(found, text, _PATTERN, "/etc/agent", "web1", _CLIENT)

    for absent in (HostFile("missing"), HostFile("no_parent")):
        assert removal(absent).change.changed is False
    left = removal(HostFile("missing", leftovers=True)).change
    assert (left.action, left.before, left.after) == ("delete", {"leftovers": True}, {})
    for found in (_FILE, HostFile("link")):
        decided = removal(found, _TEXT)
        assert (decided.change.action, decided.change.after, decided.key.state) == ("delete", {}, "own")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("directory", "is a directory"),
        ("other", "is neither a regular file nor a symbolic link"),
        ("no_access", "Use become"),
        ("file", "stat"),
    ],
)
def test_paths_that_are_refused(kind: Kind, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _decide(HostFile(kind))
    with pytest.raises(InputError, match=message):
        decide_removal(HostFile(kind), None, "", "/etc/agent", "web1", None)


def test_paths_that_are_taken() -> None:
    for found in (_FILE, HostFile("missing"), HostFile("no_parent"), HostFile("link")):
        assert _decide(found).change.problem is None
    with pytest.raises(InputError, match="has no parent directory"):
        _decide(HostFile("no_parent"), create_directory=False)
    assert "can't be written" in str(_decide(HostFile("missing", False)).change.problem)
    assert _decide(_FILE._replace(writable=False)).change.problem is None
    unwritable = decide_removal(HostFile("link", False), None, "", "/etc/agent", "web1", None)
    assert "can't be written" in str(unwritable.change.problem)


@pytest.mark.parametrize("option", ["owner", "group"])
def test_owner_group_and_service(option: str) -> None:
    assert desired_file(_OPTIONS, None).service == ""
    assert desired_file({**_OPTIONS, "service": "agent"}, None).service == "agent"
    assert getattr(desired_file({**_OPTIONS, option: "agent"}, None), option) == "agent"
    with pytest.raises(InputError, match=f"^{option} 'a b' must be a name or a number"):
        desired_file({**_OPTIONS, option: "a b"}, None)
