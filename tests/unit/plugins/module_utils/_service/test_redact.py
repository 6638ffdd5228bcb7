# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets are found in texts whole, in part, wrapped and encoded; other texts stay."""

import base64
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import (
    find_secrets,
    holds,
    printable,
    redact,
    redact_all,
)

KEY = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
SECRETS = {"api_key": KEY, "install_code": 'a b"c/ä\\{{x}}0123456789'}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("secret", SECRETS.values())
@pytest.mark.parametrize("before", ["", "x", "xy", "key="])
def test_encodings(secret: str, before: str) -> None:
    data = f"{before}{secret}".encode()
    for form in (
        f"{before}{secret}",
        json.dumps(before + secret),
        urllib.parse.quote(data),
        data.hex(" "),
        _base64(before + secret),
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


def test_members_of_results_are_redacted_and_control_characters_replaced() -> None:
    result = {"msg": f"no {KEY}", KEY: [1, None, (f"{KEY}x",)], "changed": True}
    shown = {"msg": "no <api_key>", KEY: [1, None, ["<api_key>x"]], "changed": True}
    assert redact_all(result, SECRETS) == shown
    assert printable("a\x1b[mb\n") == "a [mb "
    assert printable("a\tb", "?") == "a?b"


@pytest.mark.parametrize(
    ("text", "secrets", "shown"),
    [
        # A text may be shorter than the first secret.
        ("pin 123", {"api_key": KEY, "pin": "123"}, "pin <pin>"),
        ("ABCD EFGH", {"word": "abcd-efgh"}, "<word>"),
        ("ABCD EFG", {"word": "abcd-efgh"}, "ABCD EFG"),
        (f"{KEY[:12]}{KEY[4:]}", {"api_key": KEY}, "<api_key><api_key>"),
        (f"{KEY[:9]} and {KEY[-9:]}.", {"api_key": KEY}, "<api_key> and <api_key>."),
        (f"x{KEY[2:11]}y", {"api_key": KEY}, "x<api_key>y"),
        (f"{KEY}!", {"api_key": KEY}, "<api_key>!"),
        # Base64 of the shortest secret of which 8 characters do not depend on what is beside it.
        (_base64("abcdefghijkl"), {"word": "abcdefghijkl"}, "YWJj<word>amts"),
    ],
)
def test_what_is_shown(text: str, secrets: dict[str, str], shown: str) -> None:
    assert redact(text, secrets) == shown


def test_secrets_that_a_text_holds_in_part() -> None:
    assert find_secrets(KEY[:7], SECRETS) == {}
    for text in (KEY[:9], f"x{KEY[-9:].lower()}", KEY.replace("-", " "), _base64(KEY)):
        assert find_secrets(text, SECRETS) == {"api_key": KEY}
    assert find_secrets(f"{KEY} 0123456789", SECRETS) == SECRETS


@pytest.mark.parametrize(
    "form",
    [KEY.encode().hex(), json.dumps(KEY), *(base64.b64encode(b"-" * n + KEY.encode()).decode() for n in range(3))],
)
def test_an_encoded_secret_is_held_and_a_part_is_not(form: str) -> None:
    for secrets in (SECRETS, {"other": "x" * 20, "api_key": KEY}):
        assert holds(f"see {form}", secrets) == holds(f"/etc/{KEY.lower()}/x", secrets) == "api_key"
    assert holds(f"/etc/{KEY[:20]}/x", SECRETS) is None
