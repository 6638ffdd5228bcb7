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
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, PRUNE, ROLLOUT, WHOLE, Controller, Local
from ansible_collections.monitor.cloud.tests.support.servers import Open, forbidden
from ansible_collections.monitor.cloud.tests.support.steps import (
    configured,
    converge,
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
    ("retry_timeout", [300], "argument 'monitor_agent_retry_timeout' is of type "),
    ("concurrency", "2.5", "argument 'monitor_agent_concurrency' is of type "),
    ("validate_certs", "perhaps", "argument 'monitor_agent_validate_certs' is of type "),
    ("allow_http", "{{ 'may' ~ 'be' }}", "argument 'monitor_agent_allow_http' is of type "),
    ("check_capacity", [], "argument 'monitor_agent_check_capacity' is of type "),
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


# Of a variable of the account that differs: keywords of the play or role, values of all hosts, and of web-3.
OTHER = "2" * 64
_TOKEN, _URL, _NAMED = "monitor_agent_api_token", "monitor_agent_base_url", "{{ token_of[site] }}"
_TWO = {"site": "two"}
ACCOUNTS: dict[str, tuple[str, str, dict[str, str], dict[str, str]]] = {
    "token": ("", "", {}, {_TOKEN: OTHER}),
    "token, by a template": ("", "", {_TOKEN: _NAMED}, _TWO),
    "token, by two templates": ("", "", {_TOKEN: "{{ named }}", "named": _NAMED}, _TWO),
    "token, by a lookup": ("", "", {_TOKEN: "{{ lookup('vars', 'na' ~ 'med') }}", "named": _NAMED}, _TWO),
    "token, by a file": ("", "", {_TOKEN: "{{ lookup('template', inventory_dir ~ '/token.j2') }}"}, _TWO),
    "token, by a file of variables": ("vars_files: ['{{ site }}.yml']", "", {}, _TWO),
    "token, of the role": ("", f"vars: {{{_TOKEN}: '{_NAMED}'}}", {}, _TWO),
    "token, without one of the play": ("", "", {}, {_TOKEN: OTHER, _URL: "{{ nowhere | default(omit) }}"}),
    "address": ("", "", {}, {_URL: "https://other.example.com/v4"}),
    "brand": ("", "", {}, {"monitor_agent_brand": "otherword"}),
    "environment of the play": (f"environment: {{MONITOR_API_TOKEN: '{_NAMED}'}}", "", {}, _TWO),
    "environment of the role": ("", f"environment: {{MONITOR_API_TOKEN: '{_NAMED}'}}", {_TOKEN: "{{ '' }}"}, _TWO),
}


@pytest.mark.parametrize(
    ("account", "state"),
    [*((account, "present") for account in ACCOUNTS), ("token", "absent"), ("environment of the role", "absent")],
)
def test_a_host_of_another_account_fails_alone_and_gets_no_client(three: Local, account: str, state: str) -> None:
    play, role, variables, other = ACCOUNTS[account]
    own = three.service.tokens["read_write"]
    (three.directory / "token.j2").write_text(_NAMED, encoding="utf-8")
    for site, value in {"one": own, "two": OTHER}.items():
        (three.directory / f"{site}.yml").write_text(f"{_TOKEN}: '{value}'\n", encoding="utf-8")
    three.group_vars |= {"token_of": {"one": own, "two": OTHER}, "site": "one", **variables}
    three.host_vars["web-3"] |= other
    before = three.files()
    if state == "absent":
        three.monitor()
        before = three.files()
    playbook, left = role_play(three, play=play, role=role), {"web-3"} if state == "absent" else {"web-1", "web-2"}
    for options in (["--check"], []):
        run = three.run(playbook, *options, "-e", f"monitor_agent_state={state}")
        assert set(run.failures()) == {"web-3"}, run.output
        assert "web-3 uses another account than the first host of its batch" in run.failures()["web-3"]
        assert OTHER not in run.output and own not in run.output
    assert (labels(three), configured(three), three.read("web-3")) == (sorted(left), left, before["web-3"])


def test_the_inventory_takes_precedence_over_defaults_of_a_role(three: Local) -> None:
    role, own = three.directory / "roles" / "ours", three.service.tokens["read_write"]
    tasks = "- ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}"
    for part, text in {"defaults": f"token_of_site: {own}", "tasks": tasks}.items():
        (role / part).mkdir(parents=True)
        (role / part / "main.yml").write_text(f"{text}\n", encoding="utf-8")
    three.group_vars[_TOKEN] = "{{ token_of_site }}"
    play = three.tasks("- ours", section="roles")
    three.host_vars["web-3"]["token_of_site"] = OTHER
    run = three.run(play)
    assert (set(run.failures()), labels(three)) == ({"web-3"}, ["web-1", "web-2"]), run.output
    three.succeed(play, "-e", f"token_of_site={own}")


def test_a_template_that_depends_on_hosts_may_choose_one_account(monitored: Local) -> None:
    parts = ("of_play", "of_file", "of_host")
    template = "".join(f"{{{{ {part}[0] }}}}" for part in parts)
    monitored.group_vars.update(monitor_agent_base_url=template + "{{ url }}", url=monitored.service.base_url)
    for number, host in enumerate(monitored.host_vars):
        # What comes from the play takes precedence; the first element is the same for all hosts.
        monitored.host_vars[host] |= {"of_play": [str(number)], "of_file": [str(number)], "of_host": ["", number]}
    (monitored.directory / "file.yml").write_text("of_file: ['']\n", encoding="utf-8")
    play = "vars: {of_play: ['']}\n  vars_files: [file.yml]"
    monitored.succeed(role_play(monitored, play=play), MONITOR_BASE_URL="")


def test_an_address_is_required_before_a_removal(monitored: Local) -> None:
    play = role_play(monitored, role="vars: {monitor_agent_state: absent}")
    assert "base_url" in refuse(monitored, play, environment={"MONITOR_BASE_URL": ""})


@pytest.mark.parametrize("name", ["base_url", "api_token", "brand"])
def test_a_variable_of_the_account_that_fails_is_not_replaced_by_the_environment(three: Local, name: str) -> None:
    three.group_vars[f"monitor_agent_{name}"] = "{{ mine_only }}"
    run = three.run(role_play(three))
    assert run.failures().keys() == three.host_vars.keys()
    assert all("mine_only" in message for message in run.failures().values()) and run.calls() == []


def test_a_module_reports_a_required_option_and_how_to_set_it(three: Local) -> None:
    run = three.run(three.tasks("- monitor.cloud.monitor_plan_info:", hosts="localhost"), MONITOR_API_TOKEN="")
    [message] = run.failures().values()
    assert message.startswith("api_token is required") and message.endswith("variable MONITOR_API_TOKEN.")


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
    converge(three, role_play(three, role=f"vars:\n{variables}"), changes=three.host_vars)


def test_no_client_is_deleted_that_may_be_that_of_a_host_whose_label_is_in_a_vault(pair: Local) -> None:
    password = vaulted(pair, monitor_agent_label="web-two")
    pair.host_vars["web-1"]["monitor_agent_label"] = "web-one"
    pair.service.seed(labels=["web-two", "web-9"])
    for playbook, given in (("retire", "labels=web-two"), ("prune", "prune_pattern=web.* prune_confirm=any")):
        message = refuse(pair, f"monitor.cloud.{playbook}", "-e", given, environment=WHOLE)
        assert "monitor_agent_label of host web-2" in message, message
    options = ("-e", "labels=web-9", "--vault-password-file", str(password))
    assert pair.succeed("monitor.cloud.retire", *options).writes() == ["delete_client web-9"]


@pytest.fixture
def split(pair: Local) -> tuple[Local, list[str]]:
    """Host web-1 in the group dev, web-2 in prod, with a vault of its own each; options with the password of dev."""
    pair.service.seed(labels=["web-9"])
    (pair.directory / "group_vars").mkdir()
    for name in ("dev", "prod"):
        vault = VaultLib([(name, VaultSecret(name.encode()))])
        text = "monitor_agent_timeout: 20\nmonitor_agent_label: web-two\n" if name == "prod" else "of_dev: 1\n"
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
        "monitor_agent_base_url": "{{ mine_only | default('') }}",
        "monitor_agent_brand": "{{ mine_only | default(omit) }}",
        # Of another entry point.
        "monitor_agent_audit_html": "{{ undefined_here }}/report.html",
    }
    three.host_vars["web-1"]["monitor_agent_label"] = "1001"
    three.host_vars["web-2"] |= {"monitor_agent_config_mode": "0o600"}
    # What only the host has.
    path = three.host_vars["web-3"]["monitor_agent_config_path"]
    three.host_vars["web-3"] |= {"path_here": path, "monitor_agent_config_path": "{{ path_here }}"}
    options = ["--vault-password-file", str(password)]
    hosts = set(three.host_vars)
    for more, changed in (([], hosts), ([], set[str]()), (["-e", "monitor_agent_state=absent"], hosts)):
        run = three.succeed(role_play(three), *options, *more)
        assert run.changed_hosts() == changed, run.output
    assert labels(three) == []


def test_what_a_task_sets_itself_precedes_the_variable_of_the_role(three: Local) -> None:
    """An audit and a deletion need no room in the plan."""
    three.service.set_plan("monitor-3")
    three.service.seed(labels=["gone-1", "gone-2"])
    three.group_vars["monitor_agent_check_capacity"] = True
    three.succeed("monitor.cloud.audit")
    three.succeed(PRUNE, "-e", "prune_pattern=gone-.* prune_confirm=any", **WHOLE)
    assert labels(three) == []


# Hosts of one batch with different states

STATES = [
    {"web-1": "absent", "web-2": "present", "web-3": "present"},
    {"web-1": "present", "web-2": "absent", "web-3": "absent"},
]


@pytest.mark.parametrize("states", STATES)
@pytest.mark.parametrize("known", [True, False], ids=["monitored", "new"])
def test_hosts_of_one_batch_have_different_states(three: Local, states: dict[str, str], known: bool) -> None:
    if known:
        three.monitor()
        # web-2 is to get a client, and to lose one without having a file.
        three.write("web-2", None)
    for host, state in states.items():
        three.host_vars[host]["monitor_agent_state"] = state
    present = {host for host, state in states.items() if state == "present"}
    changes = set(states) - ({"web-3"} if states["web-3"] == "present" else {"web-1", "web-2"}) if known else present
    steps = converge(three, changes=changes)
    assert (configured(three), set(labels(three))) == (present, present)
    assert {host: event.result["state"] for host, event in steps.check.of(CONFIGURE).items()} == states


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
    *(f"{use} -e monitor_agent_state={state}" for use in ("all", "not-the-first") for state in ("present", "absent")),
    "all --limit web-2",
    "monitor.cloud.prune -e prune_pattern=old.*",
    "monitor.cloud.retire -e target=web-2",
]


@pytest.mark.parametrize("run", RUNS)
def test_cached_facts_choose_no_client_nor_files_nor_the_account(pair: Local, run: str) -> None:
    controller, (playbook, *options) = hostile(pair, FACTS), run.split()
    assert controller.run(controller.play(GATHER), **CACHE).code == 0
    if "." not in playbook:
        condition = "when: inventory_hostname != 'web-1'" if playbook == "not-the-first" else ""
        playbook = role_play(controller, role=condition, use="include_role")
    assert refuse(controller, playbook, *options, environment=CACHE).startswith(naming(*FACTS))
    assert not (controller.directory / "1000").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"audits_variables": "forged_[0-9]"}, "The facts of host web-2 set 'forged_1', which match audits_variables."),
        ({"audits": ["{{ forged_1 }}"]}, naming("forged_1")),
        ({"audits": "{{ mine }}", "mine": "{{ [forged_1] }}"}, naming("forged_1")),
        ({"audits": ["{{ hostvars['web-2'].forged_1 }}"]}, naming("forged_1")),
        ({"audits": ["{{ ansible_facts.forged_1 }}"]}, "Facts of host web-1 would decide: ansible_facts."),
        ({"audits_variables": "nothing_.*"}, naming("audits")),
    ],
)
def test_facts_are_no_audits(pair: Local, given: dict[str, Any], message: str) -> None:
    hosts = [{**facts_of({"key_owner": "own"}), "host": "web-2"}]
    forged = json.dumps({"schema_version": 2, "generated_at": "2026-01-02T03:04:05Z", "hosts": hosts})
    controller = hostile(pair, {"audits" if message == naming("audits") else "forged_1": json.loads(forged)})
    assert controller.run(controller.play(GATHER), **CACHE).code == 0
    options = ["--limit", "web-2", "-e", json.dumps({**given, "audits_max_age": 0})]
    run = controller.run("monitor.cloud.report", *options, **CACHE)
    assert run.code == 2 and run.failures()["web-2"].startswith(message), run.output


@pytest.mark.parametrize("state", ["present", "absent"])
@pytest.mark.parametrize(
    "facts",
    [
        {"monitor_agent_label": "of-another"},
        # Core keeps the last of both as one fact, and the first as a variable.
        {"monitor_agent_label": "of-another", "ansible_monitor_agent_label": "x"},
        {"inventory_hostname": "web-1"},
    ],
    ids=str,
)
def test_facts_that_the_run_itself_gathers_are_refused(pair: Local, facts: dict[str, str], state: str) -> None:
    play = role_play(hostile(pair, facts), play=MINIMUM, facts=True)
    assert refuse(pair, play, "-e", f"monitor_agent_state={state}").startswith(naming(next(iter(facts))))


@pytest.mark.parametrize("value", ["evil", 1])
def test_a_variable_of_the_inventory_may_have_the_name_of_a_standard_fact(pair: Local, value: str | int) -> None:
    pair.group_vars |= {"env": "prod", "monitor_agent_label": "{{ env }}-{{ inventory_hostname }}"}
    pair.group_vars["ansible_python_interpreter"] = sys.executable
    play = role_play(pair, play="gather_subset: ['!all', '!min', env]", facts=True)
    pair.succeed(play)
    assert labels(pair) == ["prod-web-1", "prod-web-2"]
    hostile(pair, env=value, ansible_env={})
    assert refuse(pair, play).startswith(naming("env"))


def test_a_fact_that_the_template_of_another_host_reads_is_refused(three: Local) -> None:
    three.host_vars["web-3"]["monitor_agent_config_template"] = "{{ hostvars['web-2'].own | default('agent.conf.j2') }}"
    play = role_play(hostile(three, own="/etc/hostname"), play=MINIMUM, facts=True)
    assert refuse(three, play).startswith(naming("own"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("inventory_hostname", "web-1"),
        ("monitor_agent_label", "web-1"),
        ("monitor_agent_config_template", "/proc/self/environ"),
    ],
)
def test_facts_that_come_with_packages_are_refused(pair: Local, name: str, value: str) -> None:
    pair.monitor()
    before = pair.files()
    hostile(pair, {name: value}, instead=True)
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


# What a variable of the role is made of; other variables, of all hosts and of web-2; the names in the refusal.
DECIDING: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "token": ({"api_token": "{{ chosen }}"}, {}, "chosen"),
    "address": ({"base_url": "{{ chosen }}"}, {}, "chosen"),
    "address, in part": ({"base_url": "http://127.0.0.1:{{ chosen.port | default(1) }}/v4"}, {}, "chosen"),
    "address, by another variable": (
        {"base_url": "{{ urls.of_site }}", "~urls": {"of_site": "{{ chosen }}"}},
        {},
        "chosen",
    ),
    "address, by a lookup": ({"base_url": "{{ lookup('vars', 'chosen') }}"}, {}, "chosen"),
    "brand": ({"brand": "{% if chosen %}{{ chosen }}{% endif %}"}, {}, "chosen"),
    "label": ({"label": "{{ chosen }}"}, {}, "chosen"),
    "label, by a variable of the host": (
        {"label": "{{ named }}", "~named": "of-web-1"},
        {"named": "{{ chosen }}"},
        "chosen",
    ),
    "label, a standard fact": (
        {"label": "{{ ansible_facts.nodename | default(inventory_hostname) }}"},
        {},
        "ansible_facts",
    ),
    "label, an injected fact": ({"label": "{{ ansible_nodename | default('known') }}"}, {}, "ansible_nodename"),
    "template": ({"config_template": "{{ chosen }}"}, {}, "chosen"),
}


@pytest.mark.parametrize(
    ("variable", "source"),
    [*((variable, "cacheable") for variable in DECIDING), ("address", "cache"), ("label", "cache")],
)
def test_facts_do_not_decide_through_templates(pair: Local, opened: Open, variable: str, source: str) -> None:
    """The host is alone in its batch, so what it reports would decide."""
    given, of_host, names = DECIDING[variable]
    listener = forbidden(opened)
    fact = {"address": f"http://127.0.0.1:{listener.port}/v4", "template": "/etc/hostname"}
    chosen = fact.get(variable.partition(",")[0], "of-another")
    pair.group_vars["chosen"] = "known-only"
    pair.group_vars |= {f"monitor_agent_{name}".replace("monitor_agent_~", ""): value for name, value in given.items()}
    pair.host_vars["web-2"] |= of_host
    pair.service.seed(labels=["of-another"])
    facts = json.dumps({"chosen": chosen, "ansible_nodename": chosen, "cacheable": True})
    before = f"{{ansible.builtin.set_fact: {facts}, when: inventory_hostname == 'web-2'}}"
    if source == "cache":
        pair.succeed(pair.tasks(f"- {before}"), **CACHE)
        before = "meta: noop"
    for role, options in (("", []), ("ignore_errors: true", ["--limit", "web-2"])):
        message = refuse(pair, role_play(pair, before=before, role=role), *options, environment=CACHE)
        assert re.match(rf"Facts of host web-[12] would decide: {names}\. ", message), message
    assert listener.requests == [] and pair.service.tokens["read_write"].encode() not in listener.received


REMOVE = "Delete the clients of hosts whose configuration is removed"
CHECKED = {"changed": False}


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"monitor_agent_facts_checked": CHECKED},
        {"monitor_agent_config": {**CHECKED, "state": "absent", "label": "web-1"}},
    ],
    ids=str,
)
def test_nothing_is_read_nor_changed_if_the_check_of_facts_is_left_out(pair: Local, facts: dict[str, Any]) -> None:
    pair.service.seed(labels=["web-1"])
    pair.succeed(hostile(pair, facts).play(GATHER), **CACHE)
    for task in ("Check that each host of the inventory has a label of its own", "Read the account", REMOVE):
        run = pair.run(ROLLOUT, "--limit", "web-2", "--start-at-task", f"*{task}", **CACHE)
        assert run.calls() == [] and (run.code == 2 or task == REMOVE), run.output


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
    "labels", ["['web-1', 'of-another']", "(['web-2'] | monitor.cloud.client_labels(hostvars)).values() | list"]
)
@pytest.mark.parametrize(("state", "text"), [("present", None), ("absent", "api_key=1")])
def test_a_host_does_not_choose_its_client_in_a_play_of_the_user(
    pair: Local, labels: str, state: str, text: str | None
) -> None:
    controller = hostile(pair, monitor_agent_label="of-another")
    controller.write("web-2", text)
    given: dict[str, Any] = {"path": "{{ monitor_agent_config_path }}", "content": "x", "state": state}
    run = controller.run(own_play(controller, play=MINIMUM, facts=True, labels=labels, **given))
    assert run.failures()["web-2"].startswith("The host reports a fact monitor_agent_label"), run.output
    assert controller.read("web-2") == text


def test_a_host_that_says_that_it_is_another_gets_no_key_in_a_play_of_the_user(pair: Local) -> None:
    controller = hostile(pair, inventory_hostname="web-1")
    run = controller.run(
        own_play(controller, play=MINIMUM, facts=True, path="{{ monitor_agent_config_path }}", content="x")
    )
    assert "A fact of the host names it web-1." in str(run.failures()), run.output
    assert controller.read("web-2") is None


def test_set_fact_is_no_fact_of_the_host(pair: Local) -> None:
    label = "{ansible.builtin.set_fact: {monitor_agent_label: 'my-{{ inventory_hostname }}'}}"
    pair.succeed(role_play(pair, before=label))
    assert labels(pair) == ["my-web-1", "my-web-2"]


WRONG = {"base_url": "http://127.0.0.1:1/v4", "api_token": "not-a-token", "retry_timeout": "0"}


SOURCES = ("environment", "variables")


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
    # Those of modules do not count for the role.
    defaults = f"module_defaults: {{group/monitor.cloud.api: {WRONG}, monitor.cloud.monitor_clients: {WRONG}}}"
    given = settings.get("variables", {})
    single.group_vars.update({f"monitor_agent_{name}": value for name, value in given.items()})
    environment = {f"MONITOR_{name.upper()}": value for name, value in settings.get("environment", {}).items()}
    converge(single, role_play(single, play=defaults), changes={"web-1"}, environment=environment)


@pytest.mark.parametrize("label", ["", "{{ hostvars[inventory_hostname].own | default('') }}"])
def test_a_role_that_uses_the_role_may_pass_the_label_of_the_inventory(pair: Local, label: str) -> None:
    if label:
        pair.host_vars["web-2"].update(own="my-web-2", monitor_agent_label="my-web-2")
    pair.succeed(role_play(pair, role=f'vars: {{monitor_agent_label: "{label}"}}'))
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
    run = single.succeed(MONITOR_BRAND="wrong", MONITOR_TIMEOUT="0.001")
    assert run.calls() == ["list_clients", "list_clients", "create_client"], "without a read of the plan"
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
    prune = controller.run(PRUNE, "-e", "prune_pattern=gone-1 prune_confirm=any", *given, **sudo, **WHOLE)
    assert (prune.code, prune.writes()) == (0, ["delete_client gone-1"]), prune.output

    arguments = ("-e", '{"labels": ["gone-2"]}', "-e", "target=web-*")
    converge(controller, "monitor.cloud.retire", *arguments, *given, changes={"web-1", "web-2"}, environment=sudo)
    assert labels(controller) == ["db-1", "db-2"]
    assert configured(controller) == {"db-1", "db-2"}
