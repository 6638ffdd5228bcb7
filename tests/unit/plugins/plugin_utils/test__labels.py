# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from collections.abc import Mapping
from typing import Any

import pytest
from ansible.errors import AnsibleError

from ansible_collections.monitor.cloud.plugins.plugin_utils import _labels
from ansible_collections.monitor.cloud.plugins.plugin_utils._labels import Entry, entries, unknown_labels

LABEL = "monitor_agent_label"


class Failing:
    """A label with a template or a vault that fails when its value is used."""

    def __str__(self) -> str:
        raise AnsibleError("the variable x is undefined.")


class UnsafeText(str):
    """Text that an earlier version of core marks as not to be rendered."""

    __UNSAFE__ = True


class HostVars(dict[str, Mapping[str, Any]]):
    """Variables of hosts. The variables of the host ``locked`` cannot be read."""

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        if name == "locked":
            raise AnsibleError("no vault secrets")
        return super().__getitem__(name)


def entry(variables: Mapping[str, Any], host: str = "web.example") -> Entry:
    play = {"groups": {"all": [host]}, "hostvars": HostVars({host: variables}), "ansible_play_hosts_all": []}
    [found] = entries(play, "inspected")
    return found


@pytest.mark.parametrize(
    ("variables", "label", "is_known"),
    [
        ({}, "web-example-03bbe82a", True),
        ({LABEL: None}, "web-example-03bbe82a", True),
        ({LABEL: ""}, "web-example-03bbe82a", True),
        ({LABEL: "given"}, "given", True),
        ({LABEL: "given", "inspected": {"label": "rendered"}}, "rendered", True),
        ({LABEL: "given", "inspected": {"label": ""}}, "given", True),
        ({LABEL: "given", "inspected": "{{ fails }}"}, "given", True),
        ({LABEL: Failing()}, "web-example-03bbe82a", False),
        ({LABEL: Failing(), "inspected": {"label": "rendered"}}, "rendered", True),
        ({LABEL: 83}, "web-example-03bbe82a", False),
    ],
)
def test_the_label_of_this_run_comes_before_the_inventory_and_the_name(
    variables: Mapping[str, Any], label: str, is_known: bool
) -> None:
    found = entry(variables)
    assert (found.label, found.is_known) == (label, is_known)
    assert is_known or found.problem


def test_a_problem_says_why_a_label_is_unknown_and_what_counts() -> None:
    assert entry({LABEL: Failing()}).problem == (
        "monitor_agent_label of host web.example: the variable x is undefined. The label of another host can use "
        "group_vars, host_vars, extra variables and facts of this run, but no variables of plays, roles and tasks. Set "
        "the variable in the inventory, or check the password of its vault."
    )
    assert "The label 83 of host web.example is not text" in entry({LABEL: 83}).problem


def test_a_host_whose_variables_cannot_be_read_has_its_derived_label() -> None:
    found = entry({}, host="locked")
    assert (found.label, found.variables, found.result) == ("locked", {}, {})


def test_a_template_that_an_earlier_core_returns_unchanged_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_labels, "TRUSTS_MARKED", False)
    template = "{{ x }}-web"
    assert "the template '{{ x }}-web' fails." in entry({LABEL: template}).problem
    # The user wrote !unsafe, so this text is the label.
    assert entry({LABEL: UnsafeText(template)}).label == template
    assert entry({LABEL: "plain"}).label == "plain"
    monkeypatch.setattr(_labels, "TRUSTS_MARKED", True)
    assert entry({LABEL: template}).label == template


def test_all_hosts_of_the_inventory_come_first_and_each_host_once() -> None:
    hostvars: dict[str, dict[str, str]] = {name: {} for name in ("web-1", "web-2", "localhost")}
    play = {"groups": {"all": ["web-2", "web-1"]}, "hostvars": hostvars}
    found = entries({**play, "ansible_play_hosts_all": ["localhost", "web-1"]})
    assert [each.host for each in found] == ["web-2", "web-1", "localhost"]


def test_hosts_with_unknown_labels_are_named() -> None:
    names = [f"web-{number}" for number in range(1, 8)]
    assert unknown_labels(names) == (
        "Labels are unknown, because variables of these hosts cannot be read: web-1, web-2, web-3, web-4, web-5 and 2 "
        "more."
    )
