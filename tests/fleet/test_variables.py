# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.monitor.cloud.tests.support.runs import PRUNE, ROLLOUT, WHOLE, Controller, Local
from ansible_collections.monitor.cloud.tests.support.steps import configured, labels, role_play

# Columns: the name without monitor_agent_, the invalid value, a part of the expected error.
INVALID: list[tuple[str, Any, str]] = [
    ("state", "absnt", "value of monitor_agent_state must be one of: present, absent, got: absnt"),
    ("packages", {"curl": "8.5"}, "argument 'monitor_agent_packages' is of type "),
    ("timeout", "soon", "argument 'monitor_agent_timeout' is of type "),
    ("allow_http", "{{ 'may' ~ 'be' }}", "argument 'monitor_agent_allow_http' is of type "),
    ("config_mode", 640, "mode 640 is not valid: without quotes, YAML reads this mode as a number"),
    ("config_mode", 440, "which is 0670 in octal. Quote the mode"),
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
    # If a variable cannot be rendered, the role does not use the environment variable instead.
    *((name, "{{ nowhere_set }}", "nowhere_set") for name in ("base_url", "api_token", "brand", "label")),
    ("label", "ab", "The label 'ab' has 2 characters"),
    ("label", 1234, "The label 1234 of host"),
]


def test_a_host_with_an_invalid_variable_fails_alone_and_gets_no_client(single: Local) -> None:
    valid, hosts = list(single.host_vars), [f"bad-{number:02}" for number in range(len(INVALID))]
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


def test_a_host_of_unknown_state_does_not_end_an_audit(pair: Local) -> None:
    pair.host_vars["web-2"]["monitor_agent_state"] = "{{ nowhere_set }}"
    run = pair.run("monitor.cloud.audit")
    assert "Hosts: 2 (2 not_registered)." in run.output, run.output


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
