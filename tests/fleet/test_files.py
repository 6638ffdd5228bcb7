# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What may be at the path of the configuration, whose key that carries, and how the file is owned and written."""

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER, Host
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, ROLLOUT, Controller, Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import (
    configured,
    converge,
    diffs,
    labels,
    own_play,
    role_play,
    snapshots,
    text_of,
)

RIGHT = "regular file 600 root root"
INSPECT = "Inspect the host"
MakeController = Callable[..., Controller]


def assert_converges(controller: Controller, owners: Mapping[str, str], facts: Mapping[str, str]) -> None:
    """Check mode, run and second run are as expected, and leave the right keys and nothing beside the files."""
    steps = converge(controller, changes=controller.hosts)
    assert "would fail" not in steps.check.output
    for run in (steps.check, steps.run):
        assert {name: event.result["key_owner"] for name, event in run.of(CONFIGURE).items()} == owners
    for name, machine in controller.hosts.items():
        assert machine.read() == text_of(controller, name)
        assert machine.facts() == facts[name]
        assert machine.run("ls -A /etc/monitor | grep -v -x -e agent.conf -e elsewhere; :") == ""


TERMINAL = {
    "ansible_ssh_extra_args": "-tt",
    "monitor_agent_install_command": 'echo "$MONITOR_INSTALL_CODE" > /opt/agent',
    "monitor_agent_install_creates": "/opt/agent",
}
# What is at the path, whose key that carries, and variables. A terminal that the connection forces, as by `-tt` in
# ssh_args, or RequestTTY in a configuration of ssh, has no end of input.
BEFORE: list[tuple[str, str, dict[str, Any]]] = [
    ("rm -rf /etc/monitor", "no_file", {}),
    ("mkdir -p /etc/monitor; echo old > /etc/monitor/elsewhere; ln -s elsewhere /etc/monitor/agent.conf", "no_key", {}),
    ("mkdir -p /etc/monitor; ln -s nowhere /etc/monitor/agent.conf", "no_file", {}),
    ("mkdir -p /etc/monitor/elsewhere; ln -s elsewhere /etc/monitor/agent.conf", "no_file", {}),
    ("rm -rf /etc/monitor", "no_file", TERMINAL),
    (f"mkdir -p /etc/monitor; echo old > {CONFIG}", "no_key", TERMINAL),
]


def test_new_file(machines: Callable[..., list[Host]], controllers: MakeController) -> None:
    controller, owners = controllers(*machines(*(f"web-{number:02}" for number in range(1, len(BEFORE) + 1)))), {}
    for machine, (prepare, owner, variables) in zip(controller.hosts.values(), BEFORE, strict=True):
        machine.run(prepare)
        controller.host_vars[machine.name] = variables
        owners[machine.name] = owner
    assert_converges(controller, owners, dict.fromkeys(owners, RIGHT))
    assert controller.hosts["web-02"].read("/etc/monitor/elsewhere") == "old\n", "the target of the link is not changed"
    codes = {client["label"]: f"{client['install_code']}\n" for client in controller.service.clients()}
    for name in ("web-05", "web-06"):
        assert controller.hosts[name].read("/opt/agent") == codes[name]


# What is at the path, and the reason why a file is not written there. Two are for a user.
REFUSED = {
    f"mkdir -p {CONFIG}": "it is neither a file nor a symbolic link",
    f"mkdir /etc/monitor; mkfifo {CONFIG}": "it is neither a file nor a symbolic link",
    "mkdir /etc/monitor; mount -t tmpfs -o ro tmpfs /etc/monitor": "this user can't write in /etc/monitor/",
    "touch /etc/monitor": "/etc/monitor is not a directory",
    "mkdir /opt/agent; ln -s /opt/agent /etc/monitor; chmod 777 /opt": "another user than root can change /opt/",
    "mkdir -m 700 /opt/agent; ln -s /opt/agent/a /etc/monitor": "this user can't write in /etc/",
    f"mkdir -m 777 /etc/monitor; echo old > {CONFIG}": "only root can give files to daemon",
}


def test_what_cannot_be_written_is_refused(machines: Callable[..., list[Host]], controllers: MakeController) -> None:
    """Check mode and run fail alike, report the reason, and change nothing."""
    controller = controllers(*machines(*(f"web-{number:02}" for number in range(1, len(REFUSED) + 1))))
    for machine, prepare in zip(controller.hosts.values(), REFUSED, strict=True):
        machine.run(prepare)
    controller.host_vars = {name: {"ansible_user": USER} for name in ("web-06", "web-07")}
    controller.host_vars["web-07"]["monitor_agent_config_owner"] = "daemon"
    before, reasons = snapshots(controller), dict(zip(controller.hosts, REFUSED.values(), strict=True))
    for options in (["--check"], []):
        failures = controller.run(ROLLOUT, *options).failures()
        assert failures == {name: f"{CONFIG} can't be changed: {reason}." for name, reason in reasons.items()}
        assert snapshots(controller) == before
    assert labels(controller) == []
    assert controller.run("monitor.cloud.audit").code == 0, "an audit writes nothing"


# What is at the path, which is replaced or removed without being read: its target may be endless.
ENDLESS = [
    ("mkfifo elsewhere; ln -s elsewhere agent.conf", "present"),
    ("ln -s /dev/zero agent.conf", "present"),
    ("truncate -s 1T elsewhere; ln -s elsewhere agent.conf", "present"),
    ("truncate -s 1T agent.conf", "present"),
    ("ln -s /dev/zero agent.conf", "absent"),
    ("truncate -s 1T agent.conf", "absent"),
]


def test_endless_files_are_replaced_or_removed(six: Controller) -> None:
    expected = {}
    for machine, (prepare, state) in zip(six.hosts.values(), ENDLESS, strict=True):
        machine.run(f"mkdir -p /etc/monitor; cd /etc/monitor; {prepare}")
        six.host_vars[machine.name] = {"monitor_agent_state": state}
        expected[machine.name] = RIGHT if state == "present" else ""
    assert six.run("monitor.cloud.audit").code == 0
    converge(six, changes=six.hosts)
    assert {name: machine.facts() for name, machine in six.hosts.items()} == expected
    six.host_vars.clear()
    assert "(2 not_registered, 4 ok)" in six.run("monitor.cloud.audit").output


# What is set, and what the file then has.
OWNED: list[tuple[dict[str, Any], str]] = [
    ({"owner": "daemon"}, "regular file 600 daemon root"),
    ({"owner": "1"}, "regular file 600 daemon root"),
    ({"owner": "daemon", "group": "adm", "mode": "0640"}, "regular file 640 daemon adm"),
    ({"group": "4"}, "regular file 600 root adm"),
    # Another name of the same owner is no difference: a directory service may show `svc` as `svc@example.com`.
    ({"owner": "daemon-2", "group": "adm-2"}, "regular file 600 daemon adm"),
    # By a user who cannot enter the working directory.
    ({"owner": "daemon"}, "regular file 600 daemon daemon"),
]


def test_owner_group_and_mode(six: Controller) -> None:
    """Of files that have others."""
    facts = {}
    for name, (owned, expected) in zip(six.hosts, OWNED, strict=True):
        six.host_vars[name] = {f"monitor_agent_config_{option}": value for option, value in owned.items()}
        facts[name] = expected
    fifth, last = list(six.hosts.values())[-2:]
    fifth.run("echo 'daemon-2:x:1:1::/:/bin/sh' >> /etc/passwd; echo 'adm-2:x:4:' >> /etc/group")
    last.run(f"mkdir -p /etc/monitor; chown daemon /etc/monitor; chmod 700 /home/{USER}")
    six.host_vars[last.name].update(ansible_user=USER, ansible_become=True, ansible_become_user="daemon")
    six.succeed()
    assert {name: machine.facts() for name, machine in six.hosts.items()} == facts
    for machine in six.hosts.values():
        machine.run(f"chown bin:bin {CONFIG}; chmod 666 {CONFIG}")
    assert_converges(six, dict.fromkeys(six.hosts, "own"), facts)


def test_backup_and_content_of_options_in_a_variable(one: Controller) -> None:
    (machine,) = one.hosts.values()
    machine.run(f"mkdir -p /etc/monitor; echo old > {CONFIG}; chmod 644 {CONFIG}")
    content = "key: @api_key@ of {{ inventory_hostname }}"
    play = own_play(one, content=content, backup=True, in_variable=True)
    converge(one, play, changes={"web-1"})
    [client] = one.service.clients()
    assert machine.read() == f"key: {client['api_key']} of web-1"
    assert machine.read(machine.run("ls /etc/monitor/agent.conf.*~").strip()) == "old\n"
    machine.run(f"truncate -s 70000 {CONFIG}")
    assert "the old file is too large for a backup" in one.run(play).failures()["web-1"]


# By host: its template, and the text that this makes.
TEMPLATES = {
    "web-1": (
        "# {{ ansible_managed }}\n[{{ label }}]\nkey = '{{ client.api_key }}'\n"
        "{{ lookup('ansible.builtin.template', 'other.j2') }}{% include 'part.j2' %}\n",
        "# Ansible managed\n[web-1]\nkey = '{api_key}'\ncode = {install_code}\nhost = web-1\n",
    ),
    # Encrypted.
    "web-2": (
        "{{ {'key': client.api_key} | to_nice_yaml }}curl https://x/?{{ client.install_code | urlencode }}\n",
        "key: {api_key}\ncurl https://x/?{install_code}\n",
    ),
    "db-1": (
        '#jinja2: trim_blocks: False, variable_start_string: "[%", variable_end_string: "%]"\n'
        "{% if true %}\n[% label %] {{ literal }} [% client.api_key %]\n{% endif %}\n",
        "\ndb-1 {{{{ literal }}}} {api_key}\n",
    ),
    # Of the role.
    "db-2": ("", "{api_key}\n"),
}


def test_template_of_the_user_and_the_bare_key(four: Local) -> None:
    templates, password = four.directory / "templates", four.directory / "password"
    templates.mkdir()
    (templates / "other.j2").write_text("code = {{ client.install_code }}\n")
    (templates / "part.j2").write_text("host = {{ inventory_hostname }}")
    for name, (text, _expected) in TEMPLATES.items():
        (templates / f"{name}.j2").write_text(text)
        four.host_vars[name]["monitor_agent_config_template"] = f"{name}.j2" if text else "api_key.j2"
    password.write_text("secret\n")
    vault = Path(sys.executable).with_name("ansible-vault")
    subprocess.run([vault, "encrypt", "--vault-password-file", password, templates / "web-2.j2"], check=True)
    steps = converge(four, role_play(four), "--vault-password-file", str(password), changes=four.host_vars)
    clients = {client["label"]: client for client in four.service.clients()}
    assert four.files() == {name: text.format(**clients[name]) for name, (_template, text) in TEMPLATES.items()}
    assert steps.again.of(INSPECT)["db-2"].result["key_owner"] == "own"


@pytest.fixture
def two(pair: Local) -> Local:
    """Two hosts, web-1 and web-2. The first has a client, and carries its key."""
    pair.service.seed(labels=["web-1"])
    pair.write("web-1", text_of(pair, "web-1"))
    return pair


SETTINGS = {"interval": 60, "verbose": True, "tags": ["a", "b"], "name": "{{ inventory_hostname }}"}


def test_settings_are_written_by_the_default_template(two: Local) -> None:
    """An audit reports a host whose settings differ."""
    two.group_vars["monitor_agent_settings"] = SETTINGS
    assert two.succeed().changed_hosts() == {"web-1", "web-2"}
    for name in two.host_vars:
        lines = f"interval = 60\nname = {name}\ntags = a,b\nverbose = true\n"
        assert two.read(name) == f"{two.expected(name)}{lines}"
    two.host_vars["web-2"]["monitor_agent_settings"] = {}
    run = two.run("monitor.cloud.audit")
    assert "1 ok" in run.output and "outdated" in run.output, run.output


UNKNOWN = "AAAABBBB-1111-2222-3333444455556666"


def owners(run: Run) -> dict[str, tuple[str, str | None]]:
    """By host, from the plan: whose key it carried."""
    return {host: (event.result["key_owner"], event.result["owner_label"]) for host, event in run.of(INSPECT).items()}


def test_cloned_hosts_are_reported_and_fixed(four: Local) -> None:
    four.group_vars["monitor_agent_replace_key"] = True
    four.service.seed(labels=["elsewhere", "web-1"])
    expected = {
        "web-1": ("own", "web-1"),
        "web-2": ("other", "web-1"),
        "db-1": ("other", "elsewhere"),
        "db-2": ("unknown", None),
    }
    for name in ("web-1", "web-2"):
        four.write(name, text_of(four, "web-1"))
    # In another form than the template's.
    four.write("db-1", f'Key: "{four.service.clients()[0]["api_key"]}"\n')
    four.write("db-2", f"install_code={UNKNOWN[::-1]}\napi_key={UNKNOWN}\n")
    steps = converge(four, changes={"web-2", "db-1", "db-2"})
    assert owners(steps.check) == owners(steps.run) == expected
    assert steps.check.of(CONFIGURE)["db-2"].result["key_fingerprint"] == fingerprint(UNKNOWN)
    assert owners(steps.again) == {name: ("own", name) for name in four.host_vars}
    del expected["web-1"]
    assert diffs(steps.check) == {name: (label or owner, name) for name, (owner, label) in expected.items()}
    assert configured(four) == set(four.host_vars)
    check, run, again = (" ".join(each.output.split()) for each in (steps.check, steps.run, steps.again))
    text = r"(\S+) carried the key of client '\S+', so it reported as that client\. The host {} the key of '\1'\."
    assert set(re.findall(text.format("would get"), check)) == {"web-2", "db-1"}
    assert set(re.findall(text.format("now has"), run)) == {"web-2", "db-1"}
    assert "carried the key" not in again


_ACCESS = "read-write access"
# The file of web-1 has a key, which stays: it cannot be compared.
# Settings of the service, a token, a part of check mode's output, and of the failures.
# Other masks: tests/contract/client/test_secrets.py.
MASKED: list[tuple[dict[str, object], str, str, dict[str, str]]] = [
    ({"mask_labels": ["web-1", "web-2"], "mask_text": "[REDACTED]"}, "read_write", _ACCESS, {"web-2": _ACCESS}),
    # The client of web-3 cannot be created.
    ({}, "read_only", "the service will refuse what", {"web-2": _ACCESS, "web-3": "monitor:read_write"}),
]


def test_a_service_that_masks_keys_in_lists_only(two: Local) -> None:
    two.service.configure(mask_for="all", mask_in="lists", account_code="ACCT4711")
    assert two.succeed().changed_hosts() == {"web-1", "web-2"}
    keys = {client["label"]: client["api_key"] for client in two.service.clients()}
    assert all(two.read(host) == f"install_code=ACCT4711\napi_key={keys[host]}\n" for host in keys)
    again = two.succeed()
    assert (again.changed_hosts(), again.writes()) == (set(), [])
    assert again.calls().count("get_client") == 2


@pytest.mark.parametrize(("settings", "token", "shown", "failures"), MASKED)
def test_masked_keys_are_never_written(
    three: Local, settings: dict[str, object], token: str, shown: str, failures: dict[str, str]
) -> None:
    """One masked client stops no other: web-3 is new."""
    three.service.seed(labels=["web-1", "web-2"])
    three.write("web-1", text_of(three, "web-1"))
    three.write("web-2", "nothing yet\n")
    before, written = snapshots(three), {"web-3"} - set(failures)
    three.service.configure(**settings)
    given = {"MONITOR_API_TOKEN": three.service.tokens[token]}
    check = three.succeed("monitor.cloud.rollout", "--check", "--diff", **given)
    assert owners(check) == {"web-1": ("unverifiable", None), "web-2": ("no_key", None), "web-3": ("no_file", None)}
    # Before 2.19 core breaks lines at hyphens too.
    assert check.changed_hosts() == {"web-3"} and "".join(shown.split()) in "".join(check.output.split())
    run = three.run(**given)
    assert (run.code, run.changed_hosts(), set(run.failures())) == (2, written, set(failures))
    assert all(failures[host] in message for host, message in run.failures().items())
    assert {host for host, files in snapshots(three).items() if files != before.get(host)} == written
    assert all(three.read(host) == text_of(three, host) for host in written)


def test_how_many_commands_a_host_gets(controller: Controller) -> None:
    """One to plan; to write, one more that inspects, and one that writes."""
    hosts, counted = list(controller.hosts.values()), "/opt/agent-seen"
    for host in hosts:
        host.write(f'#!/bin/sh\necho >> {counted}\nexec /bin/sh "$@"\n', "/opt/agent-shell", mode="755")
    controller.group_vars.update(ansible_shell_executable="/opt/agent-shell")

    def commands() -> list[int]:
        controller.succeed()
        return [host.run(f"cat {counted}; : > {counted}").count("\n") for host in hosts]

    hosts[0].write("api_key=of an image\n")
    assert commands() == [3, 3, 3, 3]
    hosts[1].run(f"rm {CONFIG}")
    assert commands() == [1, 3, 1, 1]
