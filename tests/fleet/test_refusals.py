# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role, its playbooks and the service refuse. The hosts are directories."""

import re
import shlex
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, WHOLE, Local
from ansible_collections.monitor.cloud.tests.support.steps import labels, role_play, text_of

_SAME = {"web-1": {"label": "web-3"}}
_BOTH = "The hosts web-1 and web-3 have the same label 'web-3'"
_TAKEN = {"web-2": {"label": "web-3"}}
_TAKEN_BY = "The hosts web-2 and web-3 have the same label 'web-3'"
_SHORT = {"web-3": {"label": "ab"}}
_LENGTH = "The label 'ab' has 2 characters;"
_FAILING = {"web-3": {"label": "{{ nowhere_set }}"}}
_UNDEFINED = "monitor_agent_label of host web-3: .*nowhere_set.* (is undefined|fails)"
_NO_TEXT = r"The label {} of host web-1 is not text\. Put it in quotes\."
_ABSENT = "vars: {monitor_agent_state: absent}"
_NOT_THE_FIRST = "when: inventory_hostname != 'web-1'"
# A part of the message, variables of the role that the inventory sets by host, a playbook with options, and for a play
# of the role its keywords. Other invalid labels: tests/unit/plugins/module_utils/_clients/test_fields.py.
REFUSED: list[tuple[str, dict[str, dict[str, Any]], str, dict[str, Any]]] = [
    (_BOTH, _SAME, "play --limit web-1", {}),
    (_TAKEN_BY, _TAKEN, "play --limit web-1,web-2", {"use": "include_role", "role": _NOT_THE_FIRST}),
    (_TAKEN_BY, _TAKEN, "play --limit web-2", {"role": f"ignore_errors: true\n  {_ABSENT}"}),
    (_LENGTH, _SHORT, "retire --limit web-3", {}),
    (f".*{_UNDEFINED}", _FAILING, "retire -e labels=web-9", {}),
    # As YAML reads 0123; and a false value.
    (_NO_TEXT.format(83), {"web-1": {"label": 83}}, "rollout --limit web-1", {}),
    (_NO_TEXT.format(False), {"web-1": {"label": False}}, "rollout --limit web-1", {}),
    *(
        (message, {}, command, {})
        for message, command in (
            (
                "4 hosts and labels are more than retire_limit",
                "retire --limit all -e '{labels: [web-9], retire_limit: 3}'",
            ),
            ("^These labels are of hosts in the inventory: web-1, web-2[.] Retire", "retire -e labels=web-2,web-1"),
        )
    ),
]


@pytest.mark.parametrize(("message", "variables", "command", "use"), REFUSED, ids=str)
def test_what_is_refused_before_any_change(
    monitored: Local, message: str, variables: dict[str, dict[str, Any]], command: str, use: dict[str, Any]
) -> None:
    for host, own in variables.items():
        monitored.host_vars[host] |= {f"monitor_agent_{name}": value for name, value in own.items()}
    monitored.service.seed(labels=["old-1", "web-9"])
    before = monitored.files()
    name, *options = shlex.split(command)
    playbook = role_play(monitored, **use) if name == "play" else f"monitor.cloud.{name}"
    run = monitored.run(playbook, *options, **WHOLE)
    assert (run.code, run.writes(), len(run.failures()), monitored.files()) == (2, [], 1, before), run.output
    assert re.search(message, run.failures().popitem()[1], re.DOTALL), run.output


_ALL = {"web-1", "web-2", "web-3"}


def test_playbooks_run_what_is_once_for_all_hosts_once_with_any_configured_strategy(three: Local) -> None:
    run = three.succeed(ROLLOUT, ANSIBLE_STRATEGY="free")
    assert (run.changed_hosts(), len(run.statuses("Read the account"))) == (_ALL, 1)


def test_a_host_whose_label_fails_does_so_alone(three: Local) -> None:
    three.host_vars["web-3"]["monitor_agent_label"] = "{{ nowhere_set }}"
    run = three.run(role_play(three))
    assert (set(run.failures()), labels(three)) == ({"web-3"}, ["web-1", "web-2"]), run.output
    assert "nowhere_set" in run.failures()["web-3"]
    assert "WARNING" not in three.succeed(role_play(three), "--limit", "web-1").output


_ROLE_DELEGATED = """
- delegate_to: web-1
  block: [{ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}}]
"""


def test_delegation_of_the_role_is_refused_before_a_client_is_created(pair: Local) -> None:
    run = pair.run(pair.tasks(_ROLE_DELEGATED))
    assert "can't have delegate_to or run_once" in run.failures()["web-2"]
    assert run.changed_hosts() == {"web-1"}
    assert labels(pair) == ["web-1"] and pair.read("web-2") is None


_PRUNE = "prune -e prune_pattern=web.* -e prune_confirm=true"
# Options of the inventory, a playbook, settings and the reason.
UNKNOWN_HOSTS = [
    ("-i web-1,", "adopt", {}, "would be taken for clients without a host"),
    # It is refused for the setting, whether or not there are sources that cannot be read.
    ("-i inventory.yml -i broken.yml", _PRUNE, {}, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true"),
    ("-i inventory.yml -i web-1,", _PRUNE, WHOLE, "Use files, because prune needs all hosts"),
]


@pytest.mark.parametrize(("source", "playbook", "settings", "reason"), UNKNOWN_HOSTS)
def test_nothing_is_pruned_nor_adopted_if_clients_of_hosts_may_be_unknown(
    single: Local, source: str, playbook: str, settings: dict[str, str], reason: str
) -> None:
    single.inventory()
    (single.directory / "broken.yml").write_text("all: {hosts: {web-2: ", encoding="utf-8")
    single.service.seed(labels=["web-1", "web-2"])
    single.write("web-1", text_of(single, "web-2"))
    run = single.shell(f"ansible-playbook {source} -c local monitor.cloud.{playbook}", **settings)
    assert reason in run.failures()["web-1"], run.output
    assert run.writes() == []
