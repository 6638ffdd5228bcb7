# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets are found in texts whole, in part, wrapped and encoded; other texts stay."""

from __future__ import annotations

import base64
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import holds, redact, redact_all

KEY = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
SECRETS = {"api_key": KEY, "install_code": 'a b"c/ä\\{{x}}0123456789'}


@pytest.mark.parametrize("secret", SECRETS.values())
@pytest.mark.parametrize("before", ["", "x", "xy", "key="])
def test_encodings(secret: str, before: str) -> None:
    data = f"{before}{secret}".encode()
    for form in (
        f"{before}{secret}",
        json.dumps(before + secret),
        urllib.parse.quote(data),
        data.hex(" "),
        base64.b64encode(data).decode(),
        "\n".join(secret[start : start + 5] for start in range(0, len(secret), 5)),
        "".join(f"\x1b[1;31m{character}\x1b[0m" for character in secret),
        secret.swapcase(),
    ):
        shown = redact(f"see {form} there", SECRETS)
        assert "<api_key>" in shown or "<install_code>" in shown
        assert shown.startswith("see ")
        assert shown.endswith(" there")


@given(st.integers(0, len(KEY)), st.integers(0, len(KEY)), st.text("xyz \n\x1b[m", max_size=9))
def test_no_part_of_eight_stays(start: int, length: int, other: str) -> None:
    shown = redact(f"{other}{KEY[start : start + length]}{other}", SECRETS)
    assert [KEY[at : at + 8] for at in range(len(KEY) - 7) if KEY[at : at + 8] in shown] == []


@given(st.text("ghijkl \n\x1b[0m-<>/", max_size=60))
def test_other_texts_stay(text: str) -> None:
    assert redact(text, {"api_key": KEY}) == text
    assert holds(text, {"api_key": KEY}) is None


def test_results() -> None:
    result = {"msg": f"no {KEY}", KEY: [1, None, (f"{KEY}x",)], "changed": True}
    shown = {"msg": "no <api_key>", "<api_key>": [1, None, ["<api_key>x"]], "changed": True}
    assert redact_all(result, SECRETS) == shown


def test_a_part_is_not_held() -> None:
    assert holds(f"/etc/{KEY.lower()}/x", SECRETS) == "api_key"
    assert holds(f"/etc/{KEY[:20]}/x", SECRETS) is None
