# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What README and the documentation show is run as it stands, page by page, on hosts that are reached over SSH.

A block whose first line is a comment with a path is that file; commands follow a ``$``, and lines without one have to
be in the command's output.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest
import yaml

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.documents import Block, blocks
from ansible_collections.monitor.cloud.tests.support.hosts import USER, Host
from ansible_collections.monitor.cloud.tests.support.runs import Controller
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

README = CHECKOUT / "README.md"
PAGES = [README]
ADDRESS = "https://api.example.com/v4"
PASSWORD = "of the vault"
ROLLOUT = "ansible-playbook -i inventory -b monitor.cloud.rollout --ask-vault-pass"
# By the text with which commands or files begin: why they are not run here.
NOT_RUN = {
    "ansible-galaxy collection install": "needs a server that has the collection",
    "pip install": "needs an index of packages",
    "make ": "takes long, and is run by tests of its own",
    "export ANSIBLE_GALAXY_SERVER_AUTOMATION_HUB_TOKEN": "needs Automation Hub",
    "[galaxy]": "needs Automation Hub",
}
# What reads a file that no command of the page names.
READ_WITHOUT_A_NAME = ("group_vars/", "host_vars/", "inventory", "requirements.yml", "templates/")
SERVICE = "#!/bin/sh\n[ \"$1\" = status ] && echo 'monitor-agent is running'\nexit 0\n"


class Reader:
    """A person who does what a page says, in a directory of its own."""

    def __init__(self, controller: Controller) -> None:
        self.directory = controller.directory
        self.service = controller.service
        self.hosts = controller.hosts
        # What the last run of each command printed.
        self.last: dict[str, str] = {}
        record = self.directory / "record.jsonl"
        record.touch()
        self._environment = {
            **controller.environment(record),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "EDITOR": self._editor(),
            "HOME": str(self.directory),
        }
        self._describe_hosts()

    def _describe_hosts(self) -> None:
        """Write the inventory of the pages, and how the hosts are reached here."""
        groups: dict[str, list[str]] = {}
        for name in self.hosts:
            groups.setdefault(name.partition("-")[0], []).append(name)
        lines = (line for group, names in groups.items() for line in (f"[{group}]", *names, ""))
        self.write("inventory", "\n".join(lines))
        for name, host in self.hosts.items():
            reached = {"ansible_host": host.address, "ansible_port": host.port, "ansible_user": USER}
            # Which the controller, on which some tasks run, does not have.
            reached["ansible_python_interpreter"] = "/usr/bin/python3"
            self.write(f"host_vars/{name}/here.yml", yaml.safe_dump(reached))
            host.write(SERVICE, "/etc/init.d/monitor-agent", mode="755")

    def _editor(self) -> str:
        """A program in place of an editor: it writes the token into the file that it is given."""
        editor = self.directory / "editor"
        token = self.service.tokens["read_write"]
        editor.write_text(f"#!/bin/sh\necho 'monitor_token: {token}' > \"$1\"\n", encoding="utf-8")
        editor.chmod(0o755)
        return str(editor)

    def write(self, name: str, text: str) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(ADDRESS, self.service.base_url), encoding="utf-8")

    def run(self, command: str) -> str:
        """Type a command at a terminal, and the vault's password at its prompts, and return what is on the screen."""
        typed = command.replace(ADDRESS, self.service.base_url)
        screen = io.StringIO()
        terminal = pexpect.spawn(
            "bash",
            ["-c", typed],
            cwd=str(self.directory),
            env=self._environment,
            encoding="utf-8",
            timeout=300,
            dimensions=(50, 200),
        )
        terminal.logfile_read = screen
        while terminal.expect([r"(?i)vault password[^\n]*: $", pexpect.EOF]) == 0:
            terminal.sendline(PASSWORD)
        terminal.close()
        self.last[command] = printed = screen.getvalue()
        assert terminal.exitstatus == 0, f"$ {typed}\n{printed}"
        assert "WARNING" not in printed, printed
        return printed

    def follow(self, block: Block) -> None:
        """Write the block's file, or run its commands and compare what they print."""
        if block.file:
            self.write(block.file, block.text)
            return
        for command, expected in block.commands:
            if reason_not_to_run(command):
                continue
            printed = {" ".join(line.split()) for line in self.run(command).splitlines()}
            missing = [line for line in expected if line not in printed]
            assert not missing, f"{block}: $ {command}\nprints no line\n{missing}\nbut\n" + "\n".join(sorted(printed))


def reason_not_to_run(text: str) -> str | None:
    """Why a command, or a file, is not for this test; None if it is."""
    return next((reason for start, reason in NOT_RUN.items() if text.removeprefix("$ ").startswith(start)), None)


def examples(page: Path) -> list[Block]:
    """What of a page is run or written."""
    return [block for block in blocks(page) if not reason_not_to_run(body(block))]


def body(block: Block) -> str:
    """The text without the line that names the file."""
    return block.text.partition("\n")[2] if block.file else block.text


@pytest.fixture
def reader(controllers: Callable[..., Controller], running: list[Host]) -> Reader:
    return Reader(controllers(*running))


def test_the_examples_of_readme_work(reader: Reader, emulator: Emulator) -> None:
    for block in examples(README):
        reader.follow(block)
    # It is shown twice.
    assert "changed=0" in reader.last[ROLLOUT]
    assert not re.search("changed=[1-9]", reader.last[ROLLOUT])
    assert {client["label"] for client in emulator.clients()} == set(reader.hosts)
    assert all(host.read() for host in reader.hosts.values())
    assert (reader.directory / "audit.html").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_block_is_run_or_has_a_reason(page: Path) -> None:
    named = "".join(command for block in blocks(page) if block.language == "console" for command, _ in block.commands)
    for block in blocks(page):
        if block.language in ("", "console", "text") or reason_not_to_run(body(block)):
            continue
        assert block.file, f"{block}: no comment in its first line names the file that it is"
        assert block.file.startswith(READ_WITHOUT_A_NAME) or block.file in named, (
            f"{block}: no command uses {block.file}"
        )


def test_each_reason_not_to_run_is_needed() -> None:
    found = [block for page in PAGES for block in blocks(page)]
    commands = [command for block in found if block.language == "console" for command, _ in block.commands]
    texts = [*map(body, found), *commands]
    assert [start for start in NOT_RUN if not any(text.startswith(start) for text in texts)] == []
