# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The commands that an audit proposes, pasted: they change what the finding names, and nothing else."""

import re
import shutil
from collections.abc import Collection
from pathlib import Path

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.fleet.broken import HOSTS, break_all
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.runs import Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import snapshots

AUDIT = "monitor.cloud.audit"
# A title, what it means, and the command below.
_PROPOSAL = re.compile(
    r"^  (\w[^.\n(:]*?)(?: \(\w+\))?(?:: \d+)?\. (?:.+\n)+?    ((?:ANSIBLE_\w+=\w+ )?ansible-playbook .*)$",
    re.MULTILINE,
)
# Each state that a rollout repairs: the hosts that it changes, and its writes.
_ROLLOUTS: dict[str, tuple[list[str], list[str]]] = {
    "Key of another client": (["clone-1", "clone-2"], []),
    "Unknown key": (["strange-1", "strange-2"], ["create_client strange-1"]),
    "Not registered": (["fresh"], ["create_client fresh"]),
    "Not configured": (["closed", "empty"], []),
    "Outdated configuration": (["edited"], []),
    "Agent stopped": ([], []),
    "Wrong permissions": (["open"], []),
}
_TOGETHER = "All that a rollout repairs"


class Fleet(Local):
    """Hosts that are directories, and what a command changes: files on hosts, and the account."""

    def audit(self, *options: str, playbook: str = AUDIT) -> dict[str, str]:
        """The commands that an audit proposes, by the title of their finding, as they are printed."""
        before = snapshots(self)
        run = self.succeed(playbook, *options)
        assert_sound(self.service, run.output)
        assert (run.writes(), snapshots(self)) == ([], before)
        return dict(_PROPOSAL.findall(run.output.partition("What to do:\n")[2]))

    def paste(
        self, command: str, options: str = "", *, hosts: Collection[str] = (), writes: Collection[str] = ()
    ) -> Run:
        """Run a command, with options: it changes these hosts, makes these calls, and nothing else."""
        before = snapshots(self)
        run = self.shell(f"{command} {options}")
        assert_sound(self.service, run.output, faults=1)
        assert run.code == 0, f"{command}\n{run.output}"
        after = snapshots(self)
        assert {host for host in before if before[host] != after[host]} == set(hosts), command
        assert sorted(run.writes()) == sorted(writes), command
        tally(converged=1)
        return run


# Clients without a host.
_LABELS = ["a.b", "a-1_B", "123", "retired-1", "retired-2", *(f"old-{number}" for number in range(6))]
_SPECIAL = [
    "a b{{ 7 }}", "x|y", "it's $(id)", "~web", '"quoted"', "back\\slash", "-x-", "é\U0001f600é", "a,b", "#';$(touch x)"
]  # fmt: skip


def test_each_proposal_fixes_its_finding(emulator: Emulator, tmp_path: Path) -> None:
    emulator.configure(validate_responses=False)
    # A name that a shell would split.
    (tmp_path / "my hosts").mkdir()
    of = Fleet(tmp_path / "my hosts", emulator)
    of.add(*HOSTS, "invalid")
    break_all(of)
    of.host_vars["invalid"]["monitor_agent_label"] = "ab"
    # Their monitoring is to be removed: one has a file and a client, one a client, one nothing.
    of.add("left-1", "left-2", "left-3")
    of.service.seed(labels=["left-1", "left-2"])
    of.write("left-1", f"{of.expected('left-1')}# edited\n")
    for host in ("left-1", "left-2", "left-3"):
        of.host_vars[host]["monitor_agent_state"] = "{{ 'absent' }}" if host == "left-1" else "absent"
    found = of.audit()
    others = {"Unreachable", "Renamed hosts", "Not verifiable", "Monitoring to be removed", "Clients without a host"}
    assert set(found) == {*_ROLLOUTS, _TOGETHER, *others}
    # The users' part: a directory in place of a file, and a service that does not exist.
    shutil.rmtree(of.path("closed"))
    of.host_vars["stopped"]["monitor_agent_service"] = ""
    of.inventory()
    of.paste(found["Unreachable"])
    of.paste(found["Not verifiable"])
    of.paste(found["Renamed hosts"], writes=["update_client renamed"])
    assert of.read("renamed") == of.expected("renamed")
    for title, (hosts, writes) in _ROLLOUTS.items():
        of.paste(found[title], hosts=hosts, writes=writes)
    of.paste(found[_TOGETHER])
    writes = ["delete_client left-1", "delete_client left-2"]
    of.paste(found["Monitoring to be removed"], hosts=["left-1"], writes=writes)

    of.add("aXb")
    del of.host_vars["invalid"]
    of.service.seed(labels=["aXb", *_LABELS[:3], *_LABELS[5:], *_SPECIAL])
    of.service.set_plan("monitor-100")
    of.write("aXb", of.expected("aXb"))
    found = of.audit()
    assert set(found) == {"Unreachable", "Clients without a host"}
    # Exactly the clients whose labels the pattern names; those with special characters are in no command.
    command = found["Clients without a host"]
    assert "Nothing was deleted." in of.paste(command).output
    of.paste(command, "-e prune_confirm=true", writes=[f"delete_client {label}" for label in _LABELS])
