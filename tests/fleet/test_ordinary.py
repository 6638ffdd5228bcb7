# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import base64
import getpass
import json
import re
import socket
import sys
import typing as t
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import client_label
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.fleet.ordinary import CASES, REFUSED, hostile
from ansible_collections.monitor.cloud.tests.support.runs import UNREACHABLE, Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import labels

ROLE = "monitor.cloud.monitor_agent"
TASKS = {"IMPORT": {"ansible.builtin.import_role": {"name": ROLE}}, "INCLUDE": {"include_role": {"name": ROLE}}}
TEXT = "install_code={install_code}\napi_key={api_key}\n"
PASSWORD = b"secret"
GATHER = {"hosts": "all", "gather_facts": True, "gather_subset": ["min"], "ignore_unreachable": True}


def usual(case: Mapping[str, t.Any]) -> int:
    """Return the number of hosts of a case: 2 if the case depends on labels or on single hosts, else 1."""
    return 1 + any(word in str(case) for word in ("label", "without", "FIRST", "SECOND"))


class Fleet:
    """The hosts and the playbook of several cases. ``c07a`` is the first host of case 7."""

    def __init__(self, controller: Local, cases: Mapping[str, dict[str, t.Any]]) -> None:
        self.controller = controller
        self.cases = cases
        self.hosts = {
            name: case.get("names") or [f"c{number:02}{letter}" for letter in "abc"[: case.get("hosts", usual(case))]]
            for number, (name, case) in enumerate(cases.items())
        }
        controller.group_vars["ansible_python_interpreter"] = sys.executable
        (controller.directory / "password").write_bytes(PASSWORD)
        self._plays: list[dict[str, t.Any]] = []
        self._paths: dict[str, str] = {}
        groups: dict[str, t.Any] = {}
        for number, (name, case) in enumerate(cases.items()):
            hosts = self.hosts[name]
            group = f"c{number:02}"
            self._words = {"GROUP": group, "ROLE": ROLE, **dict(zip(("FIRST", "SECOND", "THIRD"), hosts, strict=False))}
            controller.add(*hosts)
            for host in hosts:
                self._paths[host] = str(controller.path(host))
                if "monitor_agent_config_path" in case.get("vars", {}):
                    del controller.host_vars[host]["monitor_agent_config_path"]
            if case.get("unreachable"):
                controller.host_vars[hosts[0]] |= UNREACHABLE
            groups[group] = {"hosts": dict.fromkeys(hosts), "vars": self._filled(case.get("vars", {}))}
            for path, content in self._filled(case.get("files", {})).items():
                self._write(path, content)
            plays = self._filled(case.get("play", {"roles": ["ROLE"]}))
            self._plays += [{"hosts": group, **play} for play in (plays if isinstance(plays, list) else [plays])]
            warns = self._filled(case.get("warns", []))
            case["warns"] = warns if isinstance(warns, list) else [warns]
        self._write("groups.yml", groups)

    def _filled(self, value: t.Any) -> t.Any:
        """Replace placeholders such as FIRST and {token} in a value."""
        text = json.dumps(value)
        for name, task in TASKS.items():
            text = text.replace(f'"{name}"', json.dumps(task))
        for name, word in self._words.items():
            text = text.replace(name, word)
        fqdn = socket.getfqdn()
        token = self.controller.service.tokens["read_write"]
        words = {"node": socket.gethostname().split(".")[0], "fqdn": fqdn, "domain": fqdn.partition(".")[2]}
        for name, word in {**words, "user": getpass.getuser(), "token": token}.items():
            text = text.replace(f"{{{name}}}", word)
        return json.loads(text)

    def _write(self, path: str, content: t.Any) -> None:
        file = self.controller.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
        if text.startswith("VAULT:"):
            text = VaultLib([("default", VaultSecret(PASSWORD))]).encrypt(text.removeprefix("VAULT:")).decode()
        file.write_text(text, encoding="utf-8")

    def run(self, *options: str, facts: bool = False, **environment: str) -> Run:
        plays = [GATHER] * facts + [{"gather_facts": False, **play} for play in self._plays]
        options = ("-i", "groups.yml", "--vault-password-file", "password", *options)
        return self.controller.run(self.controller.play(json.dumps(plays)), *options, **environment)

    def wrong(self, run: Run) -> list[str]:
        """Compare the state after a run with the expected results, and return the differences."""
        clients = {client["label"]: client for client in self.controller.service.clients()}
        wrong = []
        expected = set[str]()
        for name, case in self.cases.items():
            text = case.get("text", TEXT)
            label = case.get("label", "{host}")
            more = {str(self.controller.directory / file): label for file, label in case.get("more", {}).items()}
            for number, host in enumerate(self.hosts[name]):
                for path, pattern in {**({self._paths[host]: label} if text else {}), **more}.items():
                    own = client_label(host) if pattern == "{host}" else self._filled(pattern).replace("{host}", host)
                    file = Path(path.replace("{host}", host))
                    then = None
                    if number not in case.get("without", ()):
                        expected.add(own)
                        client = clients.get(own, {"api_key": "", "install_code": ""})
                        words = {"host": host, "b64": base64.b64encode(client["api_key"].encode()).decode()}
                        then = (text or TEXT).format(**client, **words, upper=client["install_code"].upper())
                    content = file.read_text(encoding="utf-8") if file.exists() else None
                    wrong += [f"{name}: {file} has {content!r} instead of {then!r}"] if content != then else []
                    if content and file.stat().st_mode & 0o777 != case.get("mode", 0o600):
                        wrong.append(f"{name}: {file} has the mode {file.stat().st_mode:o}")
        warnings = re.findall(r"^\[WARNING\]: (.*?)$(?=\n\S|\n\n|\n\[)", run.output, re.MULTILINE | re.DOTALL)
        ours = [" ".join(text.split()) for text in warnings if "monitor" in text]
        warns = [text for case in self.cases.values() for text in case.get("warns", [])]
        wrong += [f"not one warning: {text}" for text in warns if sum(text in each for each in ours) != 1]
        wrong += [f"no such warning: {text}" for text in ours if not any(each in text for each in warns)]
        return [*wrong, *(f"client {label}" for label in clients.keys() ^ expected)]


# These cases run with and without facts.
BOTH = ("play vars", "set_fact", "names of facts", "module_defaults")
PLAIN = [name for name, case in CASES.items() if not case.get("facts")]
WITH_FACTS = [name for name, case in CASES.items() if case.get("facts") or name in BOTH]
SIZE = 10
CHUNKS = [
    (names[start : start + SIZE], facts)
    for names, facts in ((PLAIN, False), (WITH_FACTS, True))
    for start in range(0, len(names), SIZE)
]


@pytest.mark.parametrize(("names", "facts"), CHUNKS, ids=lambda value: value[0] if isinstance(value, list) else None)
def test_ordinary_playbooks_do_what_they_say(emulator: Emulator, tmp_path: Path, names: list[str], facts: bool) -> None:
    cases = {name: dict(CASES[name]) for name in names}
    fleet = Fleet(Local(tmp_path, emulator), cases)
    if names == PLAIN[:SIZE]:
        check = fleet.run("--check")
        assert (check.code, check.writes()) == (0, []), check.output
    run = fleet.run(facts=facts)
    assert (run.code, fleet.wrong(run)) == (0, []), run.output
    again = fleet.run(facts=facts)
    changed = {event.host for event in again.events if event.status == "changed"}
    once = {host for name, case in cases.items() if case.get("again") is False for host in fleet.hosts[name]}
    assert (again.code, changed - once) == (0, set()), again.output
    assert fleet.wrong(again) == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_names_the_reason(emulator: Emulator, tmp_path: Path, name: str) -> None:
    case = {"without": {*range(3)} - {*REFUSED[name].get("configured", ())}, **REFUSED[name]}
    fleet = Fleet(Local(tmp_path, emulator), {name: case})
    run = fleet.run()
    assert (run.code, fleet.wrong(run)) == (2, []), run.output
    [message] = set(run.failures().values())
    assert re.search(fleet._filled(case["error"]), message), message


def test_facts_of_a_hostile_host_are_harmless_without_injection(emulator: Emulator, tmp_path: Path) -> None:
    fleet = Fleet(Local(tmp_path, emulator), {"hostile": hostile("monitor_agent_base_url")})
    run = fleet.run(ANSIBLE_INJECT_FACT_VARS="false")
    assert (run.code, fleet.wrong(run)) == (0, []), run.output


def test_labels_of_facts_with_a_limit(emulator: Emulator, tmp_path: Path) -> None:
    """Labels of hosts outside --limit are unknown, because these hosts have no facts."""
    fleet = Fleet(Local(tmp_path, emulator), {"fact": dict(CASES["fact"])})
    for host in (1, 0):
        run = fleet.run("--limit", fleet.hosts["fact"][host], facts=True)
        assert run.code == 0 and len(labels(fleet.controller)) == 2 - host, run.output
    assert fleet.wrong(run) == []
