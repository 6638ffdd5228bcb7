# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import plain, without_null
from ansible_collections.monitor.cloud.plugins.plugin_utils._sealed import seal, unseal

_KEY = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_CLIENT = {"id": 1, "label": "web1", "api_key": _KEY, "install_code": "D" * 36, "more": f"sh {_KEY}"}


def test_sealed_keys_open_for_their_own_label_only() -> None:
    sealed = seal(_CLIENT)
    assert _KEY not in str(sealed) and unseal(sealed) == unseal(_CLIENT) == _CLIENT
    assert seal({"id": 1, "label": "web1"}) == {"id": 1, "label": "web1"}
    for other in ({**sealed, "label": "web2"}, {**sealed, "sealed_keys": "gAAAA"}):
        with pytest.raises(InputError, match=r"cannot be decrypted: .* another run .* or has another label"):
            unseal(other)


@pytest.mark.parametrize(
    ("option", "value", "is_given"),
    [
        ({"type": "bool", "default": True}, None, False),
        # Before ansible-core 2.19, a template turns null into an empty string.
        ({"type": "bool", "default": True}, "", False),
        ({"type": "bool", "default": True}, False, True),
        ({"type": "raw", "default": "0600"}, None, False),
        ({"type": "raw", "default": "0600"}, "", True),
        ({"default": "present"}, "", True),
        ({"type": "float", "default": 24.0}, 0, True),
        # An empty id is an error, and not a missing id.
        ({"type": "int"}, "", True),
        ({"type": "int"}, None, True),
    ],
)
def test_null_means_the_default(option: dict[str, object], value: object, is_given: bool) -> None:
    assert without_null({"x": value}, {"x": option}) == ({"x": value} if is_given else {})
    assert without_null({"unknown": value}, {"x": option}) == {"unknown": value}


def test_an_argument_is_plain_data() -> None:
    class Tagged(str):
        pass

    assert [type(value) for value in plain((Tagged("x"), True, 1, 1.5, None))] == [str, bool, int, float, type(None)]
