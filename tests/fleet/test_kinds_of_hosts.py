# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All kinds of hosts in the same plays: check mode, run, second run, audit, drift, removal. docs/hosts.md shows it.

Hosts that differ in another way: SELinux, become by sudosu, login shells that print.
"""

import json
import os
import shutil
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.fleet import kinds
from ansible_collections.monitor.cloud.tests.support import hosts as fleet
from ansible_collections.monitor.cloud.tests.support.hosts import USER
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, ROLLOUT, Controller, Run, texts
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets
from ansible_collections.monitor.cloud.tests.support.steps import converge, role_play
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

ABSENT = ("-e", "monitor_agent_state=absent")
# By step: the expected status, calls of the service, and whether the configuration is there afterwards.
STEPS: dict[str, tuple[str, list[str], bool]] = {
    "check": ("changed", [], False),
    "run": ("changed", ["create_client"], True),
    "again": ("ok", [], True),
    "audit": ("ok", [], True),
    "drift": ("changed", [], True),
    "check of undo": ("changed", [], True),
    "undo": ("changed", ["delete_client"], False),
    "undo again": ("ok", [], False),
}
OPTIONS = {"check": ("--check", "--diff"), "check of undo": ("--check", *ABSENT), "undo": ABSENT, "undo again": ABSENT}
WRITING = ("run", "again", "drift")
COLUMNS = {"check": "predicted", "run": "written", "again": "unchanged", "undo": "removed"}
# By host of the inventory and step: status, message of a failure, calls of the service that write, files.
Results = dict[str, dict[str, tuple[str, str, list[str], dict[str, t.Any]]]]


def ways_of(kind: str) -> dict[str, kinds.Variables]:
    """Variables of Ansible by name of the host in the inventory."""
    return {
        f"host-{list(kinds.KINDS).index(kind)}-{way}": variables for way, variables in enumerate(kinds.KINDS[kind].ways)
    }


def files(machine: Path, name: str, expected: dict[str, str]) -> dict[str, t.Any]:
    """All files and temporary directories of a host of the inventory; of the expected ones no content."""
    own = machine / kinds.ROOT / name
    found: dict[str, t.Any] = {}
    paths = [Path(top, entry) for top, directories, names in os.walk(own) for entry in (*names, *directories)]
    for path in paths:
        if path.is_dir() and not path.name.startswith("."):
            continue
        text = path.read_text(encoding="utf-8") if path.is_file() else None
        relative, facts = str(path.relative_to(own)), path.lstat()
        content = "as expected" if text == expected.get(relative) else text
        found[relative] = [content, f"{facts.st_mode & 0o7777:04o}", facts.st_uid]
    for path in (*machine.glob("root/.ansible/tmp/*"), *machine.glob("home/*/.ansible/tmp/*")):
        found[str(path.relative_to(machine))] = "transferred"
    return found


def run_step(controller: Controller, step: str) -> tuple[Run, dict[str, str]]:
    """Run a step on all hosts; returns status by host too."""
    settings = {"ANSIBLE_FORKS": "10", "ANSIBLE_TIMEOUT": "60"}
    if step != "audit":
        run = controller.run(role_play(controller), *OPTIONS.get(step, ()), **settings)
        return run, run.statuses()
    report = controller.directory / "audit.json"
    run = controller.run("monitor.cloud.audit", "-e", f"monitor_agent_audit_json={report}", **settings)
    return run, {host["host"]: host["state"] for host in json.loads(report.read_text(encoding="utf-8"))["hosts"]}


def run_all(controller: Controller, machines: Callable[..., list[fleet.Host]]) -> Results:
    """Run all steps on the hosts of all kinds at once."""
    kinds.unpack_rust()
    controller.group_vars.update(kinds.VARIABLES)
    seen: dict[str, Path] = {}
    for kind, properties in kinds.KINDS.items():
        (host,) = machines("kind", prepare=properties.prepare)
        for name, variables in ways_of(kind).items():
            seen[name] = Path(f"/proc/{host.first_process}/root")
            controller.host_vars[name] = {"ansible_host": host.address, "ansible_port": host.port, **variables}
    results: Results = {name: {} for name in seen}
    expected: dict[str, dict[str, str]] = {}
    for step in STEPS:
        for name, machine in seen.items():
            if step == "drift" and (path := machine / kinds.ROOT / name / kinds.CONFIG).exists():
                path.write_text("old\n", encoding="utf-8")
                path.chmod(0o644)
        run, statuses = run_step(controller, step)
        clients = {client["label"]: client for client in controller.service.clients()}
        for label, text in texts(clients.values()).items():
            expected[label] = {kinds.CONFIG: text, kinds.INSTALLED: clients[label]["install_code"]}
        assert not found_in(run.output, plain_secrets(controller.service)), step
        failures = run.failures()
        for name, machine in seen.items():
            calls = [call["operation"] for call in run.requests if call["method"] != "GET" and call["label"] == name]
            there = files(machine, name, expected.get(name, {}))
            results[name][step] = statuses.get(name, "no status"), failures.get(name, ""), calls, there
    return results


def assert_expected(results: Results, kind: str) -> None:
    """The results of all steps on the hosts of a kind."""
    for name, own in ways_of(kind).items():
        variables = {**kinds.VARIABLES, **own}
        mode = variables.get("monitor_agent_config_mode", "0600")
        for step, (status, written, is_there) in STEPS.items():
            found, message, calls, all_files = results[name][step]
            about = f"{kind}, {step}, {own}: {message}"
            installed = all_files.get(kinds.INSTALLED, [""])[0] == "as expected"
            there = {file: facts for file, facts in all_files.items() if file != kinds.INSTALLED}
            if kinds.KINDS[kind].error:
                assert (found == "failed") == (kinds.KINDS[kind].error in message), about
                assert found == "failed" or step not in WRITING, about
                assert not installed and not (there and step.startswith("undo")), about
                continue
            expected = {kinds.CONFIG: ["as expected", mode, 0]} if is_there else {}
            assert (found, calls, there) == (status, written, expected), about
            assert installed == (step != "check" and variables["monitor_agent_install_command"] != ""), about


def tables(results: Results) -> str:
    """The steps by kind, and the messages of the kinds that are not supported, in Markdown."""
    steps = [["Host", *(step.capitalize() for step in COLUMNS)], ["---"] * (len(COLUMNS) + 1)]
    errors = [["Host", "Message"], ["---"] * 2]
    for kind, properties in kinds.KINDS.items():
        cells = []
        for step, word in COLUMNS.items():
            statuses = {results[name][step][0] for name in ways_of(kind)}
            words = {STEPS[step][0]: word, "failed": "error", "ok": "unchanged"}
            cells.append(", ".join(sorted(words.get(status, status) for status in statuses)))
        steps.append([kind, *cells])
        for name in ways_of(kind) if properties.error else ():
            path = f"/{kinds.ROOT}/{name}/{kinds.CONFIG}"
            message = results[name]["run"][1].replace(path, "/etc/monitor/agent.conf").replace(name, "web-1")
            errors.append([kind, message])
    return "\n".join("".join(f"| {' | '.join(line)} |\n" for line in lines) for lines in (steps, errors))


def test_each_kind_of_host_has_the_expected_results_and_the_page_shows_them(
    controllers: Callable[..., Controller], machines: Callable[..., list[fleet.Host]]
) -> None:
    if absent := [name for name in kinds.NEEDED if shutil.which(name) is None]:
        pytest.skip(f"{' and '.join(absent)} not installed")
    results = run_all(controllers(), machines)
    for kind in kinds.KINDS:
        assert_expected(results, kind)
    (CHECKOUT / "build").mkdir(exist_ok=True)
    (CHECKOUT / "build" / "hosts.md").write_text(tables(results), encoding="utf-8")
    page = (CHECKOUT / "docs" / "hosts.md").read_text(encoding="utf-8")
    missing = [table for table in tables(results).split("\n\n") if table not in page]
    assert not missing, "copy the tables of build/hosts.md into docs/hosts.md"


# The directory that sshd and sudo put first into PATH.
TOOL_DIRECTORY = "/usr/local/sbin"
LOG = "/opt/agent-log"
RESTORECON = f"""#!/bin/sh
for name; do case $name in -*) continue; esac
kind=other; [ -f "$name" ] && kind=file; [ -L "$name" ] && kind=link
echo "$kind $(pwd -P) $name" >> {LOG}; done
"""
# What is in the directory, and whether the file gets a context: not if others could replace its name.
LABELLED = {
    ":": True,
    "ln -s elsewhere agent.conf; echo old > elsewhere": True,
    "ln -s nowhere agent.conf": True,
    f"chown {USER} .": False,
}


def test_a_new_file_gets_its_context_and_no_link_does(controller: Controller) -> None:
    """On hosts that appear to enforce SELinux, on which chcon fails; restorecon records its arguments."""
    for machine, prepare in zip(controller.hosts.values(), LABELLED, strict=True):
        machine.run(f"mkdir -p /etc/monitor; cd /etc/monitor; {prepare}")
        machine.write("1", "/sys/fs/selinux/enforce")
        machine.write("#!/bin/sh\nexit 1\n", f"{TOOL_DIRECTORY}/chcon", mode="755")
        machine.write(RESTORECON, f"{TOOL_DIRECTORY}/restorecon", mode="755")
    controller.succeed()
    for machine, labelled in zip(controller.hosts.values(), LABELLED.values(), strict=True):
        machine.run("rm -r /sys/fs/selinux")
        found = [line.split() for line in (machine.read(LOG) or "").splitlines()]
        paths = [(kind, os.path.normpath(os.path.join(directory, name))) for kind, directory, name in found]
        assert paths == [("file", fleet.CONFIG)] * labelled


# As community.general.sudosu, whose shell becomes an argument of the command for the login shell.
SUDOSU = """
from ansible.plugins.become import BecomeBase
DOCUMENTATION = '{options: {become_user: {vars: [{name: ansible_become_user}]}, become_pass: {}, become_flags: {}}}'
class BecomeModule(BecomeBase):
    name = "community.general.sudosu"
    def build_become_command(self, cmd, shell):
        super().build_become_command(cmd, shell)
        return cmd and f"sudo su -l {self.get_option('become_user')} {self._build_success_command(cmd, shell)}"
"""


def test_sudosu_to_a_user_with_another_login_shell(controller: Controller) -> None:
    plugins = controller.directory / "become_plugins"
    plugins.mkdir()
    (plugins / "sudosu.py").write_text(SUDOSU, encoding="utf-8")
    for machine, login in zip(controller.hosts.values(), ("bsd-csh", "fish", "tcsh", "zsh"), strict=True):
        user = f"root-in-{login}"
        added = {"passwd": f"{user}:x:0:0::/root:/bin/{login}", "shadow": f"{user}:*:19000:0:99999:7:::"}
        machine.run("\n".join(f"echo '{line}' >> /etc/{name}" for name, line in added.items()))
        controller.host_vars[machine.name] = {"ansible_become_user": user}
    controller.group_vars.update(ansible_user=USER, ansible_become_method="sudosu")
    controller.group_vars.update(monitor_agent_install_command="exit 1", monitor_agent_install_creates="/")
    converge(controller, role_play(controller, play="become: true"), changes=controller.hosts)


def test_a_login_shell_may_print_a_text_first(controller: Controller) -> None:
    installed, names = "/opt/agent-installed", controller.hosts
    controller.group_vars["monitor_agent_install_command"] = f"touch {installed}"
    controller.group_vars["monitor_agent_install_creates"] = installed
    greetings = ("echo Welcome", "printf Welcome", "set -x", "set -x; printf Welcome")
    for machine, greeting in zip(names.values(), greetings, strict=True):
        machine.run("sed -i 's,^\\(root:.*:\\).*,\\1/bin/bash,' /etc/passwd")
        machine.write(greeting, "/root/.bashrc")
    try:
        converge(controller, changes=names)
        assert all(machine.facts(installed) for machine in names.values())
        run = controller.run(ROLLOUT, "-e", "monitor_agent_config_owner=daemon")
        assert {event.result["differs"][0] for event in run.of(CONFIGURE).values()} == {"owner"}
        for machine in names.values():
            machine.write("0A1B2C3D-0000-4A91-C0DE5E171A7E0000\n")
        # The key is in the first line of such a file only.
        run = controller.run(ROLLOUT, "-e", "monitor_agent_config_template=api_key.j2")
        assert {event.result["key_owner"] for event in run.of(CONFIGURE).values()} == {"unknown"}
    finally:
        for machine in names.values():
            machine.run("rm /root/.bashrc")
