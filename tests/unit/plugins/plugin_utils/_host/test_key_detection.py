# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fingerprints import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._clients.placeholders import SENTINELS
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.key_detection import (
    KeyOwner,
    find_key_owner,
    possible_keys,
)

_OWN = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_OTHER = "FFFF2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_SIGNS = "a-key.with:separators=and/more=="
_STRANGE = "EEEE2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_CODE = "DDDD2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_OWNERS = {
    _OWN: KeyOwner("own", "web1", fingerprint(_OWN)),
    _OTHER: KeyOwner("other", "web2", fingerprint(_OTHER)),
    _SIGNS: KeyOwner("other", "web2", fingerprint(_SIGNS)),
    _STRANGE: KeyOwner("unknown", None, fingerprint(_STRANGE)),
    None: KeyOwner("no_key"),
}
_LABELS = {fingerprint(_OWN): "web1", fingerprint(_OTHER): "web2", fingerprint(_SIGNS): "web2"}
_SHAPES = {
    "two values": "# managed\napi_key = {key}\ninstall_code = {code}\n",
    "quoted": "[agent]\nkey='{key}'\ncode='{code}'\n",
    "json": '{{"install_code": "{code}", "api_key": "{key}"}}\n',
    "bare key": "{key}\n",
    "code twice": "code={code}; {code}, key={key}, code={code}; {code};\n",
    "xml": "<key>{key}</key><code>{code}</code>\n",
}


def _owner(template: str, text: str, own: str | None = None) -> KeyOwner:
    pattern = template.format(key=SENTINELS["api_key"], code=SENTINELS["install_code"])
    return find_key_owner(text, pattern, own, _LABELS, "web1")


@pytest.mark.parametrize("shape", _SHAPES.values(), ids=_SHAPES)
@pytest.mark.parametrize("key", [_OWN, _OTHER, _STRANGE])
def test_the_owner_of_the_key_in_each_kind_of_file(shape: str, key: str) -> None:
    text = shape.format(key=key, code=_CODE)
    assert _owner(shape, text) == _OWNERS[key]
    # If the host has its own key, the label of this key in the account does not matter.
    assert _owner(shape, text, fingerprint(key)) == KeyOwner("own", "web1", fingerprint(key))
    for no_key in ("", "[REDACTED]", "short"):
        assert _owner(shape, shape.format(key=no_key, code="")) == KeyOwner("no_key")


_ASSIGNED = "api_key = {key}\n"


@pytest.mark.parametrize(
    ("template", "text", "key"),
    [
        # Find a key of the account even if the file does not match the template.
        *((_ASSIGNED, form.format(_OTHER), _OTHER) for form in ("old|{}|x", "KEY={};", "a:\n  b: '{}'", "{}\r\n")),
        *(("", form.format(_SIGNS), _SIGNS) for form in ("key={}", "key:{}", "'{}'", "x {} y")),
        (_ASSIGNED, f"api_key={_STRANGE}", _STRANGE),
        (_ASSIGNED, f"  api_key   =  {_STRANGE}\r\n", _STRANGE),
        # If the template contains only the key, compare only the first line of the file.
        ("{key}\n", f"{_STRANGE}\nmore\n", _STRANGE),
        ("{key}\n", f"no key\n{_STRANGE}\n", None),
        # Compare only lines that match the template's line with the key.
        ("url=x\nkey={key}\n", f"url=0123456789abcdef\nkey={_STRANGE}\n", _STRANGE),
        ("code={code}, key={key}\n", f"# code=x, key={_STRANGE}\n", None),
        ("{code}, {key} {code}\n", f"a, {_STRANGE} b, c\n", _STRANGE),
        (_ASSIGNED, f"# was {_OTHER}\napi_key = {_OWN}\n", _OWN),
        # The file has an old key in a line that is a comment.
        *(
            (_ASSIGNED, f"{mark}{former}\napi_key = {_STRANGE}\n", _STRANGE)
            for mark in ("# was ", "#api_key = ", " ; ", "// ")
            for former in (_OWN, _OTHER)
        ),
    ],
)
def test_the_position_of_a_key(template: str, text: str, key: str | None) -> None:
    assert _owner(template, text) == _OWNERS[key]
    assert possible_keys(text)
