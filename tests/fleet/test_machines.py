# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER, Host
from ansible_collections.monitor.cloud.tests.support.machines import AGENT, SERVICE, UNIT, Machine, reporting
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Controller
from ansible_collections.monitor.cloud.tests.support.steps import converge, labels, role_play

RESTART = "Restart the agent, or start it"
NAMES = ("web-1", "web-2", "db-1", "db-2")
RETIRE = ("monitor.cloud.retire", "--limit", "all")


@pytest.fixture
def controller(controllers: Callable[..., Controller], booted: Callable[..., list[Machine]]) -> Controller:
    made = controllers(*booted(*NAMES))
    made.group_vars["monitor_agent_service"] = SERVICE
    made.host_vars["db-1"] = {"ansible_user": USER, "ansible_become": True}
    made.with_facts("systemd")
    return made


def own(controller: Controller) -> dict[str, str]:
    """Return the label that each machine should report: the name of the host in the inventory."""
    return {host.name: name for name, host in controller.hosts.items()}


def audit(controller: Controller) -> dict[str, list[str]]:
    """Run an audit, and return the states of the service of each host."""
    controller.succeed("monitor.cloud.audit", "-e", "monitor_agent_audit_json=audit.json")
    report = json.loads((controller.directory / "audit.json").read_text(encoding="utf-8"))
    about = ("restart_pending", "agent_stopped", "agent_disabled")
    return {host["host"]: [state for state in host["states"] if state in about] for host in report["hosts"]}


def service_states(controller: Controller, command: str = "is-active") -> list[str]:
    return [host.run(f"systemctl {command} {SERVICE}", check=False).strip() for host in controller.hosts.values()]


def override(host: Host, lines: str) -> None:
    """Change the systemd unit without a restart. Empty ``lines`` undo the change."""
    host.run(f"rm -rf {UNIT}.d")
    if lines:
        host.write(f"[Service]\n{lines}\n", f"{UNIT}.d/of-the-test.conf")
    host.run("systemctl daemon-reload")


def test_agents_report_under_their_own_clients_until_they_are_retired(controller: Controller) -> None:
    """The agent of web-2 crashes repeatedly before the host is retired."""
    converge(controller, changes=NAMES)
    assert reporting(controller) == own(controller)
    assert set(service_states(controller, "is-enabled")) == {"enabled"}

    before = {client["id"]: client["label"] for client in controller.service.clients()}
    controller.hosts["web-9"] = controller.hosts.pop("web-1")
    controller.succeed("monitor.cloud.adopt")
    after = {client["id"]: client["label"] for client in controller.service.clients()}
    assert after == {number: label.replace("web-1", "web-9") for number, label in before.items()}
    assert controller.succeed().changed_hosts() == set()
    assert reporting(controller) == own(controller)

    override(controller.hosts["web-2"], ENDS.format(code=0, restart="always"))
    controller.hosts["web-2"].run(f"systemctl restart {SERVICE}")
    assert controller.succeed(*RETIRE, "--check").writes() == []
    assert "inactive" not in service_states(controller)
    retired = controller.succeed(*RETIRE).changed_hosts()
    assert (retired, labels(controller)) == (set(controller.hosts), [])
    assert [host.read() for host in controller.hosts.values()] == [None] * 4
    assert set(service_states(controller)) == {"inactive"}
    assert set(service_states(controller, "is-enabled")) == {"disabled"}
    assert [event.task for event in controller.succeed(*RETIRE).events if event.status == "changed"] == []


# Systemd settings of an agent that ends soon after its start.
ENDS = "ExecStart=\nExecStart=/bin/sh -c 'sleep 0.4; exit {code}'\nRestart={restart}"
# An agent can rewrite its file within 5 s after its start, so the test makes the file newer.
LATER = f"touch -d '6 seconds' {CONFIG}"
REPAIRED = {
    "web-1": (f"systemctl kill -s KILL {SERVICE}", "agent_stopped"),
    # The unit is fixed, but systemd waits an hour until the next start.
    "web-2": (f"systemctl restart {SERVICE}; sleep 1; rm -rf {UNIT}.d; systemctl daemon-reload", "agent_stopped"),
    "db-1": (f"systemctl disable {SERVICE}", "agent_disabled"),
    "db-2": (f"systemctl restart {SERVICE}; {LATER}", "restart_pending"),
}


def test_an_agent_that_does_not_run_is_found_and_started(controller: Controller) -> None:
    controller.succeed()
    override(controller.hosts["web-2"], ENDS.format(code=1, restart="always\nRestartSec=1h"))
    for name, (command, _state) in REPAIRED.items():
        controller.hosts[name].run(command)
    # This run skips the restart, so a restart is pending, as after a killed run.
    controller.hosts["db-1"].write("old\n")
    controller.succeed(ROLLOUT, "--limit", "db-1", "--skip-tags", "monitor_agent_service")
    controller.hosts["db-1"].run(LATER)
    states = {name: [state] for name, (_command, state) in REPAIRED.items()}
    assert audit(controller) == {**states, "db-1": ["restart_pending", "agent_disabled"]}
    for options in (["--check"], []):
        run = controller.succeed(ROLLOUT, *options)
        assert (run.changed_hosts(), run.changed_hosts(RESTART)) == (set(), set(NAMES)), run.output
    assert reporting(controller) == own(controller)
    assert audit(controller) == {name: [] for name in NAMES}


def test_an_agent_that_can_not_run_fails_its_host(controller: Controller) -> None:
    """A host without a unit, or with a masked unit, fails before its client is created."""
    hosts = controller.hosts
    hosts["web-1"].run(f"rm {UNIT}; systemctl daemon-reload")
    hosts["web-2"].run(f"rm {UNIT}; systemctl mask {SERVICE}")
    override(hosts["db-1"], ENDS.format(code=0, restart="always"))
    override(hosts["db-2"], ENDS.format(code=1, restart="no"))
    expected = {
        "web-1": f"web-1 has no service {SERVICE}: install the agent (monitor_agent_packages), choose another service "
        '(monitor_agent_service), or set monitor_agent_service: "".',
        "web-2": f"The service {SERVICE} of web-2 is masked. Run systemctl unmask {SERVICE} on the host, or set "
        'monitor_agent_service: "".',
    }
    assert controller.run(ROLLOUT, "--check").failures() == expected
    ends = (
        "The agent was started, but does not run: the service {} of {} is {}. Find the reason on the "
        "host with journalctl -u {}"
    )
    expected["db-1"] = ends.format(SERVICE, "db-1", "activating (it crashes repeatedly)", SERVICE)
    expected["db-2"] = ends.format(SERVICE, "db-2", "failed", SERVICE)
    run = controller.run()
    failures = run.failures()
    assert {name: failures[name][: len(text)] for name, text in expected.items()} == expected
    assert sorted(run.writes()) == ["create_client db-1", "create_client db-2"]
    assert audit(controller) == {name: ["agent_stopped"] for name in NAMES}


PACKAGED = "packaged-agent"
OWN = f"/etc/{PACKAGED}.conf"
PACKAGE = {
    "DEBIAN/control": f"Package: {PACKAGED}\nVersion: 1.2-1\nArchitecture: all\nMaintainer: agent\n"
    "Description: agent\n",
    "DEBIAN/postinst": f"#!/bin/sh\nid {PACKAGED} 2>/dev/null || useradd -r {PACKAGED}\n"
    "touch /opt/left\nsystemctl daemon-reload\n",
    f"usr/bin/{PACKAGED}": AGENT.replace(CONFIG, OWN),
    f"lib/systemd/system/{PACKAGED}.service": f"[Unit]\nConditionPathExists={OWN}\n[Service]\nUser={PACKAGED}\n"
    f"ExecStart=/usr/bin/{PACKAGED} {{url}}\n[Install]\nWantedBy=multi-user.target\n",
}


def repository(directory: Path, url: str) -> tuple[Path, str]:
    """Make a signed apt repository with the package, and return its directory and its public key."""
    made = directory / "repository"
    made.mkdir()
    for name, text in PACKAGE.items():
        path = directory / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{url}", url), encoding="utf-8")
        path.chmod(0o644 if name.endswith(("control", "service")) else 0o755)
    home = {"GNUPGHOME": str(directory), "PATH": "/usr/bin:/bin"}

    def run(*command: str) -> str:
        return subprocess.run(command, cwd=made, env=home, check=True, stdout=subprocess.PIPE, text=True).stdout

    run("dpkg-deb", "--build", "--root-owner-group", str(directory / "package"), "agent.deb")
    data = (made / "agent.deb").read_bytes()
    facts = f"Filename: ./agent.deb\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
    index = PACKAGE["DEBIAN/control"] + facts
    (made / "Packages").write_text(index, encoding="utf-8")
    digest = hashlib.sha256(index.encode()).hexdigest()
    (made / "Release").write_text(f"Suite: ./\nSHA256:\n {digest} {len(index)} Packages\n", encoding="utf-8")
    batch = ("gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "")
    run(*batch, "--quick-generate-key", "agent@example.com", "ed25519")
    run(*batch, "--clearsign", "--output", "InRelease", "Release")
    key = run("gpg", "--armor", "--export")
    run("gpgconf", "--kill", "gpg-agent")
    return made, key


def test_an_agent_is_rolled_out_from_a_repository_and_uninstalled(
    controllers: Callable[..., Controller], booted: Callable[..., list[Machine]], tmp_path: Path
) -> None:
    controller = controllers(*booted("web-1"))
    (machine,) = booted("web-1")
    made, key = repository(tmp_path, f"{controller.service.base_url.rpartition('/')[0]}/_emulator/reports")
    # Without the package lists of Debian, apt is faster.
    machine.run("rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /var/lib/apt/lists/*")
    shutil.copytree(made, f"/proc/{machine.first_process}/root/opt/repository")
    controller.group_vars |= {
        "monitor_agent_repository": {"uris": ["file:///opt/repository"], "suites": ["./"], "signed_by": key},
        "monitor_agent_packages": [f"{PACKAGED}=1.2-1"],
        "monitor_agent_service": PACKAGED,
        "monitor_agent_config_path": OWN,
        "monitor_agent_config_owner": PACKAGED,
        "monitor_agent_uninstall_command": "rm /opt/left",
        "monitor_agent_uninstall_removes": "/opt/left",
    }
    # A play of a user often sets this default. The package lists of the new repository must still be fetched.
    play = role_play(controller, play="module_defaults: {ansible.builtin.apt: {cache_valid_time: 86400}}")
    library = "/usr/lib/python3/dist-packages/apt_pkg"
    retire = (*RETIRE, "-e", "monitor_agent_uninstall=true")
    try:
        # Check mode works without python3-apt, which a run would install.
        machine.run(f"for f in {library}*.so; do mv $f $f.away; done")
        check = controller.succeed("monitor.cloud.rollout", "--check")
        assert check.changed_hosts() == {"web-1"}
        controller.succeed(*retire, "--check")
        machine.run(f"for f in {library}*.so.away; do mv $f ${{f%.away}}; done")
        run = controller.succeed(play)
        assert run.writes() == ["create_client web-1"]
        assert reporting(controller) == own(controller)
        again = controller.succeed()
        assert [event.task for event in again.events if event.status == "changed"] == []
        # The role fetches package lists if the host has none.
        machine.run(f"dpkg --purge {PACKAGED}; systemctl daemon-reload; rm -rf /var/lib/apt/lists/*")
        assert audit(controller) == {"web-1": ["agent_stopped"]}
        assert controller.succeed("monitor.cloud.rollout", "--check").changed_hosts(RESTART) == {"web-1"}
        assert controller.succeed(play).of("Install the packages again, with new package lists").keys() == {"web-1"}
        assert reporting(controller) == own(controller) and audit(controller) == {"web-1": []}
        assert controller.succeed(*retire, "--check").writes() == []
        assert reporting(controller) == own(controller)
        done = controller.succeed(*retire)
        assert done.writes() == ["delete_client web-1"]
        assert machine.run(f"systemctl is-active {PACKAGED}; ls /opt", check=False) == "inactive\nrepository\n"
        assert machine.read(OWN) is None and machine.run(f"dpkg -l {PACKAGED} | grep -c ^ii", check=False) == "0\n"
        assert [event.task for event in controller.succeed(*retire).events if event.status == "changed"] == []
    finally:
        machine.run(f"dpkg --purge {PACKAGED}; rm -rf /opt/repository /etc/apt/sources.list.d/monitor-agent.sources")
