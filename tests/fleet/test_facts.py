# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts decide nothing: a host whose root adds variables of the role to its facts is refused."""

import json
import re
import sys
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import facts_of
from ansible_collections.monitor.cloud.tests.support.runs import WHOLE, Local
from ansible_collections.monitor.cloud.tests.support.servers import Open, forbidden
from ansible_collections.monitor.cloud.tests.support.steps import labels, own_play, refuse, role_play

# With {later}, modules do nothing, and those of this name report the facts; setup counts only if it is named. The last
# module is kept.
INTERPRETER = """#!{python}
import json, shutil, subprocess, sys
module = sys.argv[1]
shutil.copy(module, sys.argv[0] + "-module")
if {later!r} and ("setup" not in module or {later!r} == "setup"):
    result = {{"changed": True, "ansible_facts": {facts} if {later!r} in module else {{}}}}
else:
    done = subprocess.run([sys.executable, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
    result = json.loads(done.stdout)
    if "ansible_facts" in result and not {later!r}:
        result["ansible_facts"].update({facts})
print(json.dumps(result))
"""
# A part of the path of every module.
ANY = "AnsiballZ_"
MINIMUM = "gather_subset: ['!all', '!min']"
GATHER = f"- {{hosts: all, gather_facts: true, {MINIMUM}}}\n"
# The path is relative to the directory of the controller.
CACHE = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": "facts"}


def hostile(controller: Local, given: dict[str, Any] | None = None, *, later: str = "", **more: Any) -> Local:
    """The controller, with a host that reports these facts: as gathered, or ``later``, by modules of this name."""
    path = controller.directory / "python"
    path.write_text(
        INTERPRETER.format(python=sys.executable, facts={**(given or {}), **more}, later=later), encoding="utf-8"
    )
    path.chmod(0o755)
    controller.group_vars["ansible_python_interpreter"] = sys.executable
    controller.host_vars["web-2"]["ansible_python_interpreter"] = str(path)
    if "of-another" not in labels(controller):
        controller.service.seed(labels=["of-another"])
    return controller


def naming(*names: str) -> str:
    """The start of a refusal that names these facts."""
    return f"Facts of host web-2 set what must not come from a host: {', '.join(names)}. "


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
    "not-the-first -e monitor_agent_state=absent",
    "monitor.cloud.prune -e prune_pattern=old.*",
    "monitor.cloud.retire -e target=web-2",
]


def test_cached_facts_choose_no_client_nor_files_nor_the_account(pair: Local) -> None:
    controller = hostile(pair, FACTS)
    controller.succeed(controller.play(GATHER), **CACHE)
    play = role_play(controller, role="when: inventory_hostname != 'web-1'", use="include_role")
    for given in RUNS:
        run = controller.run(*given.replace("not-the-first", play).split(), **CACHE)
        assert (run.code, run.calls(), len(run.failures())) == (2, [], 1), run.output
        assert run.failures().popitem()[1].startswith(naming(*FACTS)), (given, run.output)
    assert not (controller.directory / "1000").exists()


# What the user chooses, and the start of the refusal.
AUDITS: list[tuple[dict[str, Any], str]] = [
    ({"audits_variables": "forged_[0-9]"}, "The facts of host web-2 set 'forged_1', which match audits_variables."),
    ({"audits": "{{ mine }}", "mine": "{{ [forged_1] }}"}, naming("forged_1")),
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


def test_facts_that_the_run_itself_gathers_are_refused(pair: Local) -> None:
    # Core keeps the last two as one fact, and one of them as a variable.
    facts = {"inventory_hostname": "web-1", "monitor_agent_label": "of-another", "ansible_monitor_agent_label": "x"}
    play = role_play(hostile(pair, facts), play=MINIMUM, facts=True)
    assert refuse(pair, play).startswith(naming("inventory_hostname", "monitor_agent_label"))


def test_a_variable_of_the_inventory_may_have_the_name_of_a_standard_fact(pair: Local) -> None:
    pair.group_vars |= {"env": "prod", "monitor_agent_label": "{{ env }}-{{ inventory_hostname }}"}
    pair.group_vars["ansible_python_interpreter"] = sys.executable
    play = role_play(pair, play="gather_subset: ['!all', '!min', env]", facts=True)
    pair.succeed(play)
    assert labels(pair) == ["prod-web-1", "prod-web-2"]
    run = hostile(pair, env="evil", ansible_env={}).run(play)
    assert naming("env") in str(run.failures()) and run.calls() == [], run.output


def test_a_fact_that_the_template_of_another_host_reads_is_refused(three: Local) -> None:
    three.host_vars["web-3"]["monitor_agent_config_template"] = "{{ hostvars['web-2'].own | default('agent.conf.j2') }}"
    run = hostile(three, own="/etc/hostname").run(role_play(three, play=MINIMUM, facts=True))
    assert naming("own") in str(run.failures()) and run.calls() == [], run.output


LOOKUP = "{{ lookup('ansible.builtin.file', site_file) }}"


def test_facts_choose_no_file_of_the_controller(pair: Local) -> None:
    """Neither by a variable that may be made of facts, nor by the text of a template: its host fails alone."""
    (pair.directory / "site").write_text("known", encoding="utf-8")
    (pair.directory / "site.j2").write_text(f"{{{{ client.api_key }}}} {LOOKUP}", encoding="utf-8")
    (pair.directory / "set.j2").write_text(
        "{{ client.api_key }} {{ lookup('file', agent_settings.site) }}", encoding="utf-8"
    )
    pair.group_vars |= {"site_file": str(pair.directory / "site"), "monitor_agent_settings": {"site": LOOKUP}}
    hostile(pair, site_file="/etc/hostname")
    play = role_play(pair, play=MINIMUM, facts=True)
    run = pair.run(play)
    assert naming("site_file") in str(run.failures()) and run.calls() == [], run.output
    pair.group_vars["monitor_agent_settings"] = {}
    pair.group_vars["monitor_agent_config_template"] = str(pair.directory / "site.j2")
    for options in (["--check"], []):
        failures = pair.run(play, *options).failures()
        assert failures.keys() == {"web-2"} and naming("site_file") in failures["web-2"], failures
    pair.group_vars["monitor_agent_config_template"] = str(pair.directory / "set.j2")
    pair.group_vars["monitor_agent_settings"] = {"site": "{{ site_file }}"}
    failures = pair.run(play).failures()
    assert failures.keys() == {"web-2"} and naming("site_file") in failures["web-2"], failures
    assert (pair.read("web-2"), labels(pair)) == (None, ["of-another", "web-1"])
    assert (pair.read("web-1") or "").endswith(" known")


# The module that reports the fact, variables of the host, and the task that would use the fact.
REPOSITORY = {"uris": ["https://192.0.2.1"], "suites": ["x"], "signed_by": "x"}
LATER: dict[str, tuple[str, dict[str, Any], str]] = {
    "apt": (ANY, {"monitor_agent_repository": REPOSITORY}, "Add the repository of apt"),
    "dnf": ("deb822", {"monitor_agent_repository": {**REPOSITORY, "baseurl": "x"}}, "Add the repository of dnf"),
    "packages": (
        ANY,
        {"monitor_agent_state": "absent", "monitor_agent_uninstall": True, "monitor_agent_service": "agent"},
        "Remove the packages",
    ),
}


@pytest.mark.parametrize("case", LATER)
def test_facts_of_a_module_choose_nothing_for_the_next_one(pair: Local, case: str) -> None:
    module, variables, task = LATER[case]
    pair.monitor()
    pair.group_vars["monitor_agent_packages"] = ["agent"]
    pair.host_vars["web-1"]["monitor_agent_packages"] = []
    hostile(pair, later=module, monitor_agent_repository=REPOSITORY).host_vars["web-2"].update(variables)
    run = pair.run(role_play(pair, role="ignore_errors: true"))
    refusal = r"Facts of host web-[12] set what must not come from a host: monitor_agent_repository\."
    assert re.match(refusal, [*run.failures().values()][0]), run.output
    assert run.of(task) == {} and "web-2" in labels(pair)


def test_a_lookup_beside_modules_names_no_variable(pair: Local) -> None:
    """Core renders some variables between the facts of a module and the next check."""
    pair.group_vars |= {"asset": "known", "monitor_agent_state": "{{ lookup('pipe', 'echo present; : ' ~ asset) }}"}
    run = pair.run()
    message = "monitor_agent_state of web-1 has a lookup, and names the variables asset. "
    assert run.failures()["web-1"].startswith(message) and run.calls() == [], run.output
    pair.group_vars["monitor_agent_state"] = "{{ lookup('pipe', 'echo present') }}"
    pair.succeed()


@pytest.mark.parametrize("task", ["service: {name: agent, state: restarted}", "package: {name: agent}"])
def test_no_token_of_module_defaults_reaches_a_host(pair: Local, task: str) -> None:
    """A host can name a module of this collection as its service or package manager, and core then runs it there."""
    name = "monitor.cloud.monitor_plan_info"
    facts = {"ansible_service_mgr": name, "ansible_pkg_mgr": name}
    module = pair.directory / "python-module"
    hostile(pair, facts, later="setup")
    pair.host_vars["web-2"]["monitor_agent_service" if "service" in task else "monitor_agent_packages"] = "agent"
    defaults = "module_defaults: {group/monitor.cloud.api: {api_token: \"{{ lookup('env', 'GIVEN') }}\"}}"
    token = pair.service.tokens["read_write"]
    # Core gives it to a task of the play, as SECURITY.md tells. Both plays are the same file.
    pair.run(pair.tasks(f"- {task}\n", play=defaults), GIVEN=token)
    assert token in module.read_text(encoding="utf-8")
    pair.succeed(role_play(pair, play=defaults), GIVEN=token)
    assert token not in module.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("playbook", "variable"),
    [
        ("rollout", "monitor_agent_label"),
        ("rollout --tags monitor_agent_config", "monitor_agent_label"),
        ("audit", "monitor_agent_audit_html"),
        ("adopt", "monitor_agent_label"),
        ("retire -e target=all", "monitor_agent_label"),
    ],
)
def test_facts_are_refused_before_core_renders_the_variables_of_the_role(
    pair: Local, playbook: str, variable: str
) -> None:
    made = pair.directory / "made"
    pair.group_vars |= {"asset": "a", variable: "{{ lookup('pipe', 'echo ' ~ asset) }}-{{ inventory_hostname }}"}
    hostile(pair, asset=f"a; touch {made}")
    pair.succeed(pair.play(GATHER), **CACHE)
    run = pair.run(*f"monitor.cloud.{playbook}".split(), **CACHE)
    assert naming("asset") in str(run.failures()) and not made.exists(), run.output


def test_no_fact_that_comes_with_a_restart_chooses_the_path(pair: Local) -> None:
    (pair.directory / "site").write_text("known", encoding="utf-8")
    pair.group_vars["site_file"] = str(pair.directory / "site")
    variables = hostile(pair, later=ANY, site_file="/etc/hostname").host_vars["web-2"]
    directory = pair.path("web-2").parent
    variables |= {"monitor_agent_config_path": f"{directory}/agent-{LOOKUP}", "monitor_agent_service": "agent"}
    pair.succeed()
    # No marker is left, so the agent counts as restarted.
    assert [file.name for file in directory.iterdir()] == ["agent-known"]


def test_no_label_is_rendered_with_a_fact_that_comes_with_a_restart(pair: Local) -> None:
    """Not even to find the secrets that the message of the refusal must not hold."""
    made = pair.directory / "made"
    pair.group_vars |= {
        "asset": "a",
        "monitor_agent_label": "{{ lookup('pipe', 'echo ' ~ asset) }}-{{ inventory_hostname }}",
    }
    hostile(pair, later=ANY, asset=f"a; touch {made}").host_vars["web-2"]["monitor_agent_service"] = "agent"
    run = pair.run()
    assert naming("asset") in run.failures()["web-2"] and not made.exists(), run.output


def test_facts_that_come_with_packages_are_refused(pair: Local) -> None:
    pair.monitor()
    before = pair.files()
    hostile(pair, later=ANY, inventory_hostname="web-1", monitor_agent_label="web-1")
    pair.host_vars["web-2"]["monitor_agent_packages"] = ["agent"]
    run = pair.run()
    # ansible-core 2.21 can give the facts of one host to all.
    refusal = r"Facts of host web-[12] set what must not come from a host: inventory_hostname, monitor_agent_label\."
    assert re.match(refusal, run.failures()["web-2"]), run.output
    assert pair.files() == before


def test_no_fact_that_comes_with_a_restart_decides_which_clients_are_retired(pair: Local, opened: Open) -> None:
    pair.monitor()
    listener = forbidden(opened)
    hostile(pair, later=ANY, monitor_agent_base_url=f"http://127.0.0.1:{listener.port}/v4")
    pair.host_vars["web-2"]["monitor_agent_service"] = "agent"
    run = pair.succeed("monitor.cloud.retire", "-e", "target=web-2 labels=of-another")
    assert (labels(pair), listener.requests) == (["web-1"], []), run.output


# By the name of a fact: variables of a host that are made of it. A refusal names up to five facts.
URL = "monitor_agent_base_url"
DECIDING: dict[str, dict[str, Any]] = {
    "ansible_nodename": {"monitor_agent_label": "{{ ansible_nodename | default('known') }}"},
    "of_lookup": {URL: "{{ lookup('vars', 'of_lookup') }}"},
    "of_template": {"monitor_agent_config_template": "{{ of_template }}"},
    "of_token": {"monitor_agent_api_token": "{{ of_token }}"},
    "of_urls": {URL: "{{ urls.of_site }}", "urls": {"of_site": "{{ of_urls }}"}},
}


def test_facts_do_not_decide_through_templates(single: Local, opened: Open) -> None:
    """Facts of this run, and of the cache for a host that is alone in its batch."""
    listener = forbidden(opened)
    single.host_vars.clear()
    single.add(*(f"host-{name}" for name in DECIDING))
    for name, variables in DECIDING.items():
        single.host_vars[f"host-{name}"] |= variables
        if name.startswith("of_"):
            single.group_vars[name] = "known-only"
    chosen = dict.fromkeys(DECIDING, f"http://127.0.0.1:{listener.port}/v4")
    before = f"ansible.builtin.set_fact: {json.dumps({**chosen, 'cacheable': True})}"
    facts, hosts = f"set what must not come from a host: {', '.join(DECIDING)}. ", list(single.host_vars)
    run = single.run(role_play(single, before=before), **CACHE)
    assert run.calls() == [] and f"Facts of host {hosts[0]} {facts}" in str(run.failures()), run.output
    message = refuse(single, role_play(single, role="ignore_errors: true"), "--limit", hosts[-1], environment=CACHE)
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
        "Read the account",
        "Configure the agent, or remove its configuration",
        "Delete the clients of hosts whose configuration is removed",
        "Configure, install, restart or uninstall the agent",
    ),
    "audit --limit web-2": ("Read the plan", "Report"),
    "adopt --limit web-2": ("Determine which clients are kept", "Give the clients the labels of their hosts"),
    "prune -e prune_pattern=x -e prune_confirm=any": ("Find the clients without a host", "Remove the clients *"),
    "retire -e target=web-2 -e labels=of-another": (
        "Check how many are to be retired",
        "Check the labels of hosts that are gone",
        "Remove the clients of hosts that are gone",
    ),
}


def test_nothing_is_read_nor_changed_if_the_check_of_facts_is_left_out(pair: Local) -> None:
    hostile(pair, FORGED)
    # The first host of the play decides for tasks that run once.
    pair.host_vars = dict(reversed(pair.host_vars.items()))
    pair.succeed(pair.play(GATHER), **CACHE)
    before = pair.files()
    for playbook, tasks in LATE.items():
        name, *options = playbook.split()
        for task in tasks:
            run = pair.run(f"monitor.cloud.{name}", *options, "--start-at-task", f"*{task}", **CACHE, **WHOLE)
            assert run.calls() == [], (task, run.output)
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
    refusal = "Facts of host localhost set what must not come from a host: monitor_agent_label. "
    assert refusal in str(run.failures()), run.output
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
    refusal = "Facts of host web-1 set what must not come from a host: inventory_hostname. "
    assert refusal in str(run.failures()), run.output
    assert controller.read("web-2") is None


def test_set_fact_is_no_fact_of_the_host(pair: Local) -> None:
    label = "{ansible.builtin.set_fact: {monitor_agent_label: 'my-{{ inventory_hostname }}'}}"
    pair.succeed(role_play(pair, before=label))
    assert labels(pair) == ["my-web-1", "my-web-2"]
