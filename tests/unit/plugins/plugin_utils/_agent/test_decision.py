# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# mypy: ignore-errors

"""What is done with a host's file, from facts, text, desired file and client."""

import hashlib
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.client import Registered
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.decision import (
    Decision,
    decide,
    decide_removal,
    has_content,
    permissions,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import SENTINELS, KeyOwner
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import LARGEST_FILE, Desired
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.remote_file import HostFile, Kind

_OWN = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_OTHER = "FFFF2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_STRANGE = "EEEE2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_TEXT = f"api_key={_OWN}\n"
_PATTERN = f"api_key={SENTINELS['api_key']}\n"
_DIGEST = hashlib.sha256(_TEXT.encode()).hexdigest()
_FILE = HostFile("file", True, "0", "root", "0", "wheel", 0o600, _DIGEST)
_CHANGED = _FILE._replace(digest="d" * 64)
_CLIENT = Registered(
    "web1", {"id": 1, "label": "web1", "api_key": _OWN, "install_code": "C" * 36}, {fingerprint(_OTHER): "web2"}
)
_MASKED = Registered("web1", {"id": 1, "label": "web1"}, {fingerprint(_OTHER): "web2"})
_DESIRED = Desired("/etc/agent", _TEXT.encode())


def _decide(found: HostFile = _FILE, text: str | None = None, client: Registered = _CLIENT, **fields: Any) -> Decision:
    return decide(found, text, _PATTERN, _DESIRED._replace(**fields), client)


def _removal(found: HostFile, text: str | None = None, client: Registered | None = _CLIENT) -> Decision:
    return decide_removal(found, text, _PATTERN, "/etc/agent", client)


_LEFT, _PENDING = _FILE._replace(leftovers=True), _FILE._replace(markers=("0123abcd",))
_SERVICE = {"service": "agent"}


@pytest.mark.parametrize(
    ("found", "fields", "names"),
    [
        (_FILE, {}, []),
        (_FILE, {"owner": "root", "group": "wheel"}, []),
        (_FILE, {"owner": "agent"}, ["owner"]),
        (_FILE, {"group": "agent"}, ["group"]),
        (_CHANGED, {"owner": "agent"}, ["content", "owner"]),
        (_LEFT, {}, ["leftovers"]),
        (_PENDING, {}, []),
        (_PENDING, _SERVICE, ["restart"]),
        (_PENDING._replace(mode=0o640), _SERVICE, ["mode", "restart"]),
        (HostFile("missing", markers=_PENDING.markers), _SERVICE, ["content", "restart"]),
        (HostFile("no_parent"), {}, ["content"]),
        # It has text, and is replaced whatever that is.
        (HostFile("link"), {"owner": "agent"}, ["type"]),
    ],
)
def test_differences_are_named(found: HostFile, fields: dict[str, Any], names: list[str]) -> None:
    decided = _decide(found, _TEXT if found.kind == "link" else None, **fields)
    assert (decided.differences, decided.changed, decided.problem) == (names, bool(names), None)
    assert decided.writes is (names not in ([], ["restart"]))
    beside = {"leftovers": "leftovers" in names, "restart_pending": "restart" in names}
    assert {name: name in decided.before for name in beside} == beside
    assert not beside.keys() & decided.after.keys()
    if not decided.writes:
        assert decided.before == {**decided.after, **{name: True for name, there in beside.items() if there}}
        assert decided.key == KeyOwner("own", "web1", fingerprint(_OWN))
    elif found.kind == "file":
        owners = (fields.get("owner", "root"), fields.get("group", "wheel"))
        assert (decided.after["owner"], decided.after["group"]) == owners


def test_permissions_are_named_as_found_and_as_expected() -> None:
    named = permissions(_FILE, _DESIRED._replace(owner="agent", group="4", mode=0o640))
    found = {name: f"{each['found']} {each['expected']}" for name, each in named.items()}
    assert found == {"owner": "root agent", "group": "wheel 4", "mode": "0600 0640"}


@pytest.mark.parametrize(
    ("text", "state", "label", "masked"),
    [
        (f"api_key={_OTHER}\n", "other", "web2", "other"),
        (f"api_key={_STRANGE}\n", "unknown", None, "unverifiable"),
        (f"x y {_STRANGE}\n", "no_key", None, "unverifiable"),
        ("nothing\n", "no_key", None, "no_key"),
        (None, "unverifiable", None, "unverifiable"),
    ],
)
def test_the_owner_of_the_key_in_the_file(text: str | None, state: str, label: str | None, masked: str) -> None:
    decided = _decide(_CHANGED, text)
    assert (decided.key.state, decided.key.label, decided.differences) == (state, label, ["content"])
    assert decided.before["key_of"] == (label or (state if state != "unverifiable" else None))
    assert (decided.after["key_of"], decided.after["mode"], decided.after["sha256"]) == ("web1", "0600", _DIGEST)
    assert _OWN not in repr(decided)
    removal = _removal(_CHANGED, text)
    assert (removal.changed, removal.key) == (True, decided.key)
    removal = _removal(_CHANGED, text, client=None)
    assert (removal.key.state, removal.before["key_of"]) == ("unverifiable", None)
    # Nothing is written while the keys are masked.
    found = _CHANGED._replace(markers=_PENDING.markers)
    decided = _decide(found, text, client=_MASKED, data=None, mode=0o640, service="agent")
    assert (decided.key.state, decided.differences, decided.changed) == (masked, ["mode", "restart"], False)


@pytest.mark.parametrize(
    ("content", "there", "same"),
    [("key\n", "key", True), ("key", "key\n", True), ("key\n", "key\n\n", False), ("key", "key ", False)],
)
def test_a_final_newline_does_not_count_as_a_difference(content: str, there: str, same: bool) -> None:
    desired, digest = _DESIRED._replace(data=content.encode()), hashlib.sha256(there.encode()).hexdigest()
    assert has_content(_FILE._replace(digest=digest), desired) is same
    assert has_content(_FILE._replace(digest=None), desired, there) is same
    assert not has_content(_FILE._replace(digest=None), desired)
    # What is too large was not read whole.
    text = "x" * LARGEST_FILE
    for size, whole in ((LARGEST_FILE, True), (LARGEST_FILE + 1, False)):
        found = _FILE._replace(digest=None, size=size)
        assert has_content(found, Desired("/a", text.encode()), text) is whole


@pytest.mark.parametrize(
    ("found", "before", "state"),
    [
        (HostFile("missing"), {}, "no_file"),
        (HostFile("no_parent"), {}, "no_file"),
        (HostFile("missing", leftovers=True), {"leftovers": True}, "no_file"),
        (HostFile("missing", markers=_PENDING.markers), {"restart_pending": True}, "no_file"),
        (_FILE, {"kind": "file", "owner": "root", "mode": "0600", "key_of": "web1"}, "own"),
        (HostFile("link"), {"kind": "link", "key_of": "web1"}, "own"),
        (HostFile("link"), {"kind": "link", "key_of": None}, "unverifiable"),
        (HostFile("dangling"), {"kind": "dangling", "key_of": "no_file"}, "no_file"),
    ],
)
def test_removal(found: HostFile, before: dict[str, Any], state: str) -> None:
    decided = _removal(found, _TEXT if state == "own" else None)
    assert (decided.changed, decided.after, decided.key.state, decided.problem) == (bool(before), {}, state, None)
    assert decided.before.items() >= before.items()


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
    for decision in (_decide, _removal):
        with pytest.raises(InputError, match=message):
            decision(HostFile(kind))


def test_paths_that_cannot_be_written() -> None:
    with pytest.raises(InputError, match="has no parent directory"):
        _decide(HostFile("no_parent"), create_directory=False)
    assert "is a file" in str(_decide(HostFile("below_file", False), create_directory=False).problem)
    for decision in (_decide(HostFile("missing", False)), _removal(HostFile("link", False))):
        assert "can't be written" in str(decision.problem)
    # Nothing is to be written.
    for found in (_FILE, _PENDING):
        assert _decide(found._replace(writable=False), service="agent").problem is None
