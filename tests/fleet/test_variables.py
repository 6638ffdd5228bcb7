# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
from typing import Any

import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.monitor.cloud.tests.support.runs import PRUNE, ROLLOUT, WHOLE, Controller, Local
from ansible_collections.monitor.cloud.tests.support.steps import configured, labels, refuse, role_play
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

# Columns: the name without monitor_agent_, the invalid value, a part of the expected error.
INVALID: list[tuple[str, Any, str]] = [
    ("state", "absnt", "value of monitor_agent_state must be one of: present, absent, got: absnt"),
    ("repository", "deb", "argument 'monitor_agent_repository' is of type "),
    ("packages", {"curl": "8.5"}, "argument 'monitor_agent_packages' is of type "),
    ("timeout", "soon", "argument 'monitor_agent_timeout' is of type "),
    ("allow_http", "{{ 'may' ~ 'be' }}", "argument 'monitor_agent_allow_http' is of type "),
    ("config_mode", 640, "mode 640 is not valid: without quotes, YAML reads this mode as a number"),
    ("config_mode", 440, "which is 0670 in octal. Quote the mode"),
    ("config_path", "etc/agent.conf", "path 'etc/agent.conf' must be the absolute path of a file"),
    ("config_path", "{{ inventory_dir }}", "the path is neither a file nor a symbolic link"),
    ("config_path", "{{ inventory_dir }}/play.yml/agent.conf", "play.yml is not a directory"),
    ("config_path", "{{ nowhere_set }}", "nowhere_set"),
    ("config_group", "-R", "group '-R' must be a name or a number"),
    ("config_template", "nowhere.j2", "nowhere.j2"),
    ("config_template", "{{ inventory_dir }}/failing.j2", "nowhere_set"),
    ("config_template", "{{ inventory_dir }}/large.j2", "larger than 64 KiB"),
    ("settings", {"a": "b\nc"}, "setting 'a'"),
    ("settings", {False: 1}, "settings has the name False instead of a text"),
    ("service_state", "running", "value of monitor_agent_service_state must be one of: started, stopped, "),
    ("service_enabled", "maybe", "argument 'monitor_agent_service_enabled' is of type "),
    ("replace_key", "maybe", "argument 'monitor_agent_replace_key' is of type "),
    ("uninstall", "maybe", "argument 'monitor_agent_uninstall' is of type "),
    ("base_url", ["https://api.example.com"], "uses another account than the first host of its batch"),
    ("api_token", "2" * 64, "uses another account than the first host of its batch"),
    # If a variable cannot be rendered, the role does not use the environment variable instead.
    *((name, "{{ nowhere_set }}", "nowhere_set") for name in ("base_url", "api_token", "brand", "label")),
    ("label", "ab", "The label 'ab' has 2 characters"),
    ("label", 1234, "The label 1234 of host"),
]
_OF_FIRST_HOST = ("timeout", "allow_http")


def test_a_host_with_an_invalid_variable_fails_alone_and_gets_no_client(single: Local) -> None:
    valid = list(single.host_vars)
    hosts = [f"bad-{number:02}" for number in range(len(INVALID))]
    # The first host of the run also has an invalid variable.
    single.host_vars.clear()
    single.add(*hosts, *valid)
    for host, (name, value, _reason) in zip(hosts, INVALID, strict=True):
        single.host_vars[host][f"monitor_agent_{name}"] = value
    (single.directory / "failing.j2").write_text("{{ nowhere_set }}\n", encoding="utf-8")
    (single.directory / "large.j2").write_text("{{ client.api_key * 9000 }}\n", encoding="utf-8")
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

    # In a packaged playbook, core does not check the variables. The message names the variable of the role.
    run = single.run()
    failures = run.failures()
    # Only the options of the first host of a run connect to the service.
    checked = {host: name for host, (name, *_case) in zip(hosts, INVALID, strict=True) if name not in _OF_FIRST_HOST}
    assert failures.keys() == checked.keys()
    unnamed = {host for host, name in checked.items() if f"monitor_agent_{name}" not in failures[host]}
    assert (unnamed, max(map(len, failures.values())) < 600) == (set(), True), failures


# Columns: the playbook, an invalid variable that is the same for all hosts, and its value.
INVALID_FOR_RUN = [
    ("rollout", "monitor_agent_timeout", "soon"),
    ("rollout", "monitor_agent_retry_timeout", "-1"),
    ("rollout", "monitor_agent_allow_http", "maybe"),
    ("rollout", "monitor_agent_concurrency", "many"),
    ("rollout", "monitor_agent_check_capacity", "maybe"),
    ("rollout", "monitor_agent_label", "{{ ansible_facts.fqdn }}"),
    ("audit", "monitor_agent_audit_orphan_pattern", "("),
    ("audit", "monitor_agent_audit_fail_on_drift", "maybe"),
]


def test_an_invalid_variable_of_a_run_is_named(single: Local) -> None:
    for playbook, variable, value in INVALID_FOR_RUN:
        run = single.run(f"monitor.cloud.{playbook}", "-e", json.dumps({variable: value}))
        [message] = run.failures().values()
        assert variable in message and len(message) < 600 and run.writes() == [], message
        assert "ansible_facts" not in value or "-e monitor_agent_gather_facts=true" in message, message


def test_a_host_of_unknown_state_does_not_end_an_audit(pair: Local) -> None:
    pair.host_vars["web-2"]["monitor_agent_state"] = "{{ nowhere_set }}"
    run = pair.run("monitor.cloud.audit")
    assert "Hosts: 2 (2 not_registered)." in run.output, run.output


# These variables must have a value in a test on one machine.
_NEEDED = ("monitor_agent_config_path", "monitor_agent_service")


def test_an_omitted_variable_has_its_default(pair: Local) -> None:
    names = yaml.safe_load((CHECKOUT / "roles/monitor_agent/defaults/main.yml").read_text(encoding="utf-8"))
    omitted = {name: "{{ nowhere_set | default(omit) }}" for name in names if name not in _NEEDED}
    pair.group_vars |= omitted
    pair.group_vars["monitor_agent_settings"] = {"kept": 1, "omitted": "{{ nowhere_set | default(omit) }}"}
    run = pair.succeed()
    assert "[WARNING]" not in run.output and labels(pair) == ["web-1", "web-2"]
    assert [(pair.read(host) or "").splitlines()[2:] for host in pair.host_vars] == [["kept = 1"]] * 2
    # The label of web-2 is known, although web-2 is not in the run.
    pair.succeed("monitor.cloud.adopt", "--limit", "web-1")
    audit = pair.succeed("monitor.cloud.audit", "-e", "monitor_agent_audit_fail_on_drift=true")
    assert "Hosts: 2 (2 ok)." in audit.output, audit.output
    message = refuse(pair, "monitor.cloud.retire", "-e", "labels=web-2")
    assert message.startswith("Hosts of the inventory have these labels: web-2."), message
    pair.succeed("monitor.cloud.retire", "--limit", "web-2")
    assert labels(pair) == ["web-1"]


def assert_nothing_is_deleted(controller: Local, *options: str) -> None:
    """Assert that retire and prune keep the client web-two, because web-two can be the label of web-2."""
    controller.service.seed(labels=["web-two"])
    for playbook, given in (("retire", "labels=web-two"), ("prune", "prune_pattern=web.* prune_confirm=true")):
        run = controller.run(f"monitor.cloud.{playbook}", *options, "-e", given, **WHOLE)
        assert "monitor_agent_label of host web-2" in str(run.failures()) and run.writes() == [], run.output


def test_no_client_is_deleted_if_the_label_of_a_host_cannot_be_rendered(pair: Local) -> None:
    # Before ansible-core 2.19, hostvars return this template unchanged.
    pair.host_vars["web-2"]["monitor_agent_label"] = "{%if dc.on%}web-two{%endif%}"
    assert_nothing_is_deleted(pair)


_UNKNOWN = "The labels of these hosts are unknown: web-2. monitor_agent_label of host web-2:"


def test_a_vault_of_other_hosts(pair: Local) -> None:
    """Each group has a vault. The run has only the password of the group dev, so the label of web-2 is unknown."""
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
    # The label of web-2 is unknown and can be web-9, so the audit must not propose prune.
    assert _UNKNOWN in text and "cloud.prune" not in text, run.output
    run = pair.run("monitor.cloud.adopt", *options, "--limit", "dev")
    assert run.writes() == [] and "vault" in str(run.failures()) and _UNKNOWN in str(run.failures()), run.output


def test_no_client_is_deleted_if_the_label_of_a_host_is_in_a_vault(pair: Local) -> None:
    encrypted = VaultLib([("default", VaultSecret(b"secret"))]).encrypt("web-two").decode()
    (pair.directory / "host_vars").mkdir()
    lines = "\n  ".join(["monitor_agent_label: !vault |", *encrypted.splitlines()])
    (pair.directory / "host_vars" / "web-2.yml").write_text(lines, encoding="utf-8")
    assert_nothing_is_deleted(pair)


# On the controller these variables would fail: no sshd, no Python at this path, and sudo removes the token.
FOR_HOSTS = ("-e", "ansible_connection=ssh ansible_python_interpreter=/nowhere/python ansible_become=true")


def test_all_playbooks_work_with_variables_meant_for_hosts(controller: Controller) -> None:
    environment = {"ANSIBLE_BECOME_ALLOW_SAME_USER": "True", **WHOLE}
    controller.succeed(ROLLOUT, *FOR_HOSTS, **environment)
    assert configured(controller) == {"web-1", "web-2", "db-1", "db-2"}

    audit = controller.succeed("monitor.cloud.audit", *FOR_HOSTS, **environment)
    assert "Hosts: 4 (4 ok)." in audit.output, audit.output
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
