# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fingerprints import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._clients.placeholders import SENTINELS
from ansible_collections.monitor.cloud.plugins.plugin_utils._host import comparison
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.client import Registered
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.host_file import HostFile
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.key_detection import KeyOwner
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.options import Desired

_OWN = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_OTHER = "FFFF2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_STRANGE = "EEEE2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_TEXT = f"api_key={_OWN}\n"
_PATTERN = f"api_key={SENTINELS['api_key']}\n"
_SAME = HostFile("file", same=True, user=("root", "0"), group=("wheel", "0"), mode=0o600)
_CHANGED = _SAME._replace(same=False)
_CLIENT = Registered(
    "web1", {"id": 1, "label": "web1", "api_key": _OWN, "install_code": "C" * 36}, {fingerprint(_OTHER): "web2"}
)
_MASKED = Registered("web1", {"id": 1, "label": "web1"}, {fingerprint(_OTHER): "web2"})
_DESIRED = Desired("/etc/agent", _TEXT.encode())


@pytest.mark.parametrize(
    ("actual", "fields", "names", "permissions"),
    [
        (_SAME, {}, [], []),
        (_SAME, {"owner": "0", "group": "wheel"}, [], []),
        (_SAME, {"owner": "agent", "group": "4"}, ["owner", "group"], [["root", "agent"], ["wheel", "4"]]),
        (_CHANGED._replace(mode=0o644), {"owner": ""}, ["content", "mode"], [["0644", "0600"]]),
        (HostFile("missing"), {"owner": "agent"}, ["content"], []),
        (_SAME._replace(others=("user:a:r--", "group:b:r--")), {}, ["acl"], [["user:a:r--, group:b:r--", "none"]]),
        # A file replaces a symbolic link, even if the target of the link has the desired content.
        (HostFile("link", text=_TEXT), {"owner": "agent"}, ["content", "type"], []),
    ],
)
def test_differences(actual: HostFile, fields: dict[str, Any], names: list[str], permissions: list[list[str]]) -> None:
    desired = _DESIRED._replace(**fields)
    assert comparison.differences(actual, desired) == names
    assert [[*pair.values()] for pair in comparison.permissions(actual, desired).values()] == permissions


@pytest.mark.parametrize(
    ("text", "state", "label", "masked"),
    [
        (f"api_key={_OTHER}\n", "other", "web2", "other"),
        (f"api_key={_STRANGE}\n", "unknown", None, "unverifiable"),
        (f"x y {_STRANGE}\n", "no_key", None, "unverifiable"),
        (f"more\n{_TEXT}", "own", "web1", "unverifiable"),
        ("nothing\n", "no_key", None, "no_key"),
        (None, "unverifiable", None, "unverifiable"),
    ],
)
def test_the_owner_of_the_key_in_the_file(text: str | None, state: str, label: str | None, masked: str) -> None:
    actual = _CHANGED._replace(text=text)
    key = comparison.key_owner(actual, _CLIENT, _TEXT, _PATTERN)
    assert (key.state, key.label) == (state, label)
    assert comparison.key_owner(actual, _MASKED, _PATTERN.replace("0000", "2222"), _PATTERN).state == masked
    # A task that removes the file has no template.
    assert comparison.key_owner(actual, _CLIENT, "", "").state in (state, "no_key")


def test_the_key_of_a_file_that_is_as_desired_or_missing() -> None:
    assert comparison.key_owner(_SAME, _CLIENT, "", "") == KeyOwner("own", "web1", fingerprint(_OWN))
    for kind in ("missing", "link"):
        assert comparison.key_owner(HostFile(kind), _CLIENT, "", "") == KeyOwner("no_file")
    assert comparison.key_owner(HostFile("link", unread=True), _CLIENT, "", "") == KeyOwner("unverifiable")


@pytest.mark.parametrize(
    ("pattern", "text", "actual", "state"),
    [
        ("a=1\nkey=SSSS\n", "a=1\nkey=base64\n", "key=base64\n", "own"),
        ("a=1\nkey=SSSS\n", "a=1\nkey=base64\n", "a=1\nkey=other\n", "no_key"),
        ("a=1\nk=S\nc=S\n", "a=1\nk=x\nc=y\n", "k=x\nc=z\n", "no_key"),
        ("a=1\n", "a=1\n", "a=1\nb=2\n", "no_key"),
    ],
)
def test_a_key_that_a_template_transforms(pattern: str, text: str, actual: str, state: str) -> None:
    assert comparison.key_owner(_CHANGED._replace(text=actual), _CLIENT, text, pattern).state == state


_BEFORE = {"kind": "file", "mode": "0640", "key_of": "no_key"}
_AFTER = {**_BEFORE, "mode": "0600", "key_of": "web1", "key_fingerprint": fingerprint(_OWN)}
_OPEN = _SAME._replace(mode=0o640)


@pytest.mark.parametrize(
    ("actual", "client", "before", "after"),
    [
        (_OPEN._replace(same=False), _CLIENT, _BEFORE | {"content": "differs"}, _AFTER | {"content": "as desired"}),
        (_OPEN, _CLIENT, _BEFORE, _AFTER),
        (_OPEN._replace(same=False), None, _BEFORE, {}),
        (HostFile("missing"), _CLIENT, {}, {name: _AFTER[name] for name in _AFTER if name != "mode"}),
    ],
)
def test_a_diff_shows_no_content(
    actual: HostFile, client: Registered | None, before: dict[str, str], after: dict[str, str]
) -> None:
    shown = comparison.diff(actual, _DESIRED, KeyOwner("no_key"), client)
    assert shown == {"before": before, "after": after, **dict.fromkeys(("before_header", "after_header"), "/etc/agent")}
    for key, known in ((KeyOwner("unverifiable"), None), (KeyOwner("other", "a\u202eb"), "a\\u202eb")):
        assert comparison.diff(_OPEN, _DESIRED, key, client)["before"].get("key_of") == known


_RUNS = HostFile("file", changed=100, service="active", service_enabled="enabled", started=100, now=1000)
_CRASHES = _RUNS._replace(restarts=1, now=159)


@pytest.mark.parametrize(
    ("actual", "state", "is_outdated"),
    [
        (_RUNS, "active", False),
        (_RUNS._replace(changed=100.5), "active", True),
        # An agent can rewrite its file when it starts.
        (_RUNS._replace(same=True, changed=105), "active", False),
        (_RUNS._replace(same=True, changed=105.1), "active", True),
        (_RUNS._replace(service="inactive", changed=101), "inactive", True),
        (_RUNS._replace(service="failed"), "failed", False),
        (_RUNS._replace(service="activating"), "activating", False),
        (_CRASHES, "activating", False),
        (_CRASHES._replace(now=160), "active", False),
        (_CRASHES._replace(restarts=0), "active", False),
        (_RUNS._replace(service_enabled="masked"), "masked", False),
        (HostFile("file", service_missing=True), "missing", False),
        (HostFile("file", changed=5), None, False),
    ],
)
def test_the_state_of_a_service(actual: HostFile, state: str | None, is_outdated: bool) -> None:
    assert comparison.service_state(actual) == state
    assert comparison.is_outdated(actual) is is_outdated
