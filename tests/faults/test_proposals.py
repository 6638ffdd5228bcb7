# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

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
# A step in the output of an audit: its title, its advice, its command.
_PROPOSAL = re.compile(
    r"^  (\w[^.\n(:]*?)(?: \(\w+\))?(?:: \d+)?\. (?:.+\n)+?    ((?:ANSIBLE_\w+=\w+ )?ansible-playbook .*)$",
    re.MULTILINE,
)
_TOGETHER = "All that a rollout repairs"
# What this command changes: the hosts, and the clients in the account.
_REPAIRED = ("clone-1", "clone-2", "strange-1", "strange-2", "fresh", "closed", "empty", "edited", "open")
_CREATED = ("create_client strange-1", "create_client fresh")


class Fleet(Local):
    def audit(self, *options: str, playbook: str = AUDIT) -> dict[str, str]:
        before = snapshots(self)
        run = self.succeed(playbook, *options)
        assert_sound(self.service, run.output)
        assert (run.writes(), snapshots(self)) == ([], before)
        return dict(_PROPOSAL.findall(run.output.partition("What to do:\n")[2]))

    def paste(
        self,
        command: str,
        options: str = "",
        *,
        hosts: Collection[str] = (),
        writes: Collection[str] = (),
        code: int = 0,
    ) -> Run:
        """Run a command. Assert that exactly ``hosts`` change, and that the write requests are exactly ``writes``."""
        before = snapshots(self)
        run = self.shell(f"{command} {options}")
        assert_sound(self.service, run.output, faults=1)
        assert run.code == code, f"{command}\n{run.output}"
        after = snapshots(self)
        assert {host for host in before if before[host] != after[host]} == set(hosts), command
        assert sorted(run.writes()) == sorted(writes), command
        tally(converged=1)
        return run


_LABELS = ["a.b", "a-1_B", "123", "retired-1", "retired-2", *(f"old-{number}" for number in range(6))]
_SPECIAL = [
    "a b{{ 7 }}", "x|y", "it's $(id)", "~web", '"quoted"', "back\\slash", "-x-", "é\U0001f600é", "a,b", "#';$(touch x)"
]  # fmt: skip


def test_each_proposal_fixes_its_finding(emulator: Emulator, tmp_path: Path) -> None:
    emulator.configure(validate_responses=False)
    # The path of the inventory contains a space, so commands must quote the path.
    (tmp_path / "my hosts").mkdir()
    of = Fleet(tmp_path / "my hosts", emulator)
    of.add(*HOSTS, "invalid")
    break_all(of)
    of.host_vars["invalid"]["monitor_agent_label"] = "ab"
    # left-1 has a file and a client, left-2 has only a client, left-3 has neither.
    of.add("left-1", "left-2", "left-3")
    of.service.seed(labels=["left-1", "left-2"])
    of.write("left-1", f"{of.expected('left-1')}# edited\n")
    for host in ("left-1", "left-2", "left-3"):
        of.host_vars[host]["monitor_agent_state"] = "{{ 'absent' }}" if host == "left-1" else "absent"
    commands = of.audit()
    # prune would refuse to run: a host is renamed, and another host is unreachable. So its step has no command.
    others = {"Unreachable", "Renamed hosts", "Not verifiable", "Monitoring to be removed"}
    assert set(commands) == {_TOGETHER, *others}
    # No command repairs these two states: a directory in place of a file, and a missing service.
    shutil.rmtree(of.path("closed"))
    of.host_vars["stopped"]["monitor_agent_service"] = ""
    of.inventory()
    of.paste(commands["Unreachable"])
    of.paste(commands["Not verifiable"])
    of.paste(commands["Renamed hosts"], writes=["update_client renamed"])
    assert of.read("renamed") == of.expected("renamed")
    of.paste(commands[_TOGETHER], hosts=_REPAIRED, writes=_CREATED)
    writes = ["delete_client left-1", "delete_client left-2"]
    of.paste(commands["Monitoring to be removed"], hosts=["left-1"], writes=writes)

    of.add("aXb")
    del of.host_vars["invalid"]
    of.service.seed(labels=["aXb", *_LABELS[:3], *_LABELS[5:], *_SPECIAL])
    of.service.set_plan("monitor-100")
    of.write("aXb", of.expected("aXb"))
    commands = of.audit()
    assert set(commands) == {"Unreachable", "Clients without a host"}
    # The proposed command contains no label with special characters.
    command = commands["Clients without a host"]
    # prune asks for a confirmation, and the test has no terminal.
    assert "Nothing was deleted, because the deletion was not confirmed." in of.paste(command, code=2).output
    of.paste(command, "-e prune_confirm=true", writes=[f"delete_client {label}" for label in _LABELS])
