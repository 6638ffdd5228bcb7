# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the examples of README and of the documentation on hosts over SSH.

If the first line of a block is a comment with a path, the test writes the block to this path. A line after ``$`` is a
command, and its output must contain the next lines of the block. Each page starts in the project of README's first run,
with its vault. Pages that need a token in a play or in the environment also run without a vault.
"""

import configparser
import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pexpect
import pytest
import yaml

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support import certificates, fork_server
from ansible_collections.monitor.cloud.tests.support.documents import Block, blocks, strings
from ansible_collections.monitor.cloud.tests.support.hosts import USER, Host
from ansible_collections.monitor.cloud.tests.support.runs import ANSIBLE_PLAYBOOK, Controller, Local, texts
from ansible_collections.monitor.cloud.tests.support.servers import Proxy
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

README = CHECKOUT / "README.md"
ROLE = CHECKOUT / "roles" / "monitor_agent"
PAGES = [README, ROLE / "README.md", *sorted(CHECKOUT.glob("docs/*.md")), *sorted(CHECKOUT.glob("docs/docsite/rst/*"))]
ADDRESS = "https://api.example.com/v4"
# The pages split 10,000 hosts into halves. The tests have four hosts, so the tests replace these numbers.
HALVES = {"4999": "1", "5000": "2"}
WARNING = re.compile(r"\[WARNING\]: (.*)")
# Allowed warnings: the pages explain these messages.
OURS = re.compile("The service masks keys|hosts reported as other clients|carry a key of no client of this account")
PASSWORD = "of sudo"
# The files of README's first run, and the lines of these files that only a vault needs.
PROJECT = ("ansible.cfg", "group_vars/all/monitor.yml")
OF_THE_VAULT = ("vault_password_file", "monitor_agent_api_token")
SECONDS = 300
FIRST = "ansible-playbook -i inventory -b monitor.cloud.rollout"
AUDIT = "ansible-playbook -i inventory -b monitor.cloud.audit"
ROLLOUT = "ansible-playbook monitor.cloud.rollout"
# Examples that do not run. Columns: the first words of the example, the reason.
NOT_RUN = {
    "ansible-galaxy collection install": "needs a server that has the collection",
    "pip install": "needs an index of packages",
    "make ": "installs packages first",
    "mkdir -p build/try": "is run by test_the_emulator_can_be_tried",
    ".venv/bin/": "is run by test_the_emulator_can_be_tried",
    "ansible-runner transmit": "needs another machine",
    "groups:": "is for Prometheus",
    "fields:": "is for an automation controller",
    "env:": "is for an automation controller",
    "export ANSIBLE_GALAXY_SERVER_AUTOMATION_HUB_TOKEN": "needs Automation Hub",
    "[galaxy]": "needs Automation Hub",
    "- name: Register each host and write its key": "is tests/benchmark/today.yml, for comparison",
}
# Columns: the name of a page, the headings that split the page into parts. Several processes can run the parts.
PARTS = {"guide_tasks": ["Use sudo with a password", "Leave out a host"]}
INSTALLER = "/usr/local/sbin/install-agent"
AGENT = "/etc/init.d/monitor-agent"
SERVICE = """#!/bin/sh
case $1 in
stop) touch /tmp/agent-stopped ;;
start | restart) rm -f /tmp/agent-stopped ;;
status) [ ! -e /tmp/agent-stopped ] || exit 3; echo 'monitor-agent is running' ;;
esac
"""


class Reader:
    """A user who follows a page in a new directory."""

    def __init__(self, controller: Controller) -> None:
        self.directory = controller.directory
        self.service = controller.service
        self.hosts = controller.hosts
        # Each address in a page, and the address that replaces it in the test.
        self.addresses: dict[str, str] = {ADDRESS: self.service.base_url}
        self.servers = contextlib.ExitStack()
        controller.with_facts("sysvinit")
        # ansible-vault runs this program as the editor. The program writes the token to the file.
        editor = self.directory / "editor"
        token = self.service.tokens["read_write"]
        editor.write_text(f"#!/bin/sh\necho 'monitor_token: {token}' > \"$1\"\n", encoding="utf-8")
        editor.chmod(0o755)
        self.environment = {
            **controller.environment(self.directory / "record.jsonl"),
            "PATH": f"{ANSIBLE_PLAYBOOK.parent}{os.pathsep}{os.environ['PATH']}",
            "EDITOR": str(editor),
            "HOME": str(self.directory),
        }
        for name, host in self.hosts.items():
            reached = {"ansible_host": host.address, "ansible_port": host.port, "ansible_user": USER}
            # Without ansible_python_interpreter, the hosts would use the Python of the tests.
            reached["ansible_python_interpreter"] = "/usr/bin/python3"
            self.write(f"host_vars/{name}/here.yml", yaml.safe_dump(reached))
            host.write(SERVICE, AGENT, mode="755")
        self.write("inventory", "[web]\nweb-1\nweb-2\n[db]\ndb-1\ndb-2\n")

    def begin(self, vault: bool) -> None:
        """Make the project of README. Without a vault, the token is in the environment."""
        for name in self.service.environment():
            self.environment.pop(name, None)
        for block in blocks(README):
            if block.file in PROJECT:
                lines = block.text.splitlines(keepends=True)
                kept = [line for line in lines if vault or not line.startswith(OF_THE_VAULT)]
                self.write(block.file, "".join(kept))
        self.environment["ANSIBLE_CONFIG"] = str(self.directory / "ansible.cfg")
        if not vault:
            self.environment["MONITOR_API_TOKEN"] = self.service.tokens["read_write"]
            return
        shell = [block for block in blocks(README) if block.language == "console"]
        for command, _expected in [command for block in shell for command in block.commands]:
            if "vault" in command:
                self.run(command)

    def write(self, name: str, text: str) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if "ProxyJump" in text:
            # Open SSH connections do not use the jump host, so use another directory of connections.
            self.environment["ANSIBLE_SSH_CONTROL_PATH_DIR"] = str(self.directory / "cp")
        for shown, here in self.addresses.items():
            text = text.replace(shown, here)
        path.write_text(text, encoding="utf-8")

    def run(self, command: str) -> str:
        if export := re.fullmatch(r"export (\w+)=(\S+)", command):
            # A page shows "..." in place of an address or a token.
            known = {**self.environment, **self.service.environment()}
            value = known[export[1]] if export[2] == "..." else export[2]
            self.environment[export[1]] = self.addresses.get(value, value)
            return ""
        typed = command
        for shown, here in HALVES.items():
            typed = typed.replace(shown, here)
        program, *words = shlex.split(typed.replace("\\\n", ""))
        # The fork server cannot ask for a password, and does not search for ansible.cfg.
        if program in fork_server.PROGRAMS and "ANSIBLE_CONFIG" in self.environment and "-K" not in words:
            words.insert(0, str(ANSIBLE_PLAYBOOK.with_name(program)))
            code, printed = fork_server.run(words, self.directory, self.environment, SECONDS)
        else:
            code, printed = self._type(typed)
        assert code == 0, f"$ {typed}\n{printed}"
        assert not [line for line in WARNING.findall(printed) if not OURS.search(line)], printed
        return printed

    def _type(self, command: str) -> tuple[int, str]:
        """Run a command in a terminal, type passwords at its prompts, and return exit code and output."""
        screen, code = pexpect.run(
            "bash",
            # The shell keeps the terminal open until the command has ended.
            args=["-c", f"{command}\nexit $?"],
            events={r"(?i)become password[^\n]*: $": f"{PASSWORD}\n"},
            withexitstatus=True,
            cwd=str(self.directory),
            env=self.environment,
            encoding="utf-8",
            timeout=SECONDS,
            dimensions=(50, 200),
        )
        return -1 if code is None else code, screen

    def follow(self, block: Block) -> None:
        """Write a block to its file, or run the commands of a block and compare their output."""
        if block.file:
            self._follow_file(block.file, block.text)
        elif block.language == "console":
            self._follow_commands(block)

    def _follow_file(self, name: str, text: str) -> None:
        self.write(name, text)
        # A file such as .gitlab-ci.yml contains commands of CI jobs. Run these commands too.
        if name.startswith("."):
            jobs = [text for text in strings(yaml.safe_load(text)) if text.startswith("ansible-playbook")]
            assert [self.run(command) for command in jobs]

    def _follow_commands(self, block: Block) -> None:
        for command, expected in block.commands:
            if not is_run(command):
                continue
            printed = self.run(command).replace(f"{self.directory}/", "/srv/")
            missing = [line for line in expected if line not in " ".join(printed.split())]
            assert not missing, f"{block}: $ {command}\nprints nothing like\n{missing}\nbut\n{printed}"


def is_run(text: str) -> bool:
    return not text.removeprefix("$ ").startswith(tuple(NOT_RUN))


def examples(page: Path, part: int = 0) -> list[Block]:
    """Return the blocks that the test runs or writes to files, for a page or for one part of a page."""
    run = [block for block in blocks(page) if is_run(block.text.partition("\n")[2] if block.file else block.text)]
    text = page.read_text(encoding="utf-8")
    starts = [text.partition(f"\n{heading}\n")[0].count("\n") for heading in PARTS.get(page.stem, [])]
    return [block for block in run if sum(block.line > start for start in starts) == part]


def needs_token(page: Path, part: int) -> bool:
    """Return whether a part of a page has a play with modules of the service, or a token in the environment."""
    return any(re.search("api_token|API_TOKEN", block.text) for block in examples(page, part))


@pytest.fixture
def reader(controllers: Callable[..., Controller], running: list[Host]) -> Iterator[Reader]:
    reader = Reader(controllers(*running))
    with reader.servers:
        yield reader


def roll_out(reader: Reader) -> None:
    reader.run(ROLLOUT)


def broken(reader: Reader) -> None:
    """Make web-2 a clone of web-1, let all users read the file of db-1, and create a client without a host."""
    reader.service.set_plan("monitor-10")
    reader.run(ROLLOUT)
    reader.hosts["web-2"].write(texts(reader.service.clients())["web-1"])
    reader.hosts["db-1"].run("chmod 644 /etc/monitor/agent.conf")
    reader.service.seed(labels=["web-9"])


def configured_by_hand(reader: Reader) -> None:
    """Make web-2 a clone of web-1, give the client of db-1 another label, and leave db-2 without a client."""
    reader.service.seed(labels=["web-1", "old-db"])
    for host, label in {"web-1": "web-1", "web-2": "web-1", "db-1": "old-db"}.items():
        reader.hosts[host].write(f"# by hand\n{texts(reader.service.clients())[label]}")


def with_installer(reader: Reader) -> None:
    reader.run(ROLLOUT)
    for host in reader.hosts.values():
        host.write('#!/bin/sh\n[ -n "$MONITOR_INSTALL_CODE" ] && touch /opt/agent\n', INSTALLER, mode="755")


def everyday(reader: Reader) -> None:
    """Prepare a clone, a host without a file, a second account, a jump host, a private authority and a proxy."""
    reader.run(ROLLOUT)
    reader.hosts["web-2"].write(texts(reader.service.clients())["db-1"])
    reader.hosts["db-2"].run("rm /etc/monitor/agent.conf")
    certificate, key = certificates.loopback(reader.directory)
    staging = reader.servers.enter_context(Emulator())
    tls = ["--tls-cert", certificate, "--tls-key", key]
    private = reader.servers.enter_context(Emulator(arguments=tls, cafile=certificate))
    private.set_token("read_write", value=reader.service.tokens["read_write"], scopes=["monitor:read_write"])
    proxy = Proxy(("127.0.0.1", urlsplit(private.base_url).port or 0))
    reader.servers.callback(proxy.stop)
    reader.addresses |= {
        "https://api.staging.example.com/v4": staging.base_url,
        "https://monitoring.example.com/v4": private.base_url,
        "/etc/ssl/certs/example-authority.pem": certificate,
        "http://proxy.example.com:3128": f"http://127.0.0.1:{proxy.port}",
    }
    shutil.copytree(reader.directory / "host_vars", reader.directory / "staging" / "host_vars")
    # The page renames web-1 to web-3, so copy the cached facts of web-1 for web-3.
    for facts in Path(reader.environment["ANSIBLE_CACHE_PLUGIN_CONNECTION"]).glob("*web-1"):
        shutil.copy(facts, facts.with_name(facts.name.replace("web-1", "web-3")))
    jump = reader.hosts["web-1"]
    ssh = reader.directory / "ssh_config"
    environment = reader.environment
    ssh.write_text(
        f"Host jump.example.com\nHostName {jump.address}\nPort {jump.port}\nUser {USER}\nHost *\n"
        f"IdentityFile {environment['ANSIBLE_PRIVATE_KEY_FILE']}\nUserKnownHostsFile /dev/null\n"
        "StrictHostKeyChecking no\n",
        encoding="utf-8",
    )
    environment["ANSIBLE_SSH_ARGS"] += f" -F {ssh}"
    environment["STAGING_TOKEN"] = staging.tokens["read_write"]
    environment["MONITOR_READ_ONLY_TOKEN"] = reader.service.tokens["read_only"]


BEFORE: dict[str, Callable[[Reader], object]] = {
    "guide_adopt": configured_by_hand,
    "guide_audit": broken,
    "guide_brand": lambda reader: reader.service.configure(brand="watchtower"),
    "guide_rollout": with_installer,
    "guide_tasks": everyday,
    # The last part of this page leaves out hosts, so no host may have the key of another host.
    "guide_tasks-2": roll_out,
}
WITH_COMMANDS = [
    (page, part, vault)
    for page in PAGES[1:]
    for part in range(1 + len(PARTS.get(page.stem, [])))
    for vault in ([True, False] if needs_token(page, part) else [True])
    if any(block.commands for block in examples(page, part) if block.language == "console")
]


@pytest.mark.parametrize(
    ("page", "part", "vault"), WITH_COMMANDS, ids=lambda value: getattr(value, "stem", str(value).lower())
)
def test_the_examples_of_a_page_work(page: Path, part: int, vault: bool, reader: Reader) -> None:
    reader.begin(vault)
    prepare = BEFORE.get(f"{page.stem}-{part}") or BEFORE.get(page.stem, roll_out)
    prepare(reader)
    for block in examples(page, part):
        reader.follow(block)


def test_the_first_run_of_readme(reader: Reader, emulator: Emulator) -> None:
    for name in (*emulator.environment(), "ANSIBLE_CONFIG"):
        del reader.environment[name]
    for block in examples(README):
        reader.follow(block)
    again = reader.run(ROLLOUT)
    assert "changed=0" in again and not re.search("changed=[1-9]", again)
    assert {client["label"] for client in emulator.clients()} == set(reader.hosts)
    assert all(host.read() for host in reader.hosts.values())
    assert (reader.directory / "audit.html").exists()
    # If a host has no agent, the error message proposes an installation.
    reader.hosts["web-1"].run(f"rm {AGENT}")
    for options in ("", " --check"):
        with pytest.raises(AssertionError, match="has no service monitor-agent: install the agent"):
            reader.run(ROLLOUT + options)
    settings = configparser.ConfigParser()
    shown = configparser.ConfigParser()
    settings.read(CHECKOUT / "examples" / "ansible.cfg")
    shown.read(reader.directory / "ansible.cfg")
    assert settings == shown


def test_the_emulator_can_be_tried(emulator: Emulator, tmp_path: Path) -> None:
    (block,) = [block for block in blocks(README) if "build/try" in block.text]
    (tmp_path / ".venv").symlink_to(CHECKOUT / ".venv")
    shutil.copytree(CHECKOUT / "examples", tmp_path / "examples")
    environment = {**os.environ, **emulator.environment()}
    for option in ("--check", ""):
        command = " && ".join(command for command, _expected in block.commands)
        subprocess.run(f"{command} {option}", shell=True, check=True, cwd=tmp_path, env=environment, timeout=SECONDS)
    assert texts(emulator.clients()) == {path.stem: path.read_text() for path in tmp_path.glob("build/try/*.conf")}


def test_the_examples_of_the_role_work(reader: Reader) -> None:
    reader.write("group_vars/all/monitor.yml", f"monitor_agent_base_url: {ADDRESS}\n")
    reader.write("group_vars/all/token.yml", "monitor_token: " + reader.service.tokens["read_write"])
    specification = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    examples_of = {name: entry["examples"] for name, entry in specification["argument_specs"].items()}
    reader.run(FIRST)
    reader.run(f"{AUDIT} -e monitor_agent_audit_json=audits/1.json")
    for name in examples_of:
        tasks = textwrap.indent(examples_of[name], "    ")
        reader.write("site.yml", f"- hosts: all\n  gather_facts: false\n  become: true\n  tasks:\n{tasks}")
        reader.run("ansible-playbook -i inventory site.yml")
    assert {path.name for path in reader.directory.glob("*.[hx]*ml")} == {"audit.html", "audit.xml", "fleet.html"}
    assert len(reader.service.clients()) == len(reader.hosts)


def test_the_example_of_the_inventory_works(single: Local) -> None:
    single.service.seed(labels=["db-1", "web-1"])
    text = documented("inventory", "monitor.cloud.clients")["monitor.cloud.clients"]["examples"]
    (single.directory / "account.monitor_clients.yml").write_text(text, encoding="utf-8")
    shown = single.shell("ansible-inventory -i account.monitor_clients.yml --graph")
    assert shown.code == 0 and "@kind_db" in shown.output and "WARNING" not in shown.output, shown.output


PLAY = """
- hosts: all
  gather_facts: false
  handlers: [{{name: Restart the agent, ansible.builtin.debug: }}]
  tasks:
{tasks}
"""
# This program replaces curl. It prints an installer that checks the install code.
CURL = """#!/bin/sh
echo 'case "$MONITOR_INSTALL_CODE" in ????????-????-????-????????????????) echo ok > installed;; *) exit 9;; esac'
"""


def documented(kind: str, *arguments: str) -> dict[str, Any]:
    command = [str(ANSIBLE_PLAYBOOK.with_name("ansible-doc")), "--json", "--type", kind, *arguments]
    return dict(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


def test_the_examples_have_the_described_effect_without_a_warning(single: Local) -> None:
    directory = single.directory
    service = single.service
    # The examples of audit_report run first, because other examples use their registered results.
    examples = {"monitor.cloud.audit_report": ""}
    for kind in ("module", "filter"):
        for name, plugin in documented(kind, *documented(kind, "--list", "monitor.cloud")).items():
            examples[name] = plugin["examples"].replace("/etc/monitor/", f"{directory}/etc/")
    assert len(examples) >= 11 and all(examples.values())
    for path, text in {"bin/curl": CURL, "templates/agent.conf.j2": "{{ client.api_key }}\n"}.items():
        (directory / path).parent.mkdir()
        (directory / path).write_text(text, encoding="utf-8")
    (directory / "bin" / "curl").chmod(0o755)
    single.host_vars = {"web1": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}}
    single.group_vars = {"monitor_base_url": service.base_url, "monitor_api_token": service.tokens["read_write"]}
    play = "".join(PLAY.format(tasks=textwrap.indent(text, "    ")) for text in examples.values())
    # All files belong to the user of the tests, so no task needs become.
    path = f"{directory / 'bin'}{os.pathsep}{os.environ['PATH']}"
    run = single.run(single.play(play), "-e", "ansible_become=false", PATH=path)
    assert run.code == 0 and "WARNING" not in run.output, run.output
    assert (directory / "installed").read_text(encoding="utf-8") == "ok\n"
    assert service.clients() == []
    # The last example of agent_config removes the file that the previous example wrote.
    assert list((directory / "etc").iterdir()) == []
