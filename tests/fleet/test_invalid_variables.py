# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Invalid variables of the role are named before anything is written. The hosts are directories."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.monitor.cloud.tests.support.runs import Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import refuse, role_play
from ansible_collections.monitor.cloud.tests.support.tasks import labels

_DIGITS = "must be octal digits such as '0600'."
# Name without its prefix, value, the end of the message.
INVALID: list[tuple[str, Any, str]] = [
    ("state", "absnt", "write present or absent."),
    ("packages", {"curl": "8.5"}, "write a list of strings."),
    ("packages", [{"name": "curl"}], "write a list of strings."),
    (
        "config_mode",
        640,
        "mode 640 is an integer, which means 1200. Write octal digits in quotes: mode: '0640'.",
    ),
    ("config_mode", "rw-------", f"mode 'rw-------' {_DIGITS}"),
    ("config_path", "etc/agent.conf", "path 'etc/agent.conf' must be the absolute path of a file."),
    ("config_path", "/etc/monitor/", "path '/etc/monitor/' must be the absolute path of a file."),
    ("config_owner", ["root"], "write a string."),
    ("config_owner", "{{ 'web master' }}", "owner 'web master' must be a name or a number."),
    ("config_group", "-R", "group '-R' must be a name or a number."),
    ("service", {"name": "agent"}, "write a string."),
    ("base_url", ["https://api.example.com"], "write a string."),
    ("timeout", "soon", "write a number."),
    ("retry_timeout", [300], "write a number."),
    ("concurrency", "2.5", "write a whole number."),
    ("validate_certs", "perhaps", "write true or false."),
    ("allow_http", "{{ 'may' ~ 'be' }}", "write true or false."),
    ("audit_fail_on_drift", "", "write true or false."),
    ("audit_service", "monitor-agent", "write true or false."),
    (
        "audit_orphan_pattern",
        "web-(",
        "orphan_pattern 'web-(' is not a valid regular expression: missing ), unterminated subpattern at position 4.",
    ),
]
FIRST = {f"monitor_agent_{name}": (value, end) for name, value, end in reversed(INVALID)}
LAST = {f"monitor_agent_{name}": (value, end) for name, value, end in INVALID}
PLAYBOOKS = ("rollout", "retire", "audit", "adopt")


def of_all(playbook: str) -> tuple[str, str, str]:
    """The command of a playbook, for all hosts."""
    return f"monitor.cloud.{playbook}", "-e", "target=all"


@pytest.mark.parametrize(
    ("playbook", "values"),
    [*((playbook, FIRST) for playbook in PLAYBOOKS), ("rollout", LAST)],
    ids=[*PLAYBOOKS, "rollout, other values"],
)
def test_all_are_named_at_once(monitored: Local, playbook: str, values: dict[str, tuple[Any, str]]) -> None:
    given = {variable: value for variable, (value, _end) in values.items()}
    if playbook == "retire":
        # It sets the state itself.
        del given["monitor_agent_state"]
    message = refuse(monitored, *of_all(playbook), "-e", json.dumps(given))
    missing = [variable for variable in given if f"{variable} is invalid: {values[variable][1]} " not in message]
    assert (missing, message.count("is invalid")) == ([], len(given)), message
    assert message.endswith("Nothing was done.")


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_a_value_of_one_host_is_named_with_the_host(monitored: Local, playbook: str) -> None:
    monitored.host_vars["web-1"]["monitor_agent_validate_certs"] = "perhaps"
    monitored.host_vars["web-2"]["monitor_agent_config_mode"] = 640
    monitored.host_vars["web-3"]["monitor_agent_config_mode"] = 640
    monitored.host_vars["web-3"]["monitor_agent_config_path"] = "{{ 'etc' }}/{{ inventory_hostname }}.conf"
    before = {host: monitored.read(host) for host in ("web-1", "web-2")}, monitored.service.clients()
    run = monitored.run(*of_all(playbook))
    assert (run.code, run.calls()) == (2, []), run.output
    assert ({host: monitored.read(host) for host in ("web-1", "web-2")}, monitored.service.clients()) == before
    (message,) = run.failures().values()
    for part in (
        "monitor_agent_validate_certs of 'web-1' is invalid: write true or false.",
        "monitor_agent_config_mode of 'web-2', 'web-3' is invalid: mode 640 is an integer",
        "monitor_agent_config_path of 'web-3' is invalid: path 'etc/web-3.conf' must be",
    ):
        assert part in message


# What web-3 has instead of the first site's token, by itself or by a template of other variables.
OTHER_ACCOUNTS: dict[str, dict[str, str]] = {
    "rollout": {"site_token": "https://other.example.com"},
    "retire -e target=all": {"monitor_agent_base_url": "https://other.example.com"},
    "audit": {"site": "two"},
    "adopt": {"site": ""},
    # A client of no host is not deleted from one of several accounts.
    "retire -e labels=gone-1": {"site_token": "other"},
    "prune -e prune_pattern=gone.*": {"site": "two"},
}


@pytest.mark.parametrize("command", OTHER_ACCOUNTS)
def test_hosts_of_different_accounts_are_refused(monitored: Local, command: str) -> None:
    monitored.service.seed(labels=["gone-1"])
    token = monitored.service.tokens["read_write"]
    monitored.group_vars.update(
        monitor_agent_api_token="{{ site_token }}",
        site_token="{{ sites[site].token }}",
        sites={"one": {"token": token}, "two": {"token": "2" * 64}},
        site="one",
    )
    other, playbook = OTHER_ACCOUNTS[command], f"monitor.cloud.{command}".split()
    monitored.host_vars["web-3"] |= other
    name = "base_url" if "monitor_agent_base_url" in other else "api_token"
    message = refuse(monitored, *playbook)
    assert message.startswith(f"monitor_agent_{name} differs between the hosts of this play")
    assert monitored.run("monitor.cloud.rollout", "--limit", "web-1,web-2").code == 0
    same = {"site_token": token, "monitor_agent_base_url": monitored.service.base_url, "site": "one"}
    given = {variable: same[variable] for variable in other}
    assert monitored.run(*playbook, "-e", json.dumps(given)).code == 0


@pytest.mark.parametrize(
    "template",
    [
        "lookup('vars', 'token_of_site')",
        "query('vars', 'token_of_site')[0]",
        "lookup('vars', 'token_of_' ~ 'site')",
        "vars.token_of_site",
        "vars['token_of_site']",
        "site.tokens[0]",
    ],
)
def test_a_template_may_name_a_variable_as_text_or_in_another_one(three: Local, template: str) -> None:
    three.group_vars.update(
        monitor_agent_api_token=f"{{{{ {template} }}}}",
        token_of_site=three.service.tokens["read_write"],
        site={"tokens": ["{{ token_of_site }}"]},
    )
    three.host_vars["web-3"]["token_of_site"] = "2" * 64
    message = refuse(three, "monitor.cloud.rollout")
    assert message.startswith("monitor_agent_api_token differs between the hosts of this play")


@pytest.mark.parametrize(
    ("keyword", "name"),
    [
        ("environment: {MONITOR_API_TOKEN: '{{ token_of_site }}'}", "MONITOR_API_TOKEN"),
        ("environment: '{{ given }}'", "MONITOR_API_TOKEN"),
        ("module_defaults: {group/monitor.cloud.api: {api_token: '{{ token_of_site }}'}}", "api_token"),
        ("module_defaults: {monitor.cloud.monitor_clients: '{{ given }}'}", "api_token"),
    ],
)
def test_keywords_that_give_hosts_different_accounts_are_refused(three: Local, keyword: str, name: str) -> None:
    token = three.service.tokens["read_write"]
    three.group_vars.update(token_of_site=token, given={name: "{{ token_of_site }}"})
    three.host_vars["web-3"]["token_of_site"] = "2" * 64
    play = role_play(three, play=keyword)
    assert refuse(three, play).startswith(f"{name} differs between the hosts of this play")
    # The variable of the role takes precedence.
    assert three.run(play, "-e", f"monitor_agent_api_token={token}").code == 0
    assert three.run(play, "--limit", "web-1,web-2").code == 0


def test_the_inventory_takes_precedence_over_defaults_of_a_role(three: Local) -> None:
    role = three.directory / "roles" / "ours"
    for part, text in {
        "defaults": f"token_of_site: {three.service.tokens['read_write']}",
        "tasks": "- ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}",
    }.items():
        (role / part).mkdir(parents=True)
        (role / part / "main.yml").write_text(f"{text}\n", encoding="utf-8")
    three.group_vars["monitor_agent_api_token"] = "{{ token_of_site }}"
    play = three.play("- hosts: all\n  gather_facts: false\n  roles: [ours]\n")
    assert three.run(play).code == 0
    three.host_vars["web-3"]["token_of_site"] = "2" * 64
    assert refuse(three, play).startswith("monitor_agent_api_token differs between the hosts of this play")
    assert three.run(play, "-e", f"token_of_site={three.service.tokens['read_write']}").code == 0


def test_a_template_that_depends_on_hosts_may_choose_one_account(monitored: Local) -> None:
    parts = ("of_play", "of_file", "of_host")
    template = "".join(f"{{{{ {part}[0] }}}}" for part in parts)
    monitored.group_vars.update(monitor_agent_base_url=template + "{{ url }}", url=monitored.service.base_url)
    for number, host in enumerate(monitored.host_vars):
        # What comes from the play takes precedence; the first element is the same for all hosts.
        monitored.host_vars[host] |= {"of_play": [str(number)], "of_file": [str(number)], "of_host": ["", number]}
    (monitored.directory / "file.yml").write_text("of_file: ['']\n", encoding="utf-8")
    play = "vars: {of_play: ['']}\n  vars_files: [file.yml]"
    run = monitored.run(role_play(monitored, play=play), MONITOR_BASE_URL="")
    assert run.code == 0, run.output


def test_options_of_the_connection_are_checked_before_a_removal(monitored: Local) -> None:
    message = refuse(monitored, *of_all("retire"), "-e", "monitor_agent_timeout=0")
    assert message.startswith("timeout must be more than 0 seconds")
    assert "base_url" in refuse(monitored, *of_all("retire"), environment={"MONITOR_BASE_URL": ""})


@pytest.mark.parametrize(
    ("playbook", "name"),
    list(zip((*PLAYBOOKS, "by itself"), ("base_url", "api_token", "brand", "base_url", "api_token"), strict=True)),
)
def test_a_variable_of_the_account_that_fails_is_not_replaced_by_the_environment(
    three: Local, playbook: str, name: str
) -> None:
    three.group_vars[f"monitor_agent_{name}"] = "{{ mine_only }}"
    alone = role_play(three, role="when: inventory_hostname == 'web-2'")
    run = three.run(alone) if playbook == "by itself" else three.run(*of_all(playbook))
    [message] = run.failures().values()
    assert message.startswith(f"monitor_agent_{name} is set, but its template fails:"), message
    assert "'mine_only' is undefined" in message and run.calls() == []


def test_a_variable_of_the_account_may_be_omitted(three: Local) -> None:
    names = ("base_url", "api_token", "brand")
    three.group_vars.update({f"monitor_agent_{name}": "{{ mine_only | default(omit) }}" for name in names})
    run = three.run()
    assert run.code == 0, run.output


def test_a_module_outside_the_role_tells_that_the_roles_variable_is_not_its_own(three: Local) -> None:
    play = three.tasks("- monitor.cloud.monitor_plan_info:", hosts="localhost")
    for variables, end in (
        (
            ["-e", "monitor_agent_api_token=x"],
            'its playbooks read it: write api_token: "{{ monitor_agent_api_token }}".',
        ),
        (["-e", '{"monitor_agent_api_token": "{{ 1 / 0 }}"}'], "division by zero."),
        (["-e", "{\"monitor_agent_api_token\": \"{{ lookup('env', 'UNSET') }}\"}"], "is set, but it is empty."),
        ([], "MONITOR_API_TOKEN."),
    ):
        run = three.run(play, *variables, MONITOR_API_TOKEN="")
        [message] = run.failures().values()
        assert message.startswith("api_token is required") and message.endswith(end), message


def test_a_host_that_is_registered_alone_is_refused_alone(three: Local) -> None:
    three.host_vars["web-2"]["monitor_agent_packages"] = {"curl": "8.5"}
    run = three.run(role_play(three, role="when: inventory_hostname != 'web-1'"))
    assert run.failures() == {
        "web-2": "monitor_agent_packages is invalid: write a list of strings. Nothing was done."
    }, run.output
    assert labels(three.service) == ["web-3"]


def vaulted(controller: Local, **values: str) -> Path:
    """Give all hosts these variables in vaulted form, and return the file with the password."""
    password = controller.directory / "password"
    password.write_text("secret", encoding="utf-8")
    vault = VaultLib([("default", VaultSecret(b"secret"))])
    directory = controller.directory / "group_vars"
    directory.mkdir(exist_ok=True)
    lines = []
    for name, value in values.items():
        lines.append(f"{name}: !vault |")
        lines += [f"  {line}" for line in vault.encrypt(value.encode()).decode().splitlines()]
    (directory / "all.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return password


def test_a_vaulted_value_is_checked_and_not_shown(three: Local) -> None:
    password = vaulted(three, monitor_agent_timeout="hunter2")
    run = three.run("monitor.cloud.rollout", "--vault-password-file", str(password))
    assert set(run.failures().values()) == {"monitor_agent_timeout is invalid: write a number. Nothing was done."}
    assert run.calls() == [] and "hunter2" not in run.output


def test_valid_values_of_all_kinds_pass(three: Local) -> None:
    password = vaulted(three, monitor_agent_timeout="20", monitor_agent_api_token=three.service.tokens["read_write"])
    three.group_vars |= {
        "monitor_agent_state": "{{ 'pre' ~ 'sent' }}",
        "monitor_agent_config_mode": 0o640,
        "monitor_agent_config_owner": os.geteuid(),
        "monitor_agent_config_group": os.getegid(),
        "monitor_agent_packages": None,
        "monitor_agent_retry_timeout": "20.5",
        "monitor_agent_concurrency": "{{ 2 * 2 }}",
        "monitor_agent_check_capacity": "no",
        "monitor_agent_validate_certs": "",
        "monitor_agent_service": False,
        # Of another playbook's run.
        "monitor_agent_audit_html": "{{ undefined_here }}/report.html",
    }
    three.host_vars["web-2"] |= {"monitor_agent_config_mode": "0o600", "monitor_agent_audit_service": "yes"}
    # What only the host has.
    path = three.host_vars["web-3"]["monitor_agent_config_path"]
    three.host_vars["web-3"] |= {"path_here": path, "monitor_agent_config_path": "{{ path_here }}"}
    options = ["--vault-password-file", str(password)]
    runs: list[Run] = [
        three.run("monitor.cloud.rollout", *options),
        three.run("monitor.cloud.audit", *options, "-e", "monitor_agent_audit_html="),
        three.run("monitor.cloud.retire", *options, "-e", "target=all"),
    ]
    assert [run.code for run in runs] == [0, 0, 0], runs[-1].output
    assert runs[0].changed_hosts() == {"web-1", "web-2", "web-3"}
    assert labels(three.service) == []


def test_every_documented_option_has_a_type_that_is_known() -> None:
    text = (Path(__file__).parents[2] / "roles/monitor_agent/meta/argument_specs.yml").read_text(encoding="utf-8")
    kinds = {
        option["type"]
        for spec in yaml.safe_load(text)["argument_specs"].values()
        for option in spec["options"].values()
    }
    assert kinds == {"bool", "float", "int", "list", "path", "str"}
