# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Debian machines with systemd: what counts is the client under which the agent of each of them reports."""

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.support.hosts import CONFIG, USER
from ansible_collections.monitor.cloud.tests.support.machines import AGENT, SERVICE, UNIT, Machine, reporting
from ansible_collections.monitor.cloud.tests.support.runs import Controller
from ansible_collections.monitor.cloud.tests.support.steps import converge, labels

RESTART = "Restart the monitoring agent"
NAMES = ("web-1", "web-2", "db-1")


@pytest.fixture
def controller(controllers: Callable[..., Controller], booted: Callable[..., list[Machine]]) -> Controller:
    """A controller for the machines; one of them is reached by sudo."""
    made = controllers(*booted(*NAMES))
    made.group_vars["monitor_agent_service"] = SERVICE
    made.host_vars["db-1"] = {"ansible_user": USER, "ansible_become": True}
    made.with_facts("systemd")
    return made


def own(controller: Controller) -> dict[str, str]:
    """The reports that are expected of the machines: each under the client of its name in the inventory."""
    return {host.name: name for name, host in controller.hosts.items()}


def audit(controller: Controller, *, services: bool = True) -> tuple[dict[str, list[str]], list[str]]:
    """What an audit finds, and the commands that it proposes."""
    options = ["-e", f"monitor_agent_audit_service={services}"]
    run = controller.succeed("monitor.cloud.audit", "-e", "monitor_agent_audit_json=audit.json", *options)
    report = json.loads((controller.directory / "audit.json").read_text(encoding="utf-8"))
    proposed = re.findall("^    (ansible-playbook .*)", run.output, re.MULTILINE)
    return {found["host"]: found["states"] for found in report["hosts"]}, proposed


def test_agents_report_under_their_own_clients_until_they_are_retired(
    controller: Controller, booted: Callable[..., list[Machine]]
) -> None:
    """Also after a reboot, and after a host was renamed."""
    converge(controller, changes=NAMES)
    assert reporting(controller) == own(controller)

    booted("web-1")[0].reboot()
    assert reporting(controller) == own(controller)

    before = {client["id"]: client["label"] for client in controller.service.clients()}
    controller.hosts["web-9"] = controller.hosts.pop("web-1")
    controller.succeed("monitor.cloud.adopt")
    after = {client["id"]: client["label"] for client in controller.service.clients()}
    assert after == {number: label.replace("web-1", "web-9") for number, label in before.items()}
    assert controller.succeed().changed_hosts() == set()
    assert reporting(controller) == own(controller)

    retired = controller.succeed("monitor.cloud.retire", "-e", "target=all").changed_hosts()
    assert (retired, labels(controller)) == (set(controller.hosts), [])
    for host in controller.hosts.values():
        assert (host.read(), host.run(f"systemctl is-active {SERVICE}", check=False)) == (None, "inactive\n")


def test_an_audit_proposes_the_restart_that_failed_and_finds_a_stopped_agent(controller: Controller) -> None:
    controller.run()
    controller.service.reset()
    host = controller.hosts["web-1"]
    host.write("[Service]\nExecStart=not-an-absolute-path\n", f"{UNIT}.d/broken.conf")
    host.run("systemctl daemon-reload")
    assert set(controller.run().failures()) == {"web-1"}
    assert reporting(controller) == {**own(controller), "web-1": None}, "the agent has read its configuration again"
    controller.hosts["db-1"].run(f"systemctl stop {SERVICE}")
    host.run(f"rm -r {UNIT}.d; systemctl daemon-reload")
    states = {"web-1": ["restart_pending"], "web-2": ["ok"], "db-1": ["ok"]}
    assert audit(controller, services=False)[0] == states, "services are inspected on request only"
    controller.hosts["web-2"].run(f"systemctl disable {SERVICE}")
    states, proposed = audit(controller)
    assert states == {"web-1": ["restart_pending"], "web-2": ["agent_disabled"], "db-1": ["agent_stopped"]}
    assert proposed == [f"ansible-playbook monitor.cloud.rollout --limit {host}" for host in ("web-1", "db-1", "web-2")]
    for options in (["--check"], []):
        run = controller.succeed("monitor.cloud.rollout", *options)
        assert (run.changed_hosts(), run.changed_hosts(RESTART)) == ({"web-1"}, set(NAMES)), run.output
    assert controller.succeed().of(RESTART) == {}
    assert reporting(controller) == own(controller)
    assert audit(controller) == (dict.fromkeys(NAMES, ["ok"]), [])


PACKAGED = "packaged-agent"
OWN = f"/etc/{PACKAGED}.conf"
# It runs as a user that the package adds.
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
    """A directory that is a signed repository of apt with the package, and the key that signs it."""
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
    try:
        check = controller.succeed("monitor.cloud.rollout", "--check")
        assert check.changed_hosts() == {"web-1"}
        run = controller.succeed()
        assert run.writes() == ["create_client web-1"]
        assert reporting(controller) == own(controller)
        again = controller.succeed()
        assert [event.task for event in again.events if event.status == "changed"] == []
        retire = ("monitor.cloud.retire", "-e", "target=web-1", "-e", "monitor_agent_uninstall=true")
        assert controller.succeed(*retire, "--check").writes() == []
        assert reporting(controller) == own(controller)
        done = controller.succeed(*retire)
        assert done.writes() == ["delete_client web-1"] and "Removed, agent of: web-1" in done.output
        assert machine.run(f"systemctl is-active {PACKAGED}; ls /opt", check=False) == "inactive\nrepository\n"
        assert machine.read(OWN) is None and machine.run(f"dpkg -l {PACKAGED} | grep -c ^ii", check=False) == "0\n"
        assert [event.task for event in controller.succeed(*retire).events if event.status == "changed"] == []
    finally:
        machine.run(f"dpkg --purge {PACKAGED}; rm -rf /opt/repository /etc/apt/sources.list.d/monitor-agent.sources")
