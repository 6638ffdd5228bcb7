# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Invalid variables of the role are named before anything is written; sources of variables and their precedence."""

import textwrap
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.monitor.cloud.tests.support.runs import PRUNE, ROLLOUT, WHOLE, Controller, Local
from ansible_collections.monitor.cloud.tests.support.steps import (
    configured,
    labels,
    role_play,
)

# Name without its prefix, value, a part of the reason: that of core, or of
# tests/unit/plugins/plugin_utils/_agent/test_options.py.
INVALID: list[tuple[str, Any, str]] = [
    ("state", "absnt", "value of monitor_agent_state must be one of: present, absent, got: absnt"),
    ("packages", {"curl": "8.5"}, "argument 'monitor_agent_packages' is of type "),
    ("timeout", "soon", "argument 'monitor_agent_timeout' is of type "),
    ("allow_http", "{{ 'may' ~ 'be' }}", "argument 'monitor_agent_allow_http' is of type "),
    ("config_mode", 640, "mode 640 is not valid. Use a quoted octal string"),
    ("config_path", "etc/agent.conf", "path 'etc/agent.conf' must be the absolute path of a file"),
    ("config_path", "{{ playbook_dir }}", "the path is neither a file nor a symbolic link"),
    ("config_path", "{{ playbook_dir }}/play.yml/agent.conf", "play.yml is not a directory"),
    ("config_path", "{{ nowhere_set }}", "nowhere_set"),
    ("config_group", "-R", "group '-R' must be a name or a number"),
    ("config_template", "nowhere.j2", "nowhere.j2"),
    ("config_template", "{{ playbook_dir }}/failing.j2", "nowhere_set"),
    ("config_template", "{{ playbook_dir }}/large.j2", "larger than 64 KiB"),
    ("settings", {"a": "b\nc"}, "setting 'a'"),
    ("base_url", ["https://api.example.com"], "uses another account than the first host of its batch"),
    ("api_token", "2" * 64, "uses another account than the first host of its batch"),
    ("brand", "{{ nowhere_set }}", "nowhere_set"),
    ("label", "{{ nowhere_set }}", "nowhere_set"),
    ("label", "ab", "The label 'ab' has 2 characters"),
    ("label", 1234, "The label 1234 of host"),
]


def test_a_host_with_an_invalid_variable_fails_alone_and_gets_no_client(single: Local) -> None:
    """The first host included. Check mode predicts it."""
    valid, hosts = list(single.host_vars), [f"bad-{number:02}" for number in range(len(INVALID))]
    single.host_vars.clear()
    single.add(*hosts, *valid)
    for host, (name, value, _reason) in zip(hosts, INVALID, strict=True):
        single.host_vars[host][f"monitor_agent_{name}"] = value
    templates = {"failing": "{{ nowhere_set }}\n"}
    templates["large"] = "{{ client.api_key * 9000 }}\n"
    for template, text in templates.items():
        (single.directory / f"{template}.j2").write_text(text, encoding="utf-8")
    for options, created in ((["--check"], []), ([], valid)):
        run = single.run(role_play(single), *options)
        failures = run.failures()
        wrong = [
            (case, failures.get(host))
            for host, case in zip(hosts, INVALID, strict=True)
            if case[2] not in failures.get(host, "")
        ]
        assert (wrong, sorted(failures)) == ([], hosts)
        assert labels(single) == created
    assert configured(single) == set(valid)


def test_a_variable_of_the_account_that_fails_is_not_replaced_by_the_environment(three: Local) -> None:
    for values, name in zip(three.host_vars.values(), ("base_url", "api_token", "brand"), strict=True):
        values[f"monitor_agent_{name}"] = "{{ mine_only }}"
    run = three.run(role_play(three))
    assert run.failures().keys() == three.host_vars.keys()
    assert all("mine_only" in message for message in run.failures().values()) and run.calls() == []


def vaulted(controller: Local, **values: str) -> Path:
    """Give all hosts these variables in vaulted form, and return the file with the password."""
    password = controller.directory / "password"
    password.write_text("secret", encoding="utf-8")
    vault = VaultLib([("default", VaultSecret(b"secret"))])
    (controller.directory / "group_vars").mkdir()
    texts = {name: textwrap.indent(vault.encrypt(value).decode(), "  ") for name, value in values.items()}
    lines = "".join(f"{name}: !vault |\n{text}\n" for name, text in texts.items())
    (controller.directory / "group_vars" / "all.yml").write_text(lines, encoding="utf-8")
    return password


def test_a_vaulted_value_is_checked_and_not_shown(three: Local) -> None:
    password = vaulted(three, monitor_agent_timeout="hunter2")
    run = three.run("monitor.cloud.rollout", "--vault-password-file", str(password))
    assert set(run.failures()) == {"web-1", "web-2", "web-3"}
    assert all("argument 'monitor_agent_timeout' is of type" in reason for reason in run.failures().values())
    assert run.calls() == [] and "hunter2" not in run.output


@pytest.mark.parametrize("label", ["vault", "{%if dc.on%}web-two{%endif%}"])
def test_no_client_is_deleted_that_may_be_that_of_a_host_whose_label_is_unknown(pair: Local, label: str) -> None:
    """Before ansible-core 2.19, hostvars return a template that fails unchanged."""
    if label == "vault":
        vaulted(pair, monitor_agent_label="web-two")
        pair.host_vars["web-1"]["monitor_agent_label"] = "web-one"
    else:
        pair.host_vars["web-2"]["monitor_agent_label"] = label
    pair.service.seed(labels=["web-two"])
    for playbook, given in (("retire", "labels=web-two"), ("prune", "prune_pattern=web.* prune_confirm=true")):
        run = pair.run(f"monitor.cloud.{playbook}", "-e", given, **WHOLE)
        assert "monitor_agent_label of host web-2" in str(run.failures()) and run.writes() == [], run.output


def test_a_host_of_unknown_state_does_not_end_an_audit(pair: Local) -> None:
    pair.host_vars["web-2"]["monitor_agent_state"] = "{{ nowhere_set }}"
    run = pair.run("monitor.cloud.audit")
    assert "Hosts: 2 (2 not_registered)." in run.output, run.output


_UNKNOWN = "Labels are unknown, because variables of these hosts cannot be read: web-2."


def test_a_vault_of_other_hosts(pair: Local) -> None:
    """Web-1 is in the group dev, web-2 in prod, with a vault of its own each. The run has the password of dev."""
    pair.service.seed(labels=["web-9"])
    (pair.directory / "group_vars").mkdir()
    for name, text in {"dev": "of_dev: dev-only\n", "prod": "monitor_agent_label: web-two\n"}.items():
        vault = VaultLib([(name, VaultSecret(name.encode()))])
        (pair.directory / "group_vars" / f"{name}.yml").write_bytes(vault.encrypt(text, vault_id=name))
    (pair.directory / "password").write_text("dev", encoding="utf-8")
    (pair.directory / "groups").write_text("[dev]\nweb-1\n[prod]\nweb-2\n", encoding="utf-8")
    options = ["-i", "groups", "--vault-id", "dev@password"]
    assert pair.succeed(ROLLOUT, *options, "--limit", "dev").changed_hosts() == {"web-1"}
    run = pair.succeed("monitor.cloud.audit", *options, "--limit", "dev")
    text = " ".join(run.output.split())
    assert "Hosts: 1 (1 ok). Clients without a host: 1 (web-9)." in text, run.output
    # The client without a host can be that of web-2.
    assert _UNKNOWN in text and "cloud.prune" not in text, run.output
    # This needs all labels.
    run = pair.run("monitor.cloud.adopt", *options, "--limit", "dev")
    assert run.writes() == [] and "vault" in str(run.failures()) and _UNKNOWN in str(run.failures()), run.output


ALL = ("web-1", "web-2", "db-1", "db-2")
# Each of these would be wrong on the controller: neither sshd nor that Python is there, and sudo drops the environment
# that has the token.
FOR_HOSTS = ("-e", "ansible_connection=ssh ansible_python_interpreter=/nowhere/python ansible_become=true")


def test_all_playbooks_work_with_variables_meant_for_hosts(controller: Controller) -> None:
    # sudo even if the user is root already.
    environment = {"ANSIBLE_BECOME_ALLOW_SAME_USER": "True", **WHOLE}
    controller.succeed("monitor.cloud.rollout", *FOR_HOSTS, **environment)
    assert configured(controller) == set(ALL)

    audit = controller.succeed("monitor.cloud.audit", *FOR_HOSTS, **environment)
    assert "Hosts: 4 (4 ok)." in audit.output, audit.output
    assert "The plan is not known" not in audit.output
    assert audit.calls() == ["list_clients", "get_plan", "list_subscriptions"]

    old = next(client for client in controller.service.clients() if client["label"] == "db-2")
    assert controller.service.call("POST", f"/monitor/clients/{old['id']}", {"label": "old-name"}).status_code == 200
    adopt = controller.succeed("monitor.cloud.adopt", *FOR_HOSTS, **environment)
    assert adopt.writes() == ["update_client db-2"], adopt.output

    controller.service.seed(labels=["gone-1", "gone-2"])
    prune = controller.succeed(PRUNE, "-e", "prune_pattern=gone-1 prune_confirm=true", *FOR_HOSTS, **environment)
    assert prune.writes() == ["delete_client gone-1"], prune.output

    arguments = ("-e", '{"labels": ["gone-2"]}', "--limit", "web-*")
    retire = controller.succeed("monitor.cloud.retire", *arguments, *FOR_HOSTS, **environment)
    assert retire.changed_hosts() == {"web-1", "web-2"}
    assert labels(controller) == sorted(configured(controller)) == ["db-1", "db-2"]
