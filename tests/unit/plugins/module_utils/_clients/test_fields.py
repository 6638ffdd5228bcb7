# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fingerprints import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import (
    as_text,
    check_label,
    check_labels,
    check_own,
    client_label,
    labels_of_hosts,
)
from ansible_collections.monitor.cloud.plugins.module_utils._clients.masks import (
    for_templates,
    mask_reason,
    masked,
    secrets_of,
    why_masked,
    why_unusable,
)
from ansible_collections.monitor.cloud.plugins.module_utils._clients.patterns import matching
from ansible_collections.monitor.cloud.plugins.module_utils._clients.texts import escaped, listed
from ansible_collections.monitor.cloud.plugins.module_utils._clients.views import Views
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

_PORTABLE = re.compile(r"[A-Za-z0-9_-]{3,32}")
_HOSTS = st.text(max_size=70) | st.from_regex(r"[a-z0-9.-]{1,60}", fullmatch=True)


@given(st.sets(_HOSTS, max_size=20))
@example({"", "\udcff", "web1\n", "a" * 33})
def test_hosts_have_portable_labels_that_differ(hosts: set[str]) -> None:
    labels = [client_label(host) for host in hosts]
    assert all(map(_PORTABLE.fullmatch, labels)) and len(set(labels)) == len(hosts)
    assert labels == [client_label(host) for host in hosts]


def test_the_label_of_a_host_without_a_portable_name_has_a_digest() -> None:
    expected = ["web-9-b7c7099e", "host-e84c538e", "a" * 23 + "-e33cdf9c"]
    assert [client_label(host) for host in ("web 9", "!!!", "a" * 40)] == expected


@pytest.mark.parametrize(
    ("check", "values", "message"),
    [
        (check_label, ["", "ab", "a" * 33, "ä" * 33], "a label has 3 to 32"),
        (check_own, ["localhost", client_label("::1")], "cannot be a label"),
        (as_text, [None, 1.1, 83, True, ["web1"]], "is not text|is a list or"),
        (check_labels, [["web1", "web2", "web1"]], "'web1' is listed twice. Labels are unique: give each host its own"),
        (
            # ansible-core splits the text of an option at commas.
            check_labels,
            [text.split(",") for text in ("['web1','web2']", '["web1", "web2"]', "[web1,web2]", "['web1']")],
            r"""is text that looks like a list.* -e '{"labels": \["web1", "web2"\]}'""",
        ),
    ],
)
def test_invalid_labels_are_refused(check: Callable[[Any], object], values: list[Any], message: str) -> None:
    for value in values:
        with pytest.raises(InputError, match=message):
            check(value)


def test_valid_labels_pass() -> None:
    check_own("web-1")
    for label in ("a b", "\n\u202e{}", "a" * 32):
        check_label(label)
    for text in ("web1,web2", "[prod] web1,web1 [prod]", "[web1]", "o'neil,web1"):
        check_labels(text.split(","))


def test_a_message_names_up_to_twenty_and_counts_the_others() -> None:
    names = [str(number) for number in range(22)]
    assert listed(names[:20]) == ", ".join(map(repr, names[:20]))
    assert listed(names) == ", ".join(map(repr, names[:20])) + " and 2 more"
    assert listed(names[:3], 2, str) == "0, 1 and 1 more"


def test_the_inventory_may_set_a_label_that_no_other_host_has() -> None:
    given = {"db.example.com": "database", "web1": ""}
    assert labels_of_hosts([*given], [], given.get) == {"web1": "web1", "db.example.com": "database"}
    # The host web2 is not in the batch of web1.
    with pytest.raises(InputError, match="The hosts web1 and web2 have the same label 'web1'"):
        labels_of_hosts(["web1"], ["web1", "web2"], {"web2": "web1"}.get)


def test_the_error_of_an_invalid_label_names_the_host_if_the_host_is_in_the_batch() -> None:
    for label, length in (("a", "1 character"), ("ab", "2 characters")):
        with pytest.raises(InputError, match=f"monitor_agent_label of host web2: The label {label!r} has {length};"):
            labels_of_hosts(["web1", "web2"], [], {"web2": label}.get)
    assert labels_of_hosts(["web1"], ["web2"], {"web2": "a"}.get) == {"web1": "web1"}


def test_a_pattern_matches_whole_labels_of_any_characters_and_its_error_names_the_option() -> None:
    assert matching("w.*1", "prune_pattern", ["web1", "w\n1", "web12", "aw1"]) == ["web1", "w\n1"]
    for pattern in ("(", "a{99999999999999999999}", "(" * 3000 + ")" * 3000, r"\1", "(?i"):
        with pytest.raises(InputError, match=r"^prune_pattern .* is not a valid regular expression"):
            matching(pattern, "prune_pattern", [])


_KEY = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"


def _client(number: int, **fields: Any) -> dict[str, Any]:
    keys = {"api_key": f"{number:08X}{_KEY[8:]}", "install_code": f"{_KEY[:-8]}{number:08X}"}
    return {"id": number, "label": f"web{number}", **keys, **fields}


def test_masks_and_keys() -> None:
    """Observed: "key format"."""
    masks: list[Any] = [None, "", "a" * 15, "[REDACTED]", "*" * 36, f"{_KEY[:-3]}***", f"{_KEY} ", f"{_KEY} \n"]
    masks += [
        "\n" * 16,
        "\r\n" * 8,
        f"{_KEY[:15]}\n\n\n",
        f"<{_KEY}>",
        f"{_KEY[:20]}…",
        f"{_KEY}\x7f",
        f"{_KEY}\x9b",
        "\ud800" * 40,
        1234567890123456,
        [_KEY],
    ]
    assert [value for value in masks if not why_masked(value)] == []
    keys = [_KEY, "a" * 16, "0123456789abcdef" * 3, "k-with.dots:and/more==", f"{_KEY}$(touch)", f"{_KEY}\n"]
    assert [value for value in keys if why_masked(value)] == []


def test_a_key_on_two_clients_is_a_mask() -> None:
    clients = [_client(1), _client(2, api_key=_client(1)["api_key"]), _client(3)]
    assert masked(clients) == dict.fromkeys((1, 2), "The same api_key is on 2 clients.")
    assert masked([clients[0], clients[2]]) == {}


def test_one_masked_field_makes_the_client_masked() -> None:
    for field in ("api_key", "install_code"):
        clients = [_client(1, **{field: "[REDACTED]"}), _client(2)]
        assert masked(clients) == {1: f"The {field} contains U+005B LEFT SQUARE BRACKET, which only masks contain."}
    for fields, reason in (
        ({"api_key": None}, "The api_key is missing, or is not text."),
        ({"api_key": "short"}, "The api_key has 5 characters; a key has at least 16."),
        (
            {"install_code": "A-1-B-2-C-3-D"},
            "The install_code has 7 letters and digits; an install code has at least 8.",
        ),
        # Some services have no install codes.
        ({"install_code": None}, ""),
    ):
        assert mask_reason(_client(1, **fields)) == reason


@pytest.mark.parametrize("code", ["ACCT4711", "account-code", "A-1-B-2-C-3-D-4"])
def test_an_install_code_may_be_short_and_one_for_the_account(code: str) -> None:
    clients = [_client(number, install_code=code) for number in range(3)]
    assert masked(clients) == {}
    assert why_unusable(clients[0]) == ""
    # An install code that all clients share is also a secret.
    assert secrets_of(clients[0])["install_code"] == code
    assert code not in str(Views(clients).show({**clients[0], "command": f"install {code}"}))


@pytest.mark.parametrize("field", ["api_key", "install_code"])
def test_a_key_with_another_character_is_refused_by_its_name(field: str) -> None:
    for character in '$`"#%{\\\u202e\u200bé!':
        client = _client(1, **{field: f"{_KEY}{character}x"})
        assert mask_reason(client) == ""
        assert why_unusable(client) == (
            f"the {field} contains U+{ord(character):04X} {unicodedata.name(character)}; "
            "only letters, digits and ._~+/=:@- are allowed"
        )
        # Messages also redact an invalid key.
        assert set(secrets_of(client)) == {"api_key", "install_code"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("created", "2026{}x"), ("updated", "{}"), ("notes", "rack 4{}call Bob"), ("apps", {"a{}b": True}),
     ("x", [{"y": ["{}"]}])],
)  # fmt: skip
def test_templates_cannot_use_a_field_with_a_control_character(name: str, value: Any) -> None:
    """A field that no template uses must not stop its host."""
    for end in "\n\r\t\x00\x0b\x0c\x1b\x1c\x1e\x7f\x85\x9b\u2028\u2029":
        client = _client(1, **{name: json.loads(json.dumps(value).replace("{}", json.dumps(end)[1:-1]))}, other="kept")
        assert why_unusable(client) == ""
        assert for_templates(client).keys() == client.keys() - {name}
        assert why_unusable({**client, "label": f"web{end}1"}).startswith(f"the label contains U+{ord(end):04X}")
    plain = _client(1, **{name: value})
    assert for_templates(plain) == plain


def test_masks_and_predicted_clients_are_usable() -> None:
    assert why_unusable(_client(1, api_key="-" * 20 + "1234567")) == "the api_key has fewer than 8 letters and digits"
    assert why_unusable(_client(1, api_key="Az09._~+/=:@-abcdefgh")) == ""
    assert why_unusable({"id": None, "label": "web1", "apps": {}, "created": None}) == ""
    assert why_unusable(_client(1, api_key="***", install_code=None, apps={"a": [1, None]})) == ""


def test_views_leave_out_secrets_unless_requested() -> None:
    client = _client(1, apps={"apache": True}, more="kept")
    client["agent"] = {"install": [f"curl https://agents.example.com/{client['install_code']} | sh"]}
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
    assert requested == {**plain, **client}
    assert Views([client]).show({}) == {}
    # Users choose labels, so a label is shown even if it contains an install code.
    assert Views([]).show(_client(1, label="x-12345", install_code="12345"))["label"] == "x-12345"


def test_a_mask_is_never_shown_as_a_key() -> None:
    client = _client(1, api_key="[REDACTED]")
    shown = Views([client], include_keys=True).show(client)
    assert "which only masks contain. A service masks keys if the token" in shown.pop("mask_reason")
    assert shown == {"id": 1, "label": "web1", "key_fingerprint": None, "keys_masked": True}


def test_masks_are_found_by_comparing_all_clients_and_the_newest_state_of_a_client_counts() -> None:
    constant = {"api_key": _KEY, "install_code": _KEY[::-1]}
    before = _client(1, **constant)
    created = _client(2, **constant)
    views = Views([before], [created], include_keys=True)
    assert views.show(created)["keys_masked"] is True
    assert views.key_owners() == {}
    assert Views([before], [{**before, "label": "www1"}]).key_owners() == {fingerprint(_KEY): "www1"}


def test_bidirectional_and_control_characters_are_escaped_in_a_diff() -> None:
    client = _client(1, label="web\u202e1\u200b\x1b[m")
    assert list(Views([client]).diff([({}, client)])["after"]) == ["web\\u202e1\\u200b\\x1b[m"]
    assert (escaped("café"), escaped(None)) == ("café", None)
