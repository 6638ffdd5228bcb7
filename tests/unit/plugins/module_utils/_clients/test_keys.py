# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which values are masks, and what of a client is shown."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import (
    Views,
    fingerprint,
    looks_masked,
    masked_ids,
)

_KEY = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"


def _client(number: int, **fields: Any) -> dict[str, Any]:
    keys = {"api_key": f"{number:08X}{_KEY[8:]}", "install_code": f"{_KEY[:-8]}{number:08X}"}
    return {"id": number, "label": f"web{number}", **keys, **fields}


@pytest.mark.parametrize(
    "value",
    [None, "", "short", "a" * 15, "[REDACTED]", "*" * 36, f"{_KEY[:-3]}***", f"{_KEY} ", f"{_KEY}\n", f"<{_KEY}>"]
    + [f"{_KEY[:20]}…", f"{_KEY}\x7f", f"{_KEY}\x00", "\ud800" * 40, 1234567890123456, True, [_KEY]],
)
def test_masks(value: object) -> None:
    assert looks_masked(value)


@pytest.mark.parametrize("value", [_KEY, "a" * 16, "0123456789abcdef" * 3, "k-with.dots:and/more=="])
def test_keys(value: str) -> None:
    """Field note "key format": opaque."""
    assert not looks_masked(value)


@given(st.text())
def test_a_fingerprint_is_twelve_digits_of_the_hash(key: str) -> None:
    assert fingerprint(key) == hashlib.sha256(key.encode()).hexdigest()[:12]


def test_a_value_on_two_clients_is_a_mask() -> None:
    clients = [_client(1), _client(2, api_key=_client(1)["api_key"]), _client(3)]
    assert masked_ids(clients) == {1, 2}
    assert masked_ids([clients[0], clients[2]]) == set()


@pytest.mark.parametrize("field", ["api_key", "install_code"])
def test_one_masked_field_makes_the_client_masked(field: str) -> None:
    assert masked_ids([_client(1, **{field: "[REDACTED]"}), _client(2)]) == {1}
    without = _client(3)
    del without[field]
    assert masked_ids([without]) == {3}


def test_views_leave_out_secrets_unless_requested() -> None:
    client = _client(1, apps={"apache": True}, more="kept")
    plain = Views([client]).show(client)
    assert plain == {
        "id": 1,
        "label": "web1",
        "apps": {"apache": True},
        "more": "kept",
        "key_fingerprint": fingerprint(client["api_key"]),
        "keys_masked": False,
    }
    requested = Views([client], include_keys=True).show(client)
    assert requested == {**plain, "api_key": client["api_key"], "install_code": client["install_code"]}
    assert Views([client]).show({}) == {}


def test_a_mask_is_never_shown_as_a_key() -> None:
    client = _client(1, api_key="[REDACTED]")
    shown = Views([client], include_keys=True).show(client)
    assert shown == {"id": 1, "label": "web1", "key_fingerprint": None, "keys_masked": True}


def test_masks_are_judged_over_all_that_is_known() -> None:
    constant = {"api_key": _KEY, "install_code": _KEY[::-1]}
    before, created = _client(1, **constant), _client(2, **constant)
    views = Views([before], [created], include_keys=True)
    assert views.show(created)["keys_masked"] is True
    assert views.key_owners() == {}


def test_the_last_of_an_id_counts() -> None:
    old, new = _client(1), _client(1, label="www1")
    assert Views([old], [new]).key_owners() == {fingerprint(old["api_key"]): "www1"}


def test_predicted_clients_have_no_key() -> None:
    predicted = [{"id": None, "label": "new1"}, {"id": None, "label": "new2"}]
    views = Views([_client(1)], predicted)
    assert views.show(predicted[0]) == {"id": None, "label": "new1", "key_fingerprint": None, "keys_masked": False}
    assert views.fingerprints([{}, *predicted]) == {"new1": "new", "new2": "new"}
    assert list(views.key_owners().values()) == ["web1"]


def test_a_diff_shows_a_client_without_a_readable_key_as_masked() -> None:
    clients = [_client(1), _client(2, api_key="[REDACTED]")]
    assert Views(clients).fingerprints(clients) == {"web1": fingerprint(clients[0]["api_key"]), "web2": "masked"}
