# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose key a text holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint, looks_masked
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import (
    SENTINELS,
    KeyOwner,
    may_hold_key,
    whose_key,
    with_sentinels,
)

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
    "code twice before": "code={code}; {code}, key={key};\n",
    "code twice after": "key={key}, code={code}; {code};\n",
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
def test_an_unknown_key_is_found_at_its_position_in_the_template(name: str) -> None:
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


@pytest.mark.parametrize("text", ["key={}", "key:{}", "'{}'", "x {} y"])
def test_a_known_key_may_have_separators(text: str) -> None:
    key = "a-key.with:separators=and/more=="
    assert whose_key(text.format(key), "", None, {fingerprint(key): "web2"}, "web1").label == "web2"


@pytest.mark.parametrize(
    ("template", "text", "key"),
    [
        # A template of only the key fits each line, so only the first one counts.
        ("{key}\n", "{key}\nmore\n", _STRANGE),
        ("{key}\n", "no key\n{key}\n", None),
        # Only the line of the template that has the key counts.
        ("url=x\nkey={key}\n", "url=0123456789abcdef\nkey={key}\n", _STRANGE),
        ("a\0b {code} {key}\n", "a\0b x {key}\n", _STRANGE),
        # Comments are not searched for the text before a key.
        ("code={code}, key={key}\n", "# code=x, key={key}\n", None),
        ("{key} {code}\n", "{key} x\n", _STRANGE),
        # The first and the last place are tried.
        ("{code}, {key}\n", "a, b c, {key}\n", _STRANGE),
        ("{code}, {key};\n", "a, {key};\n", _STRANGE),
        ("{code}, {key} {code}\n", "a, {key} b, c\n", _STRANGE),
    ],
)
def test_where_an_unknown_key_is_expected(template: str, text: str, key: str | None) -> None:
    pattern = template.format(key=SENTINELS["api_key"], code=SENTINELS["install_code"])
    found = whose_key(text.format(key=_STRANGE), pattern, None, {}, "web1")
    assert found.fingerprint == (key and fingerprint(key))


def test_the_key_in_its_position_counts_before_others() -> None:
    pattern = f"api_key = {SENTINELS['api_key']}\n"
    text = f"# was {_OTHER}\napi_key = {_OWN}\n"
    assert whose_key(text, pattern, fingerprint(_OWN), _OWNERS, "web1").state == "own"


@pytest.mark.parametrize("mark", ["# was ", "#api_key = ", " ; ", "// "])
@pytest.mark.parametrize("former", [_OWN, _OTHER])
def test_a_former_key_in_a_comment_is_not_in_use(mark: str, former: str) -> None:
    pattern, text = f"api_key = {SENTINELS['api_key']}\n", f"{mark}{former}\napi_key = {_STRANGE}\n"
    found = whose_key(text, pattern, fingerprint(_OWN), _OWNERS, "web1")
    assert found == KeyOwner("unknown", None, fingerprint(_STRANGE))


def test_spaces_and_line_ends_do_not_matter() -> None:
    pattern = f"api_key = {SENTINELS['api_key']}\n"
    for text in (f"api_key={_STRANGE}", f"  api_key   =  {_STRANGE}\r\n"):
        assert whose_key(text, pattern, None, {}, "web1") == KeyOwner("unknown", None, fingerprint(_STRANGE))


def test_own_by_the_label_of_a_fingerprint() -> None:
    owners = {fingerprint(_OWN): "web1"}
    assert whose_key(_OWN, SENTINELS["api_key"], None, owners, "web1").state == "own"


@given(st.text(), st.text())
def test_any_text_can_be_examined(text: str, pattern: str) -> None:
    found = whose_key(text, pattern, None, {}, "web1")
    assert found.state in ("no_key", "unknown")
    assert may_hold_key(text) or found.state == "no_key"


def test_sentinels_stand_for_keys() -> None:
    client = {"label": "web1", "api_key": _OWN, "install_code": _CODE}
    assert with_sentinels(client) == {"label": "web1", **SENTINELS}
    assert not any(map(looks_masked, SENTINELS.values()))
