# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Laws of labels, tried with many host names."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import (
    check_label,
    check_labels,
    client_label,
    labels_of_hosts,
    matching,
)
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

_PORTABLE = re.compile(r"[A-Za-z0-9_-]{3,32}")
_HOSTS = st.text(max_size=70) | st.from_regex(r"[a-z0-9.-]{1,60}", fullmatch=True)


@given(_HOSTS)
@example("")
@example("é" * 40)
@example("\udcff")
@example("web1\n")
@example("a" * 33)
@example("10.0.0.1")
def test_every_host_has_a_portable_label_and_always_the_same(host: str) -> None:
    label = client_label(host)
    assert _PORTABLE.fullmatch(label)
    assert label == client_label(host)
    check_label(label)


@given(st.from_regex(_PORTABLE, fullmatch=True))
def test_a_name_that_is_a_label_stays_as_it_is(host: str) -> None:
    assert client_label(host) == host
    assert client_label(client_label(host)) == host


@given(st.sets(_HOSTS, max_size=20))
def test_hosts_differ_so_labels_differ(hosts: set[str]) -> None:
    assert len({client_label(host) for host in hosts}) == len(hosts)


@pytest.mark.parametrize(
    ("host", "label"),
    [
        ("web1.example.com", r"web1-example-com-[0-9a-f]{8}"),
        ("a-very-long-host-name-of-a-machine.example.com", r"a-very-long-host-name-o-[0-9a-f]{8}"),
        ("ab", r"ab-[0-9a-f]{8}"),
        ("...", r"host-[0-9a-f]{8}"),
        ("web 1", r"web-1-[0-9a-f]{8}"),
    ],
)
def test_the_head_can_be_read(host: str, label: str) -> None:
    assert re.fullmatch(label, client_label(host))


@given(st.text(max_size=40))
def test_length_is_all_that_is_checked(label: str) -> None:
    if 3 <= len(label) <= 32:
        check_label(label)
    else:
        with pytest.raises(InputError, match="a label has 3 to 32"):
            check_label(label)


@pytest.mark.parametrize("label", [None, 123, True, ["web1"]])
def test_a_value_that_is_not_text_is_not_a_valid_label(label: Any) -> None:
    with pytest.raises(InputError, match="is not text"):
        check_label(label)


def test_a_label_twice_is_refused() -> None:
    check_labels(["web1", "web2"])
    with pytest.raises(InputError, match="'web1' is listed twice. Labels are unique: give each host its own."):
        check_labels(["web1", "web2", "web1"])


@given(st.lists(_HOSTS, unique=True, max_size=10), st.lists(_HOSTS, max_size=10))
def test_labels_of_some_hosts_are_those_of_each(hosts: list[str], others: list[str]) -> None:
    labels = labels_of_hosts(hosts, others, lambda dummy: None)
    assert labels == {host: client_label(host) for host in hosts}


def test_the_inventory_may_set_a_label() -> None:
    own = {"db.example.com": "database", "web1": ""}
    labels = labels_of_hosts(["web1", "db.example.com"], [], own.get)
    assert labels == {"web1": "web1", "db.example.com": "database"}


def test_hosts_that_share_a_label_are_both_named_even_outside_of_the_batch() -> None:
    expected = "The hosts web1 and web2 have the same label 'web1'"
    with pytest.raises(InputError, match=expected):
        labels_of_hosts(["web1"], ["web1", "web2"], {"web2": "web1"}.get)


@pytest.mark.parametrize(("label", "length"), [("a", "1 character"), ("ab", "2 characters")])
def test_a_bad_label_names_its_host_and_matters_only_in_the_batch(label: str, length: str) -> None:
    own = {"web2": label}
    with pytest.raises(InputError, match=f"monitor_agent_label of host web2: The label {label!r} has {length};"):
        labels_of_hosts(["web1", "web2"], [], own.get)
    assert labels_of_hosts(["web1"], ["web2"], own.get) == {"web1": "web1"}


@pytest.mark.parametrize("pattern", ["(", "a{99999999999999999999}", "(" * 5000])
def test_an_invalid_pattern_names_its_option(pattern: str) -> None:
    with pytest.raises(InputError, match="^prune_pattern .* is not a valid regular expression"):
        matching(pattern, "prune_pattern", [])


def test_a_pattern_matches_whole_labels_of_any_characters() -> None:
    assert matching("w.*1", "prune_pattern", ["web1", "w\n1", "web12", "aw1"]) == ["web1", "w\n1"]


@pytest.mark.parametrize("text", ["['web1','web2']", '["web1", "web2"]', "[web1,web2]", "['web1']"])
def test_a_list_that_is_written_as_text_is_refused(text: str) -> None:
    # Core splits a text at its commas.
    with pytest.raises(InputError, match="is the text of a list"):
        check_labels(text.split(","))


@pytest.mark.parametrize("text", ["web1,web2", "[prod] web1,web1 [prod]", "[web1]", "o'neil,web1"])
def test_labels_may_have_brackets_and_quotes(text: str) -> None:
    check_labels(text.split(","))
