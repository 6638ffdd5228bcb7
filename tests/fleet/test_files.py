# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What may be at the path of the configuration, whose key that carries, and how the file is owned and written."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint
from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, ROLLOUT, Controller, Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import (
    configured,
    converge,
    diffs,
    host,
    own_play,
    role_play,
    snapshots,
    text_of,
)

RIGHT = "regular file 600 root root"


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


# What is at the path, and whose key that carries.
BEFORE = {
    "mkdir -p /etc/monitor": "no_file",
    "rm -rf /etc/monitor": "no_file",
    "mkdir -p /etc/monitor; echo old > /etc/monitor/elsewhere; ln -s elsewhere /etc/monitor/agent.conf": "no_key",
    "mkdir -p /etc/monitor; ln -s nowhere /etc/monitor/agent.conf": "no_file",
    "mkdir -p /etc/monitor/elsewhere; ln -s elsewhere /etc/monitor/agent.conf": "no_file",
    f"mkdir -p /etc/monitor; echo old > {CONFIG}": "no_key",
}


def test_new_file(six: Controller) -> None:
    for machine, prepare in zip(six.hosts.values(), BEFORE, strict=True):
        machine.run(prepare)
    assert_converges(six, dict(zip(six.hosts, BEFORE.values(), strict=True)), dict.fromkeys(six.hosts, RIGHT))
    assert six.hosts["web-03"].read("/etc/monitor/elsewhere") == "old\n", "the target of the link is not changed"


ABSENT = ("-e", "monitor_agent_state=absent")
# What is at the path, and the start of the reason why a file is not written there; the last two are for a user.
REFUSED = {
    f"mkdir -p {CONFIG}": f"{CONFIG} is a directory",
    "mkdir /etc/monitor; mount -t tmpfs -o ro tmpfs /etc/monitor": f"{CONFIG} can't be written",
    f"mkdir /etc/monitor; touch {CONFIG}; mount --bind {CONFIG} {CONFIG}": f"{CONFIG} could not be {{}}: it is a mount",
    f"mkdir /etc/monitor; mkfifo {CONFIG}": f"{CONFIG} is neither a regular file nor",
    "mkdir -m 700 /opt/agent; ln -s /opt/agent/a/b /etc/monitor": f"{CONFIG} is in a directory that this user can't",
    f"mkdir -m 1777 /etc/monitor; ln -s nowhere {CONFIG}": f"{CONFIG} can't be written",
}


def test_what_cannot_be_written_is_refused(six: Controller) -> None:
    """Check mode and run fail alike, report the reason, and change nothing. Only what is not there needs no removal."""
    for machine, prepare in zip(six.hosts.values(), REFUSED, strict=True):
        machine.run(prepare)
    six.host_vars.update(dict.fromkeys(("web-05", "web-06"), {"ansible_user": USER}))
    before, reasons = snapshots(six), dict(zip(six.hosts, REFUSED.values(), strict=True))
    for state, done, refused in (((), "written", set(six.hosts)), (ABSENT, "removed", set(six.hosts) - {"web-02"})):
        starts = {name: reason.format(done) for name, reason in reasons.items()}
        for options in (["--check"], []):
            failures = six.run(ROLLOUT, *options, *state).failures()
            assert {name for name, start in starts.items() if failures.get(name, "").startswith(start)} == refused
            assert snapshots(six) == before
    assert six.run("monitor.cloud.audit").code == 0


# Replaced without being read: its target may be endless.
ENDLESS = (
    "mkfifo elsewhere; ln -s elsewhere agent.conf",
    "ln -s /dev/zero agent.conf",
    "truncate -s 1T elsewhere; ln -s elsewhere agent.conf",
    "truncate -s 1T agent.conf",
)


@pytest.mark.parametrize(("state", "expected"), [((), RIGHT), (ABSENT, "")], ids=["present", "absent"])
def test_endless_files_are_replaced_or_removed(controller: Controller, state: tuple[str, ...], expected: str) -> None:
    for machine, prepare in zip(controller.hosts.values(), ENDLESS, strict=True):
        machine.run(f"mkdir -p /etc/monitor; cd /etc/monitor; {prepare}")
    assert controller.run("monitor.cloud.audit").code == 0
    converge(controller, role_play(controller), *state, changes=controller.hosts)
    assert {machine.facts() for machine in controller.hosts.values()} == {expected}
    assert state or "4 ok" in controller.run("monitor.cloud.audit").output


# Replaces the file at the path by a FIFO, and back, until it is killed.
SWAPS = """
import ctypes, os, time
os.chdir("/etc/monitor")
open("agent.conf", "w").close()
os.mkfifo("other")
libc = ctypes.CDLL(None)
print("ready", flush=True)
while True:
    libc.renameat2(-100, b"agent.conf", -100, b"other", 2)
    # A tenth of what a process takes to start; without it, a processor would do nothing else.
    time.sleep(0.0001)
"""


def test_a_path_that_alternates_between_file_and_fifo(one: Controller) -> None:
    """The owner of the directory replaces one by the other, again and again."""
    machine = host(one)
    machine.run(f"mkdir -p /etc/monitor; chown {USER} /etc/monitor; echo '{SWAPS}' > /opt/agent-swaps.py")
    machine.run(f"setpriv --reuid={USER} --clear-groups python3 /opt/agent-swaps.py > /opt/agent-out 2>&1 & "
                "echo $! > /opt/agent-pid; until grep -q ready /opt/agent-out; do sleep 0.1; done")  # fmt: skip
    try:
        runs = [one.run("monitor.cloud.audit")]
        runs += [one.run(ROLLOUT, *mode, *state) for state in ((), ABSENT) for mode in (["--check"], [])]
    finally:
        machine.run("kill $(cat /opt/agent-pid)")
    for run in runs:
        assert "Traceback" not in run.output and run.code in (0, 2), run.output
        assert all(CONFIG in message for message in run.failures().values()), run.output


def test_a_terminal_that_the_connection_forces_has_no_end_of_input(controller: Controller) -> None:
    """As by `-tt` in ssh_args, or RequestTTY in a configuration of ssh. One of the hosts has a file."""
    names, command = controller.hosts, 'echo "$MONITOR_INSTALL_CODE" > /opt/agent'
    names["web-1"].write("old")
    controller.group_vars.update(ansible_ssh_extra_args="-tt", monitor_agent_install_creates="/opt/agent")
    controller.group_vars["monitor_agent_install_command"] = command
    assert_converges(controller, dict.fromkeys(names, "no_file") | {"web-1": "no_key"}, dict.fromkeys(names, RIGHT))
    codes = {client["label"]: f"{client['install_code']}\n" for client in controller.service.clients()}
    assert {name: machine.read("/opt/agent") for name, machine in names.items()} == codes


def test_check_mode_predicts_a_directory_that_a_run_does_not_enter(one: Controller) -> None:
    path, machine = "/opt/agent/etc/agent.conf", host(one)
    one.group_vars["monitor_agent_config_path"] = path
    machine.run("mkdir -p /opt/agent /opt/agent-1; ln -s ../agent-1 /opt/agent/etc; chown -h daemon /opt/agent")
    retire = ("monitor.cloud.retire", "-e", "target=all")
    for playbook, failure in (((ROLLOUT,), "written"), (retire, "removed")):
        messages = []
        for options in (("--check",), ()):
            run = one.run(*playbook, *options)
            messages.append(run.failures())
            assert f"{path} could not be {failure}: a parent directory is a symbolic link" in messages[-1]["web-1"]
            assert machine.run("ls -A /opt/agent-1").split() == ["agent.conf"] * (playbook == retire)
        assert messages[0] == messages[1]
        machine.write("old", path)
    assert one.run("monitor.cloud.audit").failures() == {}, "an audit writes nothing"


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
    facts = {}
    for name, (owned, expected) in zip(six.hosts, OWNED, strict=True):
        six.host_vars[name] = {f"monitor_agent_config_{option}": value for option, value in owned.items()}
        facts[name] = expected
    fifth, last = list(six.hosts.values())[-2:]
    fifth.run("echo 'daemon-2:x:1:1::/:/bin/sh' >> /etc/passwd; echo 'adm-2:x:4:' >> /etc/group")
    last.run(f"mkdir -p /etc/monitor; chown daemon /etc/monitor; chmod 700 /home/{USER}")
    six.host_vars[last.name].update(ansible_user=USER, ansible_become=True, ansible_become_user="daemon")
    assert_converges(six, dict.fromkeys(six.hosts, "no_file"), facts)
    for machine in six.hosts.values():
        machine.run(f"chown bin:bin {CONFIG}; chmod 666 {CONFIG}")
    assert_converges(six, dict.fromkeys(six.hosts, "own"), facts)
    fifth.run(f"chgrp daemon {CONFIG}")
    assert converge(six, changes={fifth.name}).run.of(CONFIGURE)[fifth.name].result["differs"] == ["group"]


def test_check_mode_warns_a_user_who_is_not_root(controller: Controller) -> None:
    """Of an owner and of a group, for a new file and for one that another user has."""
    given, own = [("owner", "user", "daemon"), ("group", "group", "1")], {"owner": USER, "group": "4242"}
    cases = dict(zip(controller.hosts, [*given, *given], strict=True))
    controller.group_vars["ansible_user"] = USER
    for number, (name, (option, _kind, value)) in enumerate(cases.items()):
        file = f"touch {CONFIG}; chown daemon:daemon {CONFIG}" if number > 1 else ":"
        controller.hosts[name].run(f"mkdir -p /etc/monitor; chown {USER} /etc/monitor; {file}")
        controller.host_vars[name] = {f"monitor_agent_config_{option}": value}
    play = role_play(controller)
    # Core wraps a warning, and only since 2.19 a result has it too.
    check = " ".join(controller.run(play, "--check").output.split())
    for name, (_option, kind, value) in cases.items():
        _before, _found, warning = check.partition(f"{CONFIG} on {name} can't get its owner and group: ")
        reason = f"only root can give files to the {kind} {value} (exit code 1)."
        assert warning.partition(" The run would fail, unless an earlier task adds")[0].endswith(reason)
    failures = controller.run(play).failures()
    assert [name for name in cases if "can't get its owner and group" in failures[name]] == list(cases)
    for name, (option, _kind, _value) in cases.items():
        controller.host_vars[name] = {f"monitor_agent_config_{option}": own[option]}
    assert "would fail" not in controller.run(play, "--check").output
    assert controller.run(play).code == 0


@pytest.mark.parametrize("in_variable", [False, True], ids=["options", "options in a variable"])
def test_backup_and_content(controller: Controller, in_variable: bool) -> None:
    for machine in controller.hosts.values():
        machine.run(f"mkdir -p /etc/monitor; echo old > {CONFIG}; chmod 644 {CONFIG}")
    content = "key: @api_key@ of {{ inventory_hostname }}"
    converge(
        controller,
        own_play(controller, content=content, backup=True, in_variable=in_variable),
        changes=controller.hosts,
    )
    keys = {client["label"]: client["api_key"] for client in controller.service.clients()}
    for name, machine in controller.hosts.items():
        assert machine.read() == f"key: {keys[name]} of {name}"
        assert machine.read(machine.run("ls /etc/monitor/agent.conf.*~").strip()) == "old\n"


def test_template_of_the_user_and_the_bare_key(one: Controller) -> None:
    templates = one.directory / "templates"
    templates.mkdir()
    (templates / "own.j2").write_text(
        "# {{ ansible_managed }}\n[{{ label }}]\nkey = '{{ client.api_key }}'\n"
        "{{ lookup('ansible.builtin.template', 'other.j2') }}{% include 'part.j2' %}\n"
    )
    (templates / "other.j2").write_text("code = {{ client.install_code }}\n")
    (templates / "part.j2").write_text("host = {{ inventory_hostname }}")
    book = role_play(one)
    one.group_vars["monitor_agent_config_template"] = "own.j2"
    converge(one, book, changes={"web-1"})
    (client,) = one.service.clients()
    key, code = client["api_key"], client["install_code"]
    assert host(one).read() == f"# Ansible managed\n[web-1]\nkey = '{key}'\ncode = {code}\nhost = web-1\n"
    one.group_vars["monitor_agent_config_template"] = "api_key.j2"
    steps = converge(one, book, changes={"web-1"})
    assert host(one).read() == f"{key}\n"
    assert steps.again.of(CONFIGURE)["web-1"].result["key_owner"] == "own"


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
    converge(two, changes={"web-1", "web-2"})
    for name in two.host_vars:
        lines = f"interval = 60\nname = {name}\ntags = a,b\nverbose = true\n"
        assert two.read(name) == f"{two.expected(name)}{lines}"
    two.host_vars["web-2"]["monitor_agent_settings"] = {}
    run = two.run("monitor.cloud.audit")
    assert "1 ok" in run.output and "web-2" in run.output and "outdated" in run.output.lower(), run.output
    converge(two, changes={"web-2"})
    assert two.read("web-2") == two.expected("web-2")


@pytest.mark.parametrize(
    ("settings", "reason"), [({"api_key": "x"}, "the name 'api_key'"), ({"a": "b\nc"}, "setting 'a'")]
)
def test_settings_that_cannot_be_written_fail_before_a_client_is_created(
    two: Local, settings: dict[str, str], reason: str
) -> None:
    two.group_vars["monitor_agent_settings"] = settings
    before = two.files()
    for options in (["--check"], []):
        run = two.run(ROLLOUT, *options)
        assert run.failures().keys() == {"web-1", "web-2"}
        assert all(reason in message for message in run.failures().values()), run.output
        assert (run.writes(), two.files()) == ([], before)


def test_an_acl_that_a_user_set_stays(two: Local) -> None:
    """A steady run reports no change, an audit nothing to do, and a replacement keeps what the agent may read."""
    path = two.path("web-1")
    if subprocess.run(["setfacl", "-m", "u:daemon:r", path], check=False, capture_output=True).returncode:
        pytest.skip("there are no ACLs")
    converge(two, changes={"web-2"})
    assert "2 ok" in two.succeed("monitor.cloud.audit").output
    two.group_vars["monitor_agent_settings"] = {"interval": 60}
    converge(two, changes={"web-1", "web-2"})
    entries = subprocess.run(["getfacl", "-cE", path], check=True, capture_output=True, text=True).stdout.split()
    assert entries == ["user::rw-", "user:daemon:r--", "group::---", "mask::r--", "other::---"]


def test_an_audit_reports_what_a_killed_run_has_left(two: Local) -> None:
    left = two.path("web-1").with_name(".agent.conf.writing-99999999-0123abcd")
    left.mkdir()
    left.chmod(0o1700)
    run = two.run("monitor.cloud.audit", "--limit", "web-1")
    assert "a run that was killed has left a directory beside the file" in " ".join(run.output.split()), run.output
    converge(two, changes={"web-1", "web-2"})
    assert not left.exists()


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"monitor_agent_config_owner": "unknown-user"}, "unknown-user"),
        ({"monitor_agent_config_owner": "+0"}, "owner '+0' must be a name or a number."),
        ({"monitor_agent_config_mode": "0240"}, "with which the owner can read the file."),
        ({"ansible_become": True, "ansible_become_flags": "-H -b"}, "sudo runs commands in the background"),
        ({"monitor_agent_config_path": f"/{'directory/' * 900}agent.conf"}, "Choose a shorter path"),
    ],
    ids=["owner", "number", "mode", "become", "path"],
)
def test_what_is_refused_before_a_client_is_created(two: Local, variables: dict[str, Any], reason: str) -> None:
    two.host_vars["web-2"].update(variables)
    run = two.run()
    assert (set(run.failures()), run.writes()) == ({"web-2"}, []), run.output
    assert reason in run.failures()["web-2"]


TRANSFORMS, EACH_TIME = "transforms the api_key or the install_code", "the text differs each time"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{{ client.api_key | b64encode }}", TRANSFORMS),
        ("{{ client.install_code[-1] }} {{ client.api_key }}", TRANSFORMS),
        ("{{ client.api_key }} {{ now().microsecond }}", EACH_TIME),
    ],
)
def test_a_template_that_transforms_a_key_or_differs_each_time_is_refused(two: Local, text: str, reason: str) -> None:
    """By check mode as by the run, for a host with a client and for a new one, and whether the file is there or not."""
    template, before = two.directory / "own.j2", two.files()
    template.write_text(text)
    two.group_vars["monitor_agent_config_template"] = str(template)
    for options in (["--check"], []):
        failures = two.run(ROLLOUT, *options).failures()
        assert failures.keys() == {"web-1", "web-2"}
        assert all(message.startswith(f"Could not render the template {template}: ") for message in failures.values())
        assert all(reason in message for message in failures.values()), failures
        assert two.files() == before
    template.write_text("install_code={{ client.install_code }}\napi_key={{ client.api_key }}\n")
    assert two.succeed(ROLLOUT).changed_hosts() == {"web-2"}


def test_an_encrypted_template_and_one_with_yaml_and_urls(pair: Local) -> None:
    password, template = pair.directory / "password", pair.directory / "own.j2"
    password.write_text("secret\n")
    template.write_text(
        "{{ {'key': client.api_key} | to_nice_yaml }}curl https://x/?{{ client.install_code | urlencode }}\n"
    )
    subprocess.run(
        [Path(sys.executable).with_name("ansible-vault"), "encrypt", "--vault-password-file", password, template],
        check=True,
    )
    pair.group_vars["monitor_agent_config_template"] = str(template)
    pair.succeed(ROLLOUT, "--vault-password-file", str(password))
    for client in pair.service.clients():
        text = f"key: {client['api_key']}\ncurl https://x/?{client['install_code']}\n"
        assert pair.read(client["label"]) == text


def test_the_header_of_a_template_counts(pair: Local) -> None:
    template = pair.directory / "own.j2"
    pair.group_vars["monitor_agent_config_template"] = str(template)
    header = '#jinja2: trim_blocks: False, variable_start_string: "[%", variable_end_string: "%]"'
    template.write_text(f"{header}\n{{% if true %}}\n[% label %] {{{{ literal }}}}\n{{% endif %}}\n")
    assert pair.run().code == 0
    assert pair.files() == {name: f"\n{name} {{{{ literal }}}}\n" for name in ("web-1", "web-2")}


UNKNOWN = "AAAABBBB-1111-2222-3333444455556666"


def owners(run: Run) -> dict[str, tuple[str, str | None]]:
    """By host, from the result: whose key it carried."""
    return {host: (event.result["key_owner"], event.result["owner_label"]) for host, event in run.of(CONFIGURE).items()}


def test_cloned_hosts_are_reported_and_fixed(four: Local) -> None:
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
    assert diffs(steps.check) == {name: (label or owner, name) for name, (owner, label) in expected.items()}
    assert configured(four) == set(four.host_vars)


_ACCESS = "read-write access"
_BOTH = {"web-1": _ACCESS, "web-2": _ACCESS}
# Settings of the service, a token, whose key web-2 has, a part of check mode's output, and of the failures.
# Other masks: tests/contract/client/test_secrets.py.
MASKED: list[tuple[dict[str, object], str, str, str, dict[str, str]]] = [
    ({"mask_for": "all", "mask_text": "[REDACTED]"}, "read_write", "no_key", _ACCESS, _BOTH),
    ({"mask_for": "all", "mask_text": f"{'0' * 8}-0000-0000-{'0' * 16}"}, "read_write", "no_key", _ACCESS, _BOTH),
    ({"mask_labels": ["web-1"], "mask_kind": "missing"}, "read_write", "no_file", "", {"web-1": _ACCESS}),
    # The client of web-2 could not be created.
    ({}, "read_only", "no_file", "the service will refuse what", {"web-1": _ACCESS, "web-2": "monitor:read_write"}),
]


def test_a_service_that_masks_keys_in_lists_only(two: Local) -> None:
    two.service.configure(mask_for="all", mask_in="lists", account_code="ACCT4711")
    assert two.succeed().changed_hosts() == {"web-1", "web-2"}
    keys = {client["label"]: client["api_key"] for client in two.service.clients()}
    assert all(two.read(host) == f"install_code=ACCT4711\napi_key={keys[host]}\n" for host in keys)
    again = two.succeed()
    assert (again.changed_hosts(), again.writes()) == (set(), [])
    assert again.calls().count("get_client") == 2
    assert "2 ok" in two.succeed("monitor.cloud.audit").output


@pytest.mark.parametrize(("settings", "token", "owner", "shown", "failures"), MASKED)
def test_masked_keys_are_never_written(
    two: Local, settings: dict[str, object], token: str, owner: str, shown: str, failures: dict[str, str]
) -> None:
    """One masked client stops no other."""
    if owner == "no_key":
        two.service.seed(labels=["web-2"])
        two.write("web-2", "nothing yet\n")
    before, written = snapshots(two), {"web-2"} - set(failures)
    two.service.configure(**settings)
    given = {"MONITOR_API_TOKEN": two.service.tokens[token]}
    check = two.succeed("monitor.cloud.rollout", "--check", "--diff", **given)
    assert owners(check) == {"web-1": ("unverifiable", None), "web-2": (owner, None)}
    assert check.changed_hosts() == ({"web-2"} if owner == "no_file" else set())
    assert shown in " ".join(check.output.split())
    for changed in (written, set[str]()):
        run = two.run(**given)
        assert (run.code, run.changed_hosts(), set(run.failures())) == (2, changed, set(failures))
        assert all(failures[host] in message for host, message in run.failures().items())
        assert owner == "no_file" or run.writes() == []
    assert {host for host, files in snapshots(two).items() if files != before[host]} == written
    assert all(two.read(host) == text_of(two, host) for host in written)
