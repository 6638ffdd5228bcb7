# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Invalid variables of the role are named before anything is written; sources of variables and their precedence."""

import json
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import facts_of
from ansible_collections.monitor.cloud.tests.support.runs import PRUNE, ROLLOUT, WHOLE, Controller, Local
from ansible_collections.monitor.cloud.tests.support.servers import Open, forbidden
from ansible_collections.monitor.cloud.tests.support.steps import (
    configured,
    labels,
    own_play,
    refuse,
    role_play,
)

# Name without its prefix, value, a part of the reason: that of core, or of
# tests/unit/plugins/plugin_utils/_agent/test_options.py.
INVALID: list[tuple[str, Any, str]] = [
    ("state", "absnt", "value of monitor_agent_state must be one of: present, absent, got: absnt"),
    ("state", "{{ ['present'] }}", "value of monitor_agent_state must be one of"),
    ("packages", {"curl": "8.5"}, "argument 'monitor_agent_packages' is of type "),
    ("packages", None, "argument 'monitor_agent_packages' is of type "),
    ("timeout", "soon", "argument 'monitor_agent_timeout' is of type "),
    ("allow_http", "{{ 'may' ~ 'be' }}", "argument 'monitor_agent_allow_http' is of type "),
    ("config_mode", 640, "mode 640 must be octal digits in quotes, such as '0640', with"),
    ("config_mode", "rw-------", "mode 'rw-------' must be octal digits"),
    ("config_path", "etc/agent.conf", "path 'etc/agent.conf' must be the absolute path of a file."),
    ("config_path", "{{ playbook_dir }}", "is a directory. Remove it, or choose another path."),
    ("config_path", "{{ playbook_dir }}/play.yml/agent.conf", "one of its parent directories is a file."),
    ("config_path", "{{ nowhere_set }}", "nowhere_set"),
    ("config_owner", "{{ 'web master' }}", "owner 'web master' must be a name or a number."),
    ("config_group", "-R", "group '-R' must be a name or a number."),
    ("config_template", "nowhere.j2", "nowhere.j2"),
    ("config_template", "{{ playbook_dir }}/failing.j2", "nowhere_set"),
    ("base_url", ["https://api.example.com"], "uses another account than the first host of its batch"),
    ("brand", "{{ nowhere_set }}", "nowhere_set"),
]


def test_a_host_with_an_invalid_variable_fails_alone_and_gets_no_client(single: Local) -> None:
    """The first host included. Check mode predicts it."""
    valid, hosts = list(single.host_vars), [f"bad-{number:02}" for number in range(len(INVALID))]
    single.host_vars.clear()
    single.add(*hosts, *valid)
    for host, (name, value, _reason) in zip(hosts, INVALID, strict=True):
        single.host_vars[host][f"monitor_agent_{name}"] = value
    (single.directory / "failing.j2").write_text("{{ nowhere_set }}\n", encoding="utf-8")
    for options, created in ((["--check"], []), ([], valid), ([], valid)):
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


# Of a variable of the account that differs: keywords of the play or role, values of all hosts, and of the third.
OTHER = "2" * 64
_ROLE = "ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}"
_TOKEN, _URL, _NAMED = "monitor_agent_api_token", "monitor_agent_base_url", "{{ token_of[site] }}"
_TWO = {"site": "two"}
ACCOUNTS: dict[str, tuple[str, str, dict[str, str], dict[str, str]]] = {
    "token": ("", "", {}, {_TOKEN: OTHER}),
    "token, by a file of variables": ("vars_files: ['{{ site }}.yml']", "", {}, _TWO),
    "token, of the role": ("", f"vars: {{{_TOKEN}: '{_NAMED}'}}", {}, _TWO),
    "token, without one of the play": ("", "", {}, {_TOKEN: OTHER, _URL: "{{ nowhere | default(omit) }}"}),
    "address": ("", "", {}, {_URL: "https://other.example.com/v4"}),
    "brand": ("", "", {}, {"monitor_agent_brand": "otherword"}),
    "environment of the play": (f"environment: {{MONITOR_API_TOKEN: '{_NAMED}'}}", "", {}, _TWO),
    "environment of the role": ("", f"environment: {{MONITOR_API_TOKEN: '{_NAMED}'}}", {_TOKEN: "{{ '' }}"}, _TWO),
}


def test_a_host_of_another_account_fails_alone_and_keeps_what_it_has(single: Local) -> None:
    """A play for each way to choose an account, with hosts of its own."""
    own = single.service.tokens["read_write"]
    for site, value in {"one": own, "two": OTHER}.items():
        (single.directory / f"{site}.yml").write_text(f"{_TOKEN}: '{value}'\n", encoding="utf-8")
    single.host_vars.clear()
    plays, failing = [], set()
    for number, (play, role, variables, other) in enumerate(ACCOUNTS.values()):
        hosts = [f"{name}-{number}" for name in ("web-1", "web-2", "web-3")]
        single.add(*hosts)
        failing.add(hosts[-1])
        for host in hosts:
            single.host_vars[host] |= {"token_of": {"one": own, "two": OTHER}, "site": "one", **variables}
        single.host_vars[hosts[-1]] |= other
        path = single.tasks(f"- {_ROLE}\n  {role}", play=play, hosts=",".join(hosts))
        plays.append(Path(path).read_text(encoding="utf-8"))
    others = set(single.host_vars) - failing
    for state, left in {"present": others, "absent": failing}.items():
        if state == "absent":
            single.service.seed(labels=sorted(failing))
            for host in failing:
                single.write(host, single.expected(host))
        for options in (["--check"], []):
            run = single.run(single.play("\n".join(plays)), *options, "-e", f"monitor_agent_state={state}")
            assert set(run.failures()) == failing, run.output
            for host, message in run.failures().items():
                assert f"{host} uses another account than the first host of its batch" in message
            assert OTHER not in run.output and own not in run.output
        assert configured(single) == set(labels(single)) == left


def test_the_inventory_takes_precedence_over_defaults_of_a_role(three: Local) -> None:
    role, own = three.directory / "roles" / "ours", three.service.tokens["read_write"]
    for part, text in {"defaults": f"token_of_site: {own}", "tasks": f"- {_ROLE}"}.items():
        (role / part).mkdir(parents=True)
        (role / part / "main.yml").write_text(f"{text}\n", encoding="utf-8")
    three.group_vars[_TOKEN] = "{{ token_of_site }}"
    play = three.tasks("- ours", section="roles")
    three.host_vars["web-3"]["token_of_site"] = OTHER
    run = three.run(play)
    assert (set(run.failures()), labels(three)) == ({"web-3"}, ["web-1", "web-2"]), run.output
    three.succeed(play, "-e", f"token_of_site={own}")


def test_an_address_is_required_before_a_removal(monitored: Local) -> None:
    play = role_play(monitored, role="vars: {monitor_agent_state: absent}")
    assert "base_url" in refuse(monitored, play, environment={"MONITOR_BASE_URL": ""})


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


def test_a_vaulted_variable_of_the_task_that_is_not_used_needs_no_password(three: Local) -> None:
    vaulted(three, unused="hunter2")
    [text] = (three.directory / "group_vars").iterdir()
    variables = textwrap.indent(text.read_text(encoding="utf-8"), "      ")
    text.unlink()
    assert three.succeed(role_play(three, role=f"vars:\n{variables}")).changed_hosts() == set(three.host_vars)


def test_no_client_is_deleted_that_may_be_that_of_a_host_whose_label_is_in_a_vault(pair: Local) -> None:
    password = vaulted(pair, monitor_agent_label="web-two")
    pair.host_vars["web-1"]["monitor_agent_label"] = "web-one"
    pair.service.seed(labels=["web-two", "web-9"])
    for playbook, given in (("retire", "labels=web-two"), ("prune", "prune_pattern=web.* prune_confirm=any")):
        message = refuse(pair, f"monitor.cloud.{playbook}", "-e", given, environment=WHOLE)
        assert "monitor_agent_label of host web-2" in message, message
    options = ("-e", "labels=web-9", "--vault-password-file", str(password))
    assert pair.succeed("monitor.cloud.retire", *options).writes() == ["delete_client web-9"]


def test_no_client_is_deleted_that_may_be_that_of_a_host_whose_label_is_a_failing_statement(pair: Local) -> None:
    """Before ansible-core 2.19, hostvars return a template that fails unchanged."""
    pair.host_vars["web-2"]["monitor_agent_label"] = "{%if dc.on%}web-two{%endif%}"
    pair.service.seed(labels=["web-two"])
    for playbook, given in (("retire", "labels=web-two"), ("prune", "prune_pattern=web.* prune_confirm=any")):
        message = refuse(pair, f"monitor.cloud.{playbook}", "-e", given, environment=WHOLE)
        assert "monitor_agent_label of host web-2" in message, message


def test_a_host_of_unknown_state_does_not_end_an_audit(pair: Local) -> None:
    pair.host_vars["web-2"]["monitor_agent_state"] = "{{ nowhere_set }}"
    run = pair.run("monitor.cloud.audit")
    assert "Hosts: 2 (2 not_registered)." in run.output, run.output


@pytest.fixture
def split(pair: Local) -> tuple[Local, list[str]]:
    """Host web-1 in the group dev, web-2 in prod, with a vault of its own each; options with the password of dev."""
    pair.service.seed(labels=["web-9"])
    (pair.directory / "group_vars").mkdir()
    for name in ("dev", "prod"):
        vault = VaultLib([(name, VaultSecret(name.encode()))])
        text = "monitor_agent_timeout: 20\nmonitor_agent_label: web-two\n" if name == "prod" else "of_dev: dev-only\n"
        (pair.directory / "group_vars" / f"{name}.yml").write_bytes(vault.encrypt(text, vault_id=name))
    (pair.directory / "password").write_text("dev", encoding="utf-8")
    (pair.directory / "groups").write_text("[dev]\nweb-1\n[prod]\nweb-2\n", encoding="utf-8")
    return pair, ["-i", "groups", "--vault-id", "dev@password"]


_UNKNOWN = "The label of web-2 is unknown, because variables of that host cannot be read."


def test_a_vault_of_other_hosts_does_not_matter_to_the_hosts_of_a_play(split: tuple[Local, list[str]]) -> None:
    """Rollout, audit and retire ended with "Decryption failed", and named neither host nor file."""
    controller, options = split
    limited = [*options, "--limit", "dev"]
    for changed in ({"web-1"}, set[str]()):
        run = controller.succeed(ROLLOUT, *limited)
        assert run.changed_hosts() == changed and _UNKNOWN in " ".join(run.output.split()), run.output
    run = controller.succeed("monitor.cloud.audit", *limited)
    text = " ".join(run.output.split())
    assert "Hosts: 1 (1 ok). Clients without a host: 1 (web-9)." in text, run.output
    # Its client can be that of the other host.
    assert f"join audits of all its hosts with the playbook report. {_UNKNOWN}" in text and "cloud.prune" not in text
    assert labels(controller) == ["web-1", "web-9"]
    controller.succeed("monitor.cloud.retire", *options, "-e", "target=dev")
    assert labels(controller) == ["web-9"]


@pytest.mark.parametrize(
    ("playbook", "given"),
    [
        ("adopt", ["--limit", "dev"]),
        ("prune", ["-e", "prune_pattern=.* prune_confirm=any"]),
        ("retire", ["-e", "labels=web-9"]),
    ],
)
def test_what_needs_all_labels_names_the_host_whose_label_is_in_a_vault(
    split: tuple[Local, list[str]], playbook: str, given: list[str]
) -> None:
    controller, options = split
    run = controller.run(f"monitor.cloud.{playbook}", *options, *given, **WHOLE)
    [message] = run.failures().values()
    assert "monitor_agent_label of host web-2: " in message or _UNKNOWN in message, message
    assert (run.writes(), "vault" in message) == ([], True)


def test_valid_values_of_all_kinds_pass(three: Local) -> None:
    """They take precedence over the environment."""
    three.service.configure(brand="otherword")
    password = vaulted(three, monitor_agent_api_token=three.service.tokens["read_write"])
    three.group_vars |= {
        "monitor_agent_state": "{{ 'pre' ~ 'sent' }}",
        "monitor_agent_config_mode": "0640",
        "monitor_agent_config_owner": os.geteuid(),
        "monitor_agent_config_group": os.getegid(),
        "monitor_agent_timeout": "20",
        "monitor_agent_retry_timeout": "20.5",
        "monitor_agent_concurrency": "{{ 2 * 2 }}",
        "monitor_agent_check_capacity": "no",
        "monitor_agent_validate_certs": "yes",
        "monitor_agent_allow_http": False,
        "monitor_agent_base_url": "{{ mine_only | default('') }}",
        "monitor_agent_ca_path": "{{ mine_only | default(omit) }}",
        "monitor_agent_brand": "otherword",
        # Of another entry point.
        "monitor_agent_audit_html": "{{ undefined_here }}/report.html",
    }
    three.host_vars["web-1"]["monitor_agent_label"] = "1001"
    three.host_vars["web-2"] |= {"monitor_agent_config_mode": "0o600"}
    # What only the host has.
    path = three.host_vars["web-3"]["monitor_agent_config_path"]
    three.host_vars["web-3"] |= {"path_here": path, "monitor_agent_config_path": "{{ path_here }}"}
    options = ["--vault-password-file", str(password)]
    hosts, wrong = set(three.host_vars), {"MONITOR_BRAND": "wrong", "MONITOR_TIMEOUT": "0.001"}
    for more, changed in (([], hosts), ([], set[str]()), (["-e", "monitor_agent_state=absent"], hosts)):
        run = three.succeed(role_play(three), *options, *more, **wrong)
        assert run.changed_hosts() == changed, run.output
        assert "get_plan" not in run.calls(), "monitor_agent_check_capacity is set"
        assert all("/otherword/" in request["path"] for request in run.requests)
    assert labels(three) == []


def test_what_a_task_sets_itself_precedes_the_variable_of_the_role(three: Local) -> None:
    """An audit and a deletion need no room in the plan."""
    three.service.set_plan("monitor-3")
    three.service.seed(labels=["gone-1", "gone-2"])
    three.group_vars["monitor_agent_check_capacity"] = True
    three.succeed("monitor.cloud.audit")
    three.succeed(PRUNE, "-e", "prune_pattern=gone-.* prune_confirm=any", **WHOLE)
    assert labels(three) == []


# A host whose root adds variables of the role to its facts, which take precedence over the inventory

INTERPRETER = """#!{python}
import json, subprocess, sys
if {instead} and "setup" not in sys.argv[1]:
    result = {{"changed": True, "ansible_facts": {{}}}}
else:
    done = subprocess.run([sys.executable, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
    result = json.loads(done.stdout)
if "ansible_facts" in result and {instead} == ("setup" not in sys.argv[1]):
    result["ansible_facts"].update({facts})
print(json.dumps(result))
"""
MINIMUM = "gather_subset: ['!all', '!min']"
GATHER = f"- {{hosts: all, gather_facts: true, {MINIMUM}}}\n"
# The path is relative to the directory of the controller.
CACHE = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": "facts"}


def hostile(controller: Local, given: dict[str, Any] | None = None, *, instead: bool = False, **more: Any) -> Local:
    """The controller, with a host that reports these facts; ``instead`` of what modules but setup do."""
    path = controller.directory / "python"
    path.write_text(
        INTERPRETER.format(python=sys.executable, facts={**(given or {}), **more}, instead=instead), encoding="utf-8"
    )
    path.chmod(0o755)
    controller.group_vars["ansible_python_interpreter"] = sys.executable
    controller.host_vars["web-2"]["ansible_python_interpreter"] = str(path)
    if "of-another" not in labels(controller):
        controller.service.seed(labels=["of-another"])
    return controller


def naming(*names: str) -> str:
    """The start of a refusal that names these facts."""
    return f"Facts of host web-2 would decide: {', '.join(names)}. "


# In the order of their names.
FACTS = {
    "monitor_agent_api_token": "0" * 64,
    "monitor_agent_audit_html": "1000",
    "monitor_agent_base_url": "https://192.0.2.1/v4",
    "monitor_agent_config_template": "/etc/hostname",
    "monitor_agent_label": "of-another",
}
# A playbook, or a use of the role in a play, with options.
RUNS = [
    *(f"monitor.cloud.{name} --limit web-2" for name in ("rollout", "audit", "adopt")),
    *(f"not-the-first -e monitor_agent_state={state}" for state in ("present", "absent")),
    "monitor.cloud.prune -e prune_pattern=old.*",
    "monitor.cloud.retire -e target=web-2",
]


def test_cached_facts_choose_no_client_nor_files_nor_the_account(pair: Local) -> None:
    controller = hostile(pair, FACTS)
    controller.succeed(controller.play(GATHER), **CACHE)
    play = role_play(controller, role="when: inventory_hostname != 'web-1'", use="include_role")
    for run in RUNS:
        playbook, *options = run.replace("not-the-first", play).split()
        message = refuse(controller, playbook, *options, environment=CACHE)
        assert message.startswith(naming(*FACTS)), (run, message)
    assert not (controller.directory / "1000").exists()


# What the user chooses, and the start of the refusal.
AUDITS: list[tuple[dict[str, Any], str]] = [
    ({"audits_variables": "forged_[0-9]"}, "The facts of host web-2 set 'forged_1', which match audits_variables."),
    ({"audits": "{{ mine }}", "mine": "{{ [forged_1] }}"}, naming("forged_1")),
    ({"audits": ["{{ hostvars['web-2'].forged_1 }}"]}, naming("forged_1")),
    ({"audits": ["{{ ansible_facts.forged_1 }}"]}, "Facts of host web-1 would decide: ansible_facts."),
    # The fact itself has the name of the variable.
    ({"audits_variables": "nothing_.*"}, naming("audits")),
]


def test_facts_are_no_audits(pair: Local) -> None:
    hosts = [{**facts_of({"key_owner": "own"}), "host": "web-2"}]
    forged = {"schema_version": 2, "generated_at": "2026-01-02T03:04:05Z", "hosts": hosts}
    for name, cases in {"forged_1": AUDITS[:-1], "audits": AUDITS[-1:]}.items():
        hostile(pair, {name: forged})
        pair.succeed(pair.play(GATHER), **CACHE)
        for given, message in cases:
            options = ["--limit", "web-2", "-e", json.dumps({**given, "audits_max_age": 0})]
            run = pair.run("monitor.cloud.report", *options, **CACHE)
            assert run.code == 2 and run.failures()["web-2"].startswith(message), (given, run.output)


@pytest.mark.parametrize(
    "facts",
    [
        # Core keeps the last of both as one fact, and the first as a variable.
        {"monitor_agent_label": "of-another", "ansible_monitor_agent_label": "x"},
        {"inventory_hostname": "web-1"},
    ],
    ids=str,
)
def test_facts_that_the_run_itself_gathers_are_refused(pair: Local, facts: dict[str, str]) -> None:
    play = role_play(hostile(pair, facts), play=MINIMUM, facts=True)
    assert refuse(pair, play).startswith(naming(next(iter(facts))))


def test_a_variable_of_the_inventory_may_have_the_name_of_a_standard_fact(pair: Local) -> None:
    pair.group_vars |= {"env": "prod", "monitor_agent_label": "{{ env }}-{{ inventory_hostname }}"}
    pair.group_vars["ansible_python_interpreter"] = sys.executable
    play = role_play(pair, play="gather_subset: ['!all', '!min', env]", facts=True)
    pair.succeed(play)
    assert labels(pair) == ["prod-web-1", "prod-web-2"]
    for value in ("evil", 1):
        hostile(pair, env=value, ansible_env={})
        assert refuse(pair, play).startswith(naming("env"))


def test_a_fact_that_the_template_of_another_host_reads_is_refused(three: Local) -> None:
    three.host_vars["web-3"]["monitor_agent_config_template"] = "{{ hostvars['web-2'].own | default('agent.conf.j2') }}"
    play = role_play(hostile(three, own="/etc/hostname"), play=MINIMUM, facts=True)
    assert refuse(three, play).startswith(naming("own"))


@pytest.mark.parametrize("name", ["inventory_hostname", "monitor_agent_label"])
def test_facts_that_come_with_packages_are_refused(pair: Local, name: str) -> None:
    pair.monitor()
    before = pair.files()
    hostile(pair, {name: "web-1"}, instead=True)
    pair.host_vars["web-2"]["monitor_agent_packages"] = ["agent"]
    run = pair.run()
    # ansible-core 2.21 gives the facts of one host to all.
    assert re.match(rf"Facts of host web-[12] would decide: {name}\.", run.failures()["web-2"]), run.output
    assert pair.files() == before


def test_no_fact_that_comes_with_a_restart_decides_which_clients_are_retired(pair: Local, opened: Open) -> None:
    pair.monitor()
    listener = forbidden(opened)
    hostile(pair, instead=True, monitor_agent_base_url=f"http://127.0.0.1:{listener.port}/v4")
    pair.host_vars["web-2"]["monitor_agent_service"] = "agent"
    run = pair.succeed("monitor.cloud.retire", "-e", "target=web-2 labels=of-another")
    assert (labels(pair), listener.requests) == (["web-1"], []), run.output


# By the name of a fact: variables of a host that are made of it. A refusal names up to five facts.
DECIDING: list[dict[str, dict[str, Any]]] = [
    {
        "of_address": {_URL: "{{ of_address }}"},
        "of_lookup": {_URL: "{{ lookup('vars', 'of_lookup') }}"},
        "of_part": {_URL: "http://127.0.0.1:{{ of_part.port | default(1) }}/v4"},
        "of_token": {_TOKEN: "{{ of_token }}"},
        "of_urls": {_URL: "{{ urls.of_site }}", "urls": {"of_site": "{{ of_urls }}"}},
    },
    {
        "ansible_nodename": {"monitor_agent_label": "{{ ansible_nodename | default('known') }}"},
        "of_brand": {"monitor_agent_brand": "{% if of_brand %}{{ of_brand }}{% endif %}"},
        "of_label": {"monitor_agent_label": "{{ of_label }}"},
        "of_named": {"monitor_agent_label": "{{ named }}", "named": "{{ of_named }}"},
        "of_template": {"monitor_agent_config_template": "{{ of_template }}"},
    },
]


@pytest.mark.parametrize("deciding", DECIDING)
def test_facts_do_not_decide_through_templates(
    single: Local, opened: Open, deciding: dict[str, dict[str, Any]]
) -> None:
    """Facts of this run, and of the cache for a host that is alone in its batch."""
    listener = forbidden(opened)
    single.host_vars.clear()
    single.add(*(f"host-{name}" for name in deciding))
    for name, variables in deciding.items():
        single.host_vars[f"host-{name}"] |= variables
        if name.startswith("of_"):
            single.group_vars[name] = "known-only"
    chosen = dict.fromkeys(deciding, f"http://127.0.0.1:{listener.port}/v4")
    before = f"ansible.builtin.set_fact: {json.dumps({**chosen, 'cacheable': True})}"
    facts = f"would decide: {', '.join(deciding)}. "
    message = refuse(single, role_play(single, before=before), environment=CACHE)
    assert message.startswith(f"Facts of host {next(iter(single.host_vars))} {facts}"), message
    last = list(single.host_vars)[-1]
    message = refuse(single, role_play(single, role="ignore_errors: true"), "--limit", last, environment=CACHE)
    assert facts in message, message
    assert listener.requests == [] and single.service.tokens["read_write"].encode() not in listener.received


CHECKED = {"changed": False, "failed": False}
# Results of tasks that a run starts after, as a host would want them.
FORGED = {
    "monitor_agent_facts_checked": CHECKED,
    "monitor_agent_account": {**CHECKED, "clients": [], "read_only": False},
    "monitor_agent_adoptions": {**CHECKED, "renames": {"of-another": "stolen"}},
    "monitor_agent_audit_html": "forged.html",
    "monitor_agent_audit_plan": {**CHECKED, "plan": {}},
    "monitor_agent_audit_tiers": {**CHECKED, "subscriptions": []},
    "monitor_agent_config": {
        **CHECKED,
        "state": "absent",
        "label": "of-another",
        "registered": True,
        "before_uninstall": True,
        "service_differs": [],
    },
    "monitor_agent_stopped": {"changed": True},
    "monitor_agent_unconfigured": {**CHECKED, "label": "of-another"},
    "prune_facts_checked": CHECKED,
    "prune_checked": CHECKED,
    "prune_found": {**CHECKED, "deleted": ["of-another"]},
    "retire_facts_checked": CHECKED,
    "retire_check": CHECKED,
}
# By playbook and its options: tasks to start at.
LATE = {
    "rollout --limit web-2 --skip-tags monitor_agent_install": (
        "Check that each host of the inventory has a label of its own",
        "Read the account",
        "Configure the agent, or remove its configuration",
        "Delete the clients of hosts whose configuration is removed",
        "Do what is new on the host, or uninstall the agent",
    ),
    "audit --limit web-2": ("Read the plan", "Read the tiers", "Report"),
    "adopt --limit web-2": ("Determine which clients are kept", "Give the clients the labels of their hosts"),
    "prune -e prune_pattern=x -e prune_confirm=any": (
        "Check that the inventory is whole",
        "Find the clients without a host",
        "Remove the clients without a host",
    ),
    "retire -e target=web-2 -e labels=of-another": (
        "Check how many are to be retired",
        "Check the labels of hosts that are gone",
        "Remove the clients of hosts that are gone",
    ),
}


@pytest.mark.parametrize("facts", [{}, FORGED], ids=["none", "forged"])
@pytest.mark.parametrize("playbook", LATE)
def test_nothing_is_read_nor_changed_if_the_check_of_facts_is_left_out(
    pair: Local, playbook: str, facts: dict[str, Any]
) -> None:
    hostile(pair, facts)
    # The first host of the play decides for tasks that run once.
    pair.host_vars = dict(reversed(pair.host_vars.items()))
    pair.succeed(pair.play(GATHER), **CACHE)
    before = pair.files()
    name, *options = playbook.split()
    for task in LATE[playbook]:
        run = pair.run(f"monitor.cloud.{name}", *options, "--start-at-task", f"*{task}", **CACHE, **WHOLE)
        assert run.calls() == [], (task, run.output)
        # These, and others with a forged result of the check, are skipped.
        assert facts or run.code == 2 or task.startswith(("Delete the clients", "Do what is new")), (task, run.output)
    assert not (pair.directory / "forged.html").exists() and pair.files() == before


def test_facts_that_the_play_uses_by_a_file_of_each_host_choose_no_template(pair: Local) -> None:
    controller = hostile(pair, of_host="/etc/hostname")
    (pair.directory / "web-1.yml").write_text("own: 1\n", encoding="utf-8")
    (pair.directory / "web-2.yml").write_text("monitor_agent_config_template: '{{ of_host }}'\n", encoding="utf-8")
    files = "vars_files: ['{{ playbook_dir }}/{{ inventory_hostname }}.yml']"
    run = controller.run(role_play(controller, play=f"{MINIMUM}\n  {files}", facts=True))
    assert run.failures().keys() == {"web-2"} and run.failures()["web-2"].startswith(naming("of_host")), run.output
    assert controller.read("web-2") is None and "web-2" not in labels(controller)


def test_facts_of_the_implicit_localhost_are_refused(pair: Local) -> None:
    hostile(pair, monitor_agent_label="of-another")
    tasks = """
    - ansible.builtin.setup: {gather_subset: ['!all', '!min']}
      delegate_to: web-2
    - ansible.builtin.include_role: {name: monitor.cloud.monitor_agent}
      vars: {monitor_agent_config_path: "{{ playbook_dir }}/own.conf"}
"""
    play = pair.play(f"- hosts: localhost\n  gather_facts: false\n  tasks:{tasks}")
    run = pair.run(play)
    assert "Facts of host localhost would decide: monitor_agent_label. " in str(run.failures()), run.output
    assert run.calls() == []


def test_what_concerns_the_host_alone_may_be_made_of_facts(pair: Local) -> None:
    pair.group_vars |= {
        "ansible_python_interpreter": sys.executable,
        "monitor_agent_config_path": "{{ playbook_dir }}/{{ ansible_facts.system }}/{{ inventory_hostname }}.conf",
        "monitor_agent_packages": "{{ packages_of[ansible_facts.system] }}",
        "monitor_agent_service": "{{ 'agent' if ansible_system == 'other' else '' }}",
        "monitor_agent_state": "{{ 'present' if ansible_facts.system == 'Linux' else 'absent' }}",
        "packages_of": {"Linux": []},
    }
    for values in pair.host_vars.values():
        del values["monitor_agent_config_path"]
    pair.succeed(role_play(pair, play="gather_subset: ['!all', '!min', platform]", facts=True))
    assert {path.stem for path in (pair.directory / "Linux").iterdir()} == {"web-1", "web-2"}


@pytest.mark.parametrize(
    ("labels", "state", "text"),
    [
        ("['web-1', 'of-another']", "present", None),
        ("(['web-2'] | monitor.cloud.client_labels(hostvars)).values() | list", "absent", "api_key=1"),
    ],
)
def test_a_host_does_not_choose_its_client_in_a_play_of_the_user(
    pair: Local, labels: str, state: str, text: str | None
) -> None:
    controller = hostile(pair, monitor_agent_label="of-another")
    controller.write("web-2", text)
    given: dict[str, Any] = {"path": "{{ monitor_agent_config_path }}", "content": "x", "state": state}
    run = controller.run(own_play(controller, play=MINIMUM, facts=True, labels=labels, **given))
    assert run.failures()["web-2"].startswith(naming("monitor_agent_label")), run.output
    assert controller.read("web-2") == text


def test_a_host_that_says_that_it_is_another_gets_no_key_in_a_play_of_the_user(pair: Local) -> None:
    controller = hostile(pair, inventory_hostname="web-1")
    run = controller.run(
        own_play(controller, play=MINIMUM, facts=True, path="{{ monitor_agent_config_path }}", content="x")
    )
    assert "Facts of host web-1 would decide: inventory_hostname. " in str(run.failures()), run.output
    assert controller.read("web-2") is None


def test_set_fact_is_no_fact_of_the_host(pair: Local) -> None:
    label = "{ansible.builtin.set_fact: {monitor_agent_label: 'my-{{ inventory_hostname }}'}}"
    pair.succeed(role_play(pair, before=label))
    assert labels(pair) == ["my-web-1", "my-web-2"]


WRONG = {"base_url": "http://127.0.0.1:1/v4", "api_token": "not-a-token", "retry_timeout": "0"}


@pytest.mark.parametrize("counts", ["environment", "variables"])
def test_precedence_of_the_sources_of_the_connection(single: Local, counts: str) -> None:
    """Each source of lower precedence holds values that fail. Defaults of modules do not count for the role."""
    right = {
        "base_url": single.service.base_url,
        "api_token": single.service.tokens["read_write"],
        "retry_timeout": "9",
    }
    if counts == "variables":
        single.group_vars.update({f"monitor_agent_{name}": value for name, value in right.items()})
    given = right if counts == "environment" else WRONG
    defaults = f"module_defaults: {{group/monitor.cloud.api: {WRONG}, monitor.cloud.monitor_clients: {WRONG}}}"
    environment = {f"MONITOR_{name.upper()}": value for name, value in given.items()}
    assert single.succeed(role_play(single, play=defaults), **environment).changed_hosts() == {"web-1"}


def test_a_role_that_uses_the_role_may_pass_the_label_of_the_inventory(pair: Local) -> None:
    label = "{{ hostvars[inventory_hostname].own | default('') }}"
    pair.host_vars["web-2"].update(own="my-web-2", monitor_agent_label="my-web-2")
    pair.succeed(role_play(pair, role=f'vars: {{monitor_agent_label: "{label}"}}'))
    assert set(labels(pair)) == {"web-1", "my-web-2"}


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
    prune = controller.succeed(PRUNE, "-e", "prune_pattern=gone-1 prune_confirm=any", *FOR_HOSTS, **environment)
    assert prune.writes() == ["delete_client gone-1"], prune.output

    arguments = ("-e", '{"labels": ["gone-2"]}', "-e", "target=web-*")
    retire = controller.succeed("monitor.cloud.retire", *arguments, *FOR_HOSTS, **environment)
    assert retire.changed_hosts() == {"web-1", "web-2"}
    assert labels(controller) == sorted(configured(controller)) == ["db-1", "db-2"]
