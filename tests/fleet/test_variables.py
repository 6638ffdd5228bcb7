# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sources of variables and their precedence, connection variables that are meant for hosts, misspelled names."""

import pytest

from ansible_collections.monitor.cloud.tests.support.runs import Controller, Local
from ansible_collections.monitor.cloud.tests.support.steps import (
    configured,
    converge,
    labels,
    role_play,
)

WRONG = {"base_url": "http://127.0.0.1:1/v4", "api_token": "not-a-token", "retry_timeout": "0"}


SOURCES = ("environment", "defaults of the group", "variables", "defaults of the module")


@pytest.mark.parametrize("counts", SOURCES)
def test_precedence_of_the_sources_of_the_connection(single: Local, counts: str) -> None:
    # Each source of lower precedence holds values that fail.
    settings = dict.fromkeys(SOURCES[: SOURCES.index(counts)], WRONG)
    right = {
        "base_url": single.service.base_url,
        "api_token": single.service.tokens["read_write"],
        "retry_timeout": "9",
    }
    settings[counts] = right
    of_group, of_module = (settings.get(f"defaults of the {kind}", {}) for kind in ("group", "module"))
    defaults = f"module_defaults: {{group/monitor.cloud.api: {of_group}, monitor.cloud.monitor_clients: {of_module}}}"
    given = settings.get("variables", {})
    single.group_vars.update({f"monitor_agent_{name}": value for name, value in given.items()})
    environment = {f"MONITOR_{name.upper()}": value for name, value in settings.get("environment", {}).items()}
    converge(single, role_play(single, play=defaults), changes={"web-1"}, environment=environment)


@pytest.mark.parametrize("label", ["", "{{ hostvars[inventory_hostname].own | default('') }}"])
def test_a_role_that_uses_the_role_may_pass_the_label_of_the_inventory(pair: Local, label: str) -> None:
    if label:
        pair.host_vars["web-2"].update(own="my-web-2", monitor_agent_label="my-web-2")
    run = pair.run(role_play(pair, role=f'vars: {{monitor_agent_label: "{label}"}}'))
    assert run.code == 0, run.output
    assert set(labels(pair)) == {"web-1", "my-web-2" if label else "web-2"}


def test_the_other_options_of_the_connection(single: Local) -> None:
    single.service.configure(brand="otherword")
    single.group_vars.update(
        monitor_agent_brand="otherword",
        monitor_agent_check_capacity=False,
        monitor_agent_validate_certs=True,
        monitor_agent_allow_http=False,
        monitor_agent_timeout=5,
        monitor_agent_retry_timeout=10,
        monitor_agent_concurrency=1,
    )
    run = single.run(MONITOR_BRAND="wrong", MONITOR_TIMEOUT="0.001")
    assert run.code == 0, run.output
    assert run.calls() == ["list_clients", "create_client"], "without a read of the plan"
    assert all("/otherword/" in request["path"] for request in run.requests)


ALL = ("web-1", "web-2", "db-1", "db-2")
# Each of these would be wrong on the controller: neither sshd nor that Python is there, and sudo drops the environment
# that has the token.
FOR_HOSTS = ["ansible_connection=ssh ansible_python_interpreter=/nowhere/python", "ansible_become=true"]


@pytest.mark.parametrize("variables", FOR_HOSTS)
def test_all_playbooks_work_with_variables_meant_for_hosts(controller: Controller, variables: str) -> None:
    given = ("-e", variables)
    # sudo even if the user is root already.
    sudo = {"ANSIBLE_BECOME_ALLOW_SAME_USER": "True"}
    converge(controller, "monitor.cloud.rollout", *given, changes=ALL, environment=sudo)
    assert configured(controller) == set(ALL)

    audit = controller.run("monitor.cloud.audit", *given, **sudo)
    assert audit.code == 0 and "Hosts: 4 (4 ok)." in audit.output, audit.output
    assert "The plan is not known" not in audit.output
    assert audit.calls() == ["list_clients", "get_plan", "list_subscriptions"]

    old = next(client for client in controller.service.clients() if client["label"] == "db-2")
    assert controller.service.call("POST", f"/monitor/clients/{old['id']}", {"label": "old-name"}).status_code == 200
    adopt = controller.run("monitor.cloud.adopt", *given, **sudo)
    assert (adopt.code, adopt.writes()) == (0, ["update_client db-2"]), adopt.output

    controller.service.seed(labels=["gone-1", "gone-2"])
    prune = controller.run("monitor.cloud.prune", "-e", "prune_pattern=gone-1", *given, **sudo)
    assert (prune.code, prune.writes()) == (0, ["delete_client gone-1"]), prune.output

    arguments = ("-e", '{"labels": ["gone-2"]}', "-e", "target=web-*")
    converge(controller, "monitor.cloud.retire", *arguments, *given, changes={"web-1", "web-2"}, environment=sudo)
    assert labels(controller) == ["db-1", "db-2"]
    assert configured(controller) == {"db-1", "db-2"}


def test_a_misspelled_variable_is_named_once_with_the_nearest_name(pair: Local) -> None:
    pair.group_vars["monitor_agent_config_pth"] = "/etc/agent.conf"
    pair.host_vars["web-2"]["monitor_agent_lable"] = "database"
    for playbook in ("rollout", "audit", "adopt", "retire -e target=all", "prune -e prune_pattern=x"):
        given = ("-e", "monitor_agent_token=x", "-e", "monitor_agent_html=audit.html")
        run = pair.run(*f"monitor.cloud.{playbook}".split(), *given)
        assert run.code == 0, run.output
        output = " ".join(run.output.split())
        for name, nearest in (
            ("monitor_agent_config_pth", "monitor_agent_config_path"),
            ("monitor_agent_lable", "monitor_agent_label"),
            ("monitor_agent_token", "monitor_agent_api_token"),
            ("monitor_agent_html", "monitor_agent_audit_html"),
        ):
            if playbook.startswith("prune") and name == "monitor_agent_lable":
                # It concerns no host.
                continue
            text = f"{name!r} is not a variable of the role monitor.cloud.monitor_agent; did you mean {nearest!r}?"
            assert text in output
            assert output.count(repr(name)) == 1, (playbook, name)


def test_variables_of_other_playbooks_and_ones_own_are_not_misspelled(pair: Local) -> None:
    given = ("-e", "retire_limit=50 labels=gone-1 audits=x stage=eu", "-e", "prune_pattern=gone-1 prune_limit=20")
    # The last ones are the user's own, for a template.
    pair.group_vars |= {
        "monitor_agent_audit_orphan_pattern": "x",
        "monitor_agent_timeout": 20,
        "monitor_agent_region": "eu",
        "targets": "x",
    }
    for playbook in ("rollout", "audit", "adopt", "prune"):
        run = pair.run(f"monitor.cloud.{playbook}", *(given if playbook in ("audit", "prune") else ()))
        assert run.code == 0 and "is not a variable" not in " ".join(run.output.split()), run.output
    run = pair.run(role_play(pair), "-e", "targets=x", "--check")
    assert run.code == 0, run.output
