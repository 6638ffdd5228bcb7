# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Invalid variables of the role are named before anything is written; sources of variables and their precedence."""

import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.monitor.cloud.plugins.plugin_utils import _role_variables
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import facts_of
from ansible_collections.monitor.cloud.tests.support.runs import PRUNE, WHOLE, Controller, Local
from ansible_collections.monitor.cloud.tests.support.steps import (
    configured,
    converge,
    labels,
    own_play,
    refuse,
    role_play,
)

# Name without its prefix, value, the start of the reason: tests/unit/plugins/plugin_utils/_agent/test_options.py.
INVALID: list[tuple[str, Any, str]] = [
    ("state", "absnt", "write present or absent."),
    ("packages", {"curl": "8.5"}, "write a list of strings."),
    ("packages", [{"name": "curl"}], "write a list of strings."),
    ("config_mode", 640, "mode 640 is an integer, which means 1200."),
    ("config_mode", "rw-------", "mode 'rw-------' must be octal digits"),
    ("config_path", "etc/agent.conf", "path 'etc/agent.conf' must be the absolute path of a file."),
    ("config_path", "/etc/monitor/", "path '/etc/monitor/' must be the absolute path of a file."),
    ("config_owner", ["root"], "write a string."),
    ("config_owner", "{{ 'web master' }}", "owner 'web master' must be a name or a number."),
    ("config_group", "-R", "group '-R' must be a name or a number."),
    ("config_template", "nowhere.j2", "no file 'nowhere.j2' is found. Write its whole path, such as '{{ inventory_dir"),
    ("service", {"name": "agent"}, "write a string."),
    ("base_url", ["https://api.example.com"], "write a string."),
    ("timeout", "soon", "write a number."),
    ("retry_timeout", [300], "write a number."),
    ("concurrency", "2.5", "write a whole number."),
    ("validate_certs", "perhaps", "write true or false."),
    ("allow_http", "{{ 'may' ~ 'be' }}", "write true or false."),
    ("audit_fail_on_drift", "", "write true or false."),
    ("audit_service", "monitor-agent", "write true or false."),
    ("audit_orphan_pattern", "web-(", "orphan_pattern 'web-(' is not a valid regular expression: missing )"),
]
FIRST = {f"monitor_agent_{name}": (value, reason) for name, value, reason in reversed(INVALID)}
LAST = {f"monitor_agent_{name}": (value, reason) for name, value, reason in INVALID}
PLAYBOOKS = ("rollout", "retire", "audit", "adopt")


def of_all(playbook: str) -> tuple[str, str, str]:
    return f"monitor.cloud.{playbook}", "-e", "target=all"


@pytest.mark.parametrize(
    ("playbook", "values"),
    [*((playbook, FIRST) for playbook in PLAYBOOKS), ("rollout", LAST)],
    ids=[*PLAYBOOKS, "rollout, other values"],
)
def test_all_are_named_at_once(monitored: Local, playbook: str, values: dict[str, tuple[Any, str]]) -> None:
    given = {variable: value for variable, (value, _reason) in values.items()}
    expected = set(given)
    if playbook == "retire":
        # It sets the state itself, and renders no template.
        del given["monitor_agent_state"]
        expected -= {"monitor_agent_state", "monitor_agent_config_template"}
    message = refuse(monitored, *of_all(playbook), "-e", json.dumps(given))
    missing = [variable for variable in expected if f"{variable} is invalid: {values[variable][1]}" not in message]
    assert (missing, message.count("is invalid")) == ([], len(expected)), message
    assert message.endswith("Nothing was done.")


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_a_value_of_one_host_is_named_with_the_host(monitored: Local, playbook: str) -> None:
    monitored.host_vars["web-1"]["monitor_agent_validate_certs"] = "perhaps"
    monitored.host_vars["web-2"]["monitor_agent_config_mode"] = 640
    monitored.host_vars["web-3"]["monitor_agent_config_mode"] = 640
    monitored.host_vars["web-3"]["monitor_agent_config_path"] = "{{ 'etc' }}/{{ inventory_hostname }}.conf"
    message = refuse(monitored, *of_all(playbook))
    for part in (
        "monitor_agent_validate_certs of 'web-1' is invalid: write true or false.",
        "monitor_agent_config_mode of 'web-2', 'web-3' is invalid: mode 640 is an integer",
        "monitor_agent_config_path of 'web-3' is invalid: path 'etc/web-3.conf' must be",
    ):
        assert part in message


OTHER = "2" * 64
_TOKEN, _URL = "monitor_agent_api_token", "monitor_agent_base_url"
_NAMED, _FIRST, _OTHER_TOKEN = "{{ token_of_site }}", "{{ sites.one.token }}", {"token_of_site": OTHER}
# What differs, a playbook or a keyword of a play with the role, the token of the inventory, and what web-3 has instead.
ACCOUNTS: list[tuple[str, str, str, dict[str, str]]] = [
    (_TOKEN, "rollout", _NAMED, {"token_of_site": "https://other.example.com"}),
    (_URL, "retire -e target=all", _NAMED, {_URL: "https://other.example.com"}),
    (_TOKEN, "audit", _NAMED, {"site": "two"}),
    (_TOKEN, "adopt", _NAMED, {"site": ""}),
    # A template may name a variable as text, or in another variable.
    (_TOKEN, "rollout", "{{ lookup('vars', 'token_of_site') }}", _OTHER_TOKEN),
    (_TOKEN, "rollout", "{{ lookup('vars', 'token_of_' ~ 'site') }}", _OTHER_TOKEN),
    (_TOKEN, "rollout", "{{ lookup('vars', *names) }}", _OTHER_TOKEN),
    (_TOKEN, "rollout", "{{ in_a_list.tokens[0] }}", _OTHER_TOKEN),
    (_TOKEN, "rollout", "{{ lookup('template', inventory_dir ~ '/token.j2') }}", {"site": "two"}),
    (_TOKEN, "vars_files: ['{{ site }}.yml']", "", {"site": "two"}),
    # Without a variable of the role keywords count, and if it is empty.
    ("MONITOR_API_TOKEN", "environment: {MONITOR_API_TOKEN: '{{ token_of_site }}'}", "", _OTHER_TOKEN),
    ("MONITOR_API_TOKEN", "environment: '{{ given }}'", "{{ '' }}", _OTHER_TOKEN),
    ("api_token", "module_defaults: {group/monitor.cloud.api: {api_token: '{{ token_of_site }}'}}", "", _OTHER_TOKEN),
    ("api_token", "module_defaults: {monitor.cloud.monitor_clients: '{{ given }}'}", "", _OTHER_TOKEN),
    # Defaults of the module precede the role's variable.
    ("api_token", "module_defaults: {monitor.cloud.monitor_clients: '{{ given }}'}", _FIRST, _OTHER_TOKEN),
]


@pytest.mark.parametrize(("name", "run", "token", "other"), ACCOUNTS)
def test_hosts_of_different_accounts_are_refused(
    monitored: Local, name: str, run: str, token: str, other: dict[str, str]
) -> None:
    monitored.service.seed(labels=["gone-1"])
    own = monitored.service.tokens["read_write"]
    (monitored.directory / "token.j2").write_text(_NAMED, encoding="utf-8")
    for site, value in {"one": own, "two": OTHER}.items():
        (monitored.directory / f"{site}.yml").write_text(f"{_TOKEN}: '{value}'\n", encoding="utf-8")
    monitored.group_vars |= {
        "sites": {"one": {"token": own}, "two": {"token": OTHER}},
        "site": "one",
        "token_of_site": "{{ sites[site].token }}",
        "names": ["token_of_site"],
        "in_a_list": {"tokens": [_NAMED]},
        "given": {name: _NAMED},
        **({_TOKEN: token} if token else {}),
    }
    monitored.host_vars["web-3"] |= other
    of_play = ": " in run
    playbook = [role_play(monitored, play=run)] if of_play else f"monitor.cloud.{run}".split()
    message = refuse(monitored, *playbook)
    assert message.startswith(f"{name} differs between the hosts of this play")
    # It refuses a part of the inventory.
    assert message.endswith("for prune, extra variables.")
    some = playbook if len(playbook) == 1 else ["monitor.cloud.rollout"]
    assert monitored.run(*some, "--limit", "web-1,web-2").code == 0
    same = {"token_of_site": own, _URL: monitored.service.base_url, "site": "one", _TOKEN: own}
    given = {variable: same[variable] for variable in ([_TOKEN, "token_of_site"] if of_play else other)}
    assert monitored.run(*playbook, "-e", json.dumps(given)).code == 0


def test_hosts_are_compared_that_share_a_template_which_the_first_host_lacks(three: Local) -> None:
    own = three.service.tokens["read_write"]
    three.group_vars |= {_TOKEN: "{{ token_of[site] }}", "token_of": {"one": own, "two": OTHER}, "site": "one"}
    three.host_vars["web-1"][_TOKEN] = own
    assert three.run().code == 0
    three.host_vars["web-3"]["site"] = "two"
    assert refuse(three).startswith("monitor_agent_api_token differs between the hosts of this play")
    assert three.run(role_play(three, role="when: site == 'one'")).code == 0


def test_the_inventory_takes_precedence_over_defaults_of_a_role(three: Local) -> None:
    role, own = three.directory / "roles" / "ours", three.service.tokens["read_write"]
    tasks = "- ansible.builtin.import_role: {name: monitor.cloud.monitor_agent}"
    for part, text in {"defaults": f"token_of_site: {own}", "tasks": tasks}.items():
        (role / part).mkdir(parents=True)
        (role / part / "main.yml").write_text(f"{text}\n", encoding="utf-8")
    three.group_vars[_TOKEN] = _NAMED
    play = three.tasks("- ours", section="roles")
    assert three.run(play).code == 0
    three.host_vars["web-3"] |= _OTHER_TOKEN
    assert refuse(three, play).startswith("monitor_agent_api_token differs between the hosts of this play")
    assert three.run(play, "-e", f"token_of_site={own}").code == 0


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


def test_a_module_outside_the_role_reports_a_variable_that_only_the_role_reads(three: Local) -> None:
    play = three.tasks("- monitor.cloud.monitor_plan_info:", hosts="localhost")
    for variables, end in (
        (["-e", "monitor_agent_api_token=x"], ' read it: write api_token: "{{ monitor_agent_api_token }}".'),
        (["-e", '{"monitor_agent_api_token": "{{ 1 / 0 }}"}'], "division by zero. Nothing was done."),
        (["-e", "{\"monitor_agent_api_token\": \"{{ lookup('env', 'UNSET') }}\"}"], "is set, but it is empty."),
        ([], "MONITOR_API_TOKEN."),
    ):
        run = three.run(play, *variables, MONITOR_API_TOKEN="")
        [message] = run.failures().values()
        assert message.startswith("api_token is required") and message.endswith(end), message


def test_a_module_on_a_host_reports_a_variable_of_the_controllers_environment(one: Controller) -> None:
    run = one.run(one.tasks("- monitor.cloud.monitor_plan_info:"))
    reason = "MONITOR_BASE_URL is set on the controller, but not where the task ran: set the option, or delegate_to: "
    assert run.failures()["web-1"].endswith(f" {reason}localhost.")


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
    assert set(run.failures().values()) == {"monitor_agent_timeout is invalid: write a number. Nothing was done."}
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
        "monitor_agent_base_url": "{{ mine_only | default(omit) }}",
        "monitor_agent_brand": "{{ mine_only | default(omit) }}",
        # Of another playbook's run.
        "monitor_agent_audit_html": "{{ undefined_here }}/report.html",
    }
    three.host_vars["web-1"]["monitor_agent_label"] = 1001
    three.host_vars["web-2"] |= {"monitor_agent_config_mode": "0o600", "monitor_agent_audit_service": "yes"}
    # What only the host has.
    path = three.host_vars["web-3"]["monitor_agent_config_path"]
    three.host_vars["web-3"] |= {"path_here": path, "monitor_agent_config_path": "{{ path_here }}"}
    options = ["--vault-password-file", str(password)]
    for playbook, changed in (("rollout", set(three.host_vars)), ("audit -e monitor_agent_audit_html=", set[str]())):
        run = three.run(*f"monitor.cloud.{playbook}".split(), *options)
        assert (run.code, run.changed_hosts()) == (0, changed), run.output
    assert (three.run(*of_all("retire"), *options).code, labels(three)) == (0, [])


def test_what_a_task_sets_itself_precedes_the_variable_of_the_role(three: Local) -> None:
    """An audit and a deletion need no room in the plan."""
    three.service.set_plan("monitor-3")
    three.service.seed(labels=["gone-1", "gone-2"])
    three.group_vars["monitor_agent_check_capacity"] = True
    three.succeed("monitor.cloud.audit")
    three.succeed(PRUNE, "-e", "prune_pattern=gone-.* prune_confirm=any", **WHOLE)
    assert labels(three) == []


def test_every_documented_option_has_a_type_that_is_known() -> None:
    assert {option["type"] for option in _role_variables._OPTIONS.values()} == set(_role_variables._KINDS)


# A host whose root adds variables of the role to its facts, which take precedence over the inventory

INTERPRETER = """#!{python}
import json, subprocess, sys
done = subprocess.run([sys.executable, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
result = json.loads(done.stdout)
if "ansible_facts" in result:
    result["ansible_facts"].update({facts})
print(json.dumps(result))
"""
MINIMUM = "gather_subset: ['!all', '!min']"
GATHER = f"- {{hosts: all, gather_facts: true, {MINIMUM}}}\n"
# The path is relative to the directory of the controller.
CACHE = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": "facts"}


def hostile(controller: Local, **facts: Any) -> Local:
    """The controller, with a host that reports these facts."""
    path = controller.directory / "python"
    path.write_text(INTERPRETER.format(python=sys.executable, facts=facts), encoding="utf-8")
    path.chmod(0o755)
    controller.group_vars["ansible_python_interpreter"] = sys.executable
    controller.host_vars["web-2"]["ansible_python_interpreter"] = str(path)
    controller.service.seed(labels=["of-another"])
    return controller


def naming(*names: str) -> str:
    """The start of a refusal that names these variables."""
    return f"The facts of host web-2 set {', '.join(map(repr, names))}. "


FACTS = {
    "monitor_agent_api_token": "0" * 64,
    "monitor_agent_audit_html": "1000",
    "monitor_agent_base_url": "https://192.0.2.1/v4",
    "monitor_agent_config_template": "/etc/hostname",
    "monitor_agent_label": "of-another",
}
# A playbook, or keywords of the role in a play, with options.
RUNS = [
    *(f"monitor.cloud.{name} --limit web-2" for name in ("rollout", "audit", "adopt")),
    *(f"{play} -e monitor_agent_state={state}" for play in ("all", "not-the-first") for state in ("present", "absent")),
    "all --limit web-2",
]


@pytest.mark.parametrize("run", RUNS)
def test_cached_facts_choose_no_client_nor_files_nor_the_account_and_raise_no_limit(pair: Local, run: str) -> None:
    controller, (playbook, *options) = hostile(pair, **FACTS), run.split()
    controller.service.seed(20)
    assert controller.run(controller.play(GATHER), **CACHE).code == 0
    if "." not in playbook:
        condition = "when: inventory_hostname != 'web-1'" if playbook == "not-the-first" else ""
        playbook = role_play(controller, role=condition)
    assert refuse(controller, playbook, *options, environment=CACHE).startswith(naming(*FACTS))
    assert not (controller.directory / "1000").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"audits_variables": "forged_[0-9]"}, naming("forged_1")),
        ({"audits": ["{{ forged_1 }}"]}, naming("forged_1")),
        ({"audits": "{{ mine }}", "mine": "{{ [forged_1] }}"}, naming("forged_1")),
        ({"audits": ["{{ hostvars['web-2'].forged_1 }}"]}, "audits uses 'hostvars', which hold what hosts report"),
        ({"audits": ["{{ ansible_facts.forged_1 }}"]}, "audits uses 'ansible_facts', which hold what hosts report"),
        ({"audits_variables": "nothing_.*"}, naming("audits")),
    ],
)
def test_facts_are_no_audits(pair: Local, given: dict[str, Any], message: str) -> None:
    hosts = [{**facts_of({"key_owner": "own"}), "host": "web-2"}]
    forged = json.dumps({"schema_version": 2, "generated_at": "2026-01-02T03:04:05Z", "hosts": hosts})
    controller = hostile(pair, **{"audits" if "'audits'" in message else "forged_1": json.loads(forged)})
    assert controller.run(controller.play(GATHER), **CACHE).code == 0
    options = ["--limit", "web-2", "-e", json.dumps({**given, "audits_max_age": 0})]
    run = controller.run("monitor.cloud.report", *options, **CACHE)
    assert run.code == 2 and run.failures()["web-2"].startswith(message), run.output


@pytest.mark.parametrize("state", ["present", "absent"])
def test_facts_that_the_run_itself_gathers_are_refused(pair: Local, state: str) -> None:
    play = role_play(hostile(pair, monitor_agent_label="of-another"), play=MINIMUM, facts=True)
    assert refuse(pair, play, "-e", f"monitor_agent_state={state}").startswith(naming("monitor_agent_label"))


@pytest.mark.parametrize(
    "labels", ["['web-1', 'of-another']", "(['web-2'] | monitor.cloud.client_labels(hostvars)).values() | list"]
)
@pytest.mark.parametrize(("state", "text"), [("present", None), ("absent", "api_key=1")])
def test_a_host_does_not_choose_its_client_in_a_play_of_the_user(
    pair: Local, labels: str, state: str, text: str | None
) -> None:
    controller = hostile(pair, monitor_agent_label="of-another")
    controller.write("web-2", text)
    path = "{{ monitor_agent_config_path }}"
    run = controller.run(own_play(controller, play=MINIMUM, facts=True, labels=labels, path=path, state=state))
    assert "The facts of host web-2 set 'monitor_agent_label'" in str(run.failures()), run.output
    assert controller.read("web-2") == text


def test_set_fact_is_no_fact_of_the_host(pair: Local) -> None:
    label = "{ansible.builtin.set_fact: {monitor_agent_label: 'my-{{ inventory_hostname }}'}}"
    pair.succeed(role_play(pair, before=label))
    assert labels(pair) == ["my-web-1", "my-web-2"]


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
    prune = controller.run(PRUNE, "-e", "prune_pattern=gone-1 prune_confirm=any", *given, **sudo, **WHOLE)
    assert (prune.code, prune.writes()) == (0, ["delete_client gone-1"]), prune.output

    arguments = ("-e", '{"labels": ["gone-2"]}', "-e", "target=web-*")
    converge(controller, "monitor.cloud.retire", *arguments, *given, changes={"web-1", "web-2"}, environment=sudo)
    assert labels(controller) == ["db-1", "db-2"]
    assert configured(controller) == {"db-1", "db-2"}


def test_only_a_misspelled_variable_is_named_once_with_the_nearest_name(pair: Local) -> None:
    """Not variables of other playbooks, nor the user's own, which are for a template."""
    pair.group_vars |= {"monitor_agent_config_pth": "/etc/agent.conf", "monitor_agent_audit_orphan_pattern": "x"}
    pair.group_vars |= {"monitor_agent_timeout": 20, "monitor_agent_region": "eu", "targets": "x"}
    pair.host_vars["web-2"]["monitor_agent_lable"] = "database"
    misspelled = ("-e", "monitor_agent_token=x", "-e", "monitor_agent_html=audit.html")
    of_others = ("-e", "retire_limit=50 labels=gone-1 audits=x stage=eu", "-e", "prune_pattern=gone-1 prune_limit=20")
    for playbook, *given in (
        ("monitor.cloud.rollout",),
        ("monitor.cloud.audit", *of_others),
        ("monitor.cloud.adopt",),
        ("monitor.cloud.retire", "-e", "target=all"),
        ("monitor.cloud.prune", *of_others),
        (role_play(pair), "-e", "targets=x", "--check"),
    ):
        output = " ".join(pair.succeed(playbook, *misspelled, *given, **WHOLE).output.split())
        expected = {
            "monitor_agent_config_pth": "monitor_agent_config_path",
            "monitor_agent_token": "monitor_agent_api_token",
            "monitor_agent_html": "monitor_agent_audit_html",
            # prune concerns no host.
            **({"monitor_agent_lable": "monitor_agent_label"} if "prune" not in playbook else {}),
        }
        for name, nearest in expected.items():
            text = f"{name!r} is not a variable of the role monitor.cloud.monitor_agent; did you mean {nearest!r}?"
            assert (output.count(text), output.count(repr(name))) == (1, 1), (playbook, name)
        assert output.count("is not a variable") == len(expected), output
