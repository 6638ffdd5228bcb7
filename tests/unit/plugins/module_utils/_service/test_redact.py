# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import hashlib
import json
import time
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._module import _texts_without_keys
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import printable, redact, redact_all
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import Service

KEY = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
SECRETS = {"api_key": KEY, "install_code": 'a b"c/ä\\{{x}}0123456789'}


@pytest.mark.parametrize(("name", "secret"), SECRETS.items())
def test_each_form_of_a_secret_is_redacted(name: str, secret: str) -> None:
    for form in (secret, json.dumps(secret)[1:-1], urllib.parse.quote(secret, safe="")):
        assert redact(f"see {form} there", SECRETS) == f"see <{name}> there"
    # A message can show a key without the line break at its end.
    assert redact(f"see {secret} there", {name: f"{secret}\n"}) == f"see <{name}> there"


@given(st.text("ghijkl \n\x1b[0m-<>/", max_size=60))
def test_text_without_a_secret_does_not_change(text: str) -> None:
    assert redact(text, {"api_key": KEY}) == text


@pytest.mark.parametrize("secret", ["", " ", "\n" * 16, "web", "web1234", "-" * 40, "............1234567"])
def test_a_secret_that_is_too_short_is_not_redacted(secret: str) -> None:
    text = "Could not create client 'web1234': web-1 and ............1234567"
    assert redact(text, {"api_token": secret}) == text
    assert redact_all({"created": [text]}, {"api_token": secret}) == {"created": [text]}


def test_members_of_results_are_redacted_and_control_characters_replaced() -> None:
    result = {"msg": f"no {KEY}", KEY: [1, None, (f"{KEY}x",)], "changed": True}
    shown = {"msg": "no <api_key>", KEY: [1, None, ["<api_key>x"]], "changed": True}
    assert redact_all(result, SECRETS) == shown
    assert printable("a\x1b[mb\n") == "a [mb "
    assert printable("a\tb\u202e", "?") == "a?b?"


def test_redaction_of_a_thousand_failures_with_ten_thousand_clients_is_quick() -> None:
    api = Service().api
    for number in range(10_000):
        key, code = (hashlib.sha256(f"{name} {number}".encode()).hexdigest() for name in ("key", "code"))
        api._client({"id": number, "label": f"web{number}", "api_key": key, "install_code": code})
    keys = [client["api_key"] for client in api.known.values()]
    failures = {f"web{number}": f"Could not create client: refused: {keys[number]}" for number in range(1000)}
    began = time.process_time()
    shown = _texts_without_keys({"failures": failures}, api)
    # Replacing each secret in each message took 24 s. A single pass takes 0.7 s of processor time.
    assert time.process_time() - began < 5
    assert shown["failures"]["web7"] == "Could not create client: refused: <api_key of client 7>"
