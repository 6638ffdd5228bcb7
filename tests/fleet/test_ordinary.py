# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ordinary users write: each case has a play and hosts of its own, and works, or fails with one clear error."""

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

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import client_label
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, UNREACHABLE, Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import labels, role_play

# By name of the case: the play or plays (all have the hosts of the case, the hosts FIRST, SECOND and THIRD of the group
# GROUP), variables of the group, and files beside the playbook; then what is expected: label and file (text) of each
# host, more files by name (with their label), hosts without a client (without), and a part of the one warning (warns).
# Other than in playbooks ROLE is monitor.cloud.monitor_agent, and IMPORT, INCLUDE are tasks that use it.
CASES: dict[str, dict[str, t.Any]] = yaml.safe_load(r"""
the role and nothing else: {}

# Labels from anywhere. One warning, if the inventory gives another label.
short fact: {facts: true, hosts: 1, label: "{node}-c2",
  vars: {monitor_agent_label: "{{ ansible_hostname | lower }}-{{ env }}", env: c2}}
fact: {facts: true, label: "{node}-{host}",
  vars: {monitor_agent_label: "{{ ansible_facts.hostname }}-{{ inventory_hostname }}"}}
fqdn: {facts: true, hosts: 1, label: "{fqdn}-c3", vars: {monitor_agent_label: "{{ ansible_fqdn }}-c3"}}
fact with a default: {label: "x-{host}",
  vars: {monitor_agent_label: "{{ ansible_local.id | default('x-' ~ inventory_hostname) }}"}}
play vars: {play: {vars: &p {monitor_agent_label: "p-{{ inventory_hostname }}"}, roles: [ROLE]},
  label: "p-{host}", warns: &differs The inventory does not give the monitor_agent_label of FIRST that}
play vars of one host: {play: {vars: {monitor_agent_label: one-host}, roles: [ROLE]}, hosts: 1, label: one-host,
  warns: *differs}
play vars as the inventory: {play: {vars: {monitor_agent_label: "{{ inventory_hostname }}"}, roles: [ROLE]}}
role params: {play: {roles: [{role: ROLE, monitor_agent_label: "p-{{ inventory_hostname }}"}]},
  label: "p-{host}", warns: *differs}
vars of include_role: {play: {tasks: [{include_role: {name: ROLE}, vars: *p}]}, label: "p-{host}", warns: *differs}
vars of a block: {play: {tasks: [{vars: *p, block: [IMPORT]}]}, label: "p-{host}", warns: *differs}
vars_files: {play: {vars_files: [label.yml], roles: [ROLE]}, files: {label.yml: *p}, label: "p-{host}", warns: *differs}
include_vars: {play: {tasks: [{include_vars: label.yml}, IMPORT]}, files: {label.yml: *p}, label: "p-{host}"}
wrapper role: {play: {roles: [wrapper]}, label: "p-{host}", warns: *differs,
  files: {roles/wrapper/tasks/main.yml: [IMPORT], roles/wrapper/vars/main.yml: *p}}
wrapper role with parameters: {play: {roles: [{role: wrapping, site: p}]}, label: "p-{host}", warns: *differs,
  files: {roles/wrapping/tasks/main.yml: [{include_role: {name: ROLE},
    vars: {monitor_agent_label: "{{ site }}-{{ inventory_hostname }}"}}]}}
dependency: {play: {roles: [dependent]}, label: "p-{host}", warns: *differs, files: {
  roles/dependent/meta/main.yml: {dependencies: [{role: ROLE, monitor_agent_label: "p-{{ inventory_hostname }}"}]}}}
set_fact: {play: {pre_tasks: [{set_fact: *p}], roles: [ROLE]}, label: "p-{host}"}
a part by set_fact: {play: {pre_tasks: [{set_fact: {site: east}}], roles: [ROLE]}, label: "east-{host}",
  vars: {monitor_agent_label: "{{ site }}-{{ inventory_hostname }}"}}
registered: {play: {pre_tasks: [{command: echo made, register: name, check_mode: false, changed_when: false}],
  vars: {monitor_agent_label: "{{ name.stdout }}-{{ inventory_hostname }}"}, roles: [ROLE]}, label: "made-{host}",
  warns: *differs}
group_vars and host_vars: {label: "{host}-eu", files: {
  group_vars/GROUP.yml: {monitor_agent_label: "{{ inventory_hostname }}-{{ region }}"},
  host_vars/FIRST.yml: {region: eu}, host_vars/SECOND/main.yml: {region: eu}}}

# Two uses.
twice: {play: {roles: [ROLE, {role: ROLE, monitor_agent_label: "{{ inventory_hostname }}-2",
  monitor_agent_config_path: "{{ playbook_dir }}/{{ inventory_hostname }}.2"}]}, more: {"{host}.2": "{host}-2"},
  warns: *differs}
loop: {play: {tasks: [{include_role: {name: ROLE}, loop: [a, b], vars: {
  monitor_agent_label: "{{ inventory_hostname }}-{{ item }}",
  monitor_agent_config_path: "{{ playbook_dir }}/{{ inventory_hostname }}.{{ item }}"}}]}, text: null,
  more: {"{host}.a": "{host}-a", "{host}.b": "{host}-b"}, warns: *differs}
two plays: {play: [{roles: [ROLE]}, {roles: [ROLE]}]}
a label that moves: {play: [{hosts: FIRST, vars: {monitor_agent_label: moved, monitor_agent_state: absent},
  roles: [ROLE]},
  {hosts: SECOND, vars: {monitor_agent_label: moved}, roles: [ROLE]}], label: moved, without: [0], again: false,
  warns: [*differs, of SECOND that]}

# Variables with names of facts, and variables by facts and lookups.
names of facts: {play: {vars: {env: prod}, roles: [ROLE]},
  vars: {domain: "{domain}", hostname: "{node}", fqdn: "{fqdn}", os_family: x, user_id: y, machine: z}}
values of facts: {facts: true, vars: {domain: "{{ ansible_domain }}", home: "{{ ansible_env.HOME }}"}}
path by fact: {facts: true, text: null, more: {"{host}.Linux": "{host}"},
  vars: {monitor_agent_config_path: "{{ playbook_dir }}/{{ inventory_hostname }}.{{ ansible_system }}"}}
path by lookup: {text: null, more: {"{host}.x": "{host}"}, vars: {site: east,
  path_of_east: "{{ playbook_dir }}/{{ inventory_hostname }}.x",
  monitor_agent_config_path: "{{ lookup('vars', 'path_of_' ~ site) }}"}}
template by fact: {facts: true, vars: {monitor_agent_config_template: "{{ ansible_facts.system | lower }}.j2"},
  files: {linux.j2: "key={{ client.api_key }}\n"}, text: "key={api_key}\n"}
first_found: {facts: true, vars: {names: ["{{ ansible_distribution }}.j2", own.j2],
  monitor_agent_config_template: "{{ lookup('first_found', names, paths=[playbook_dir]) }}"},
  files: {own.j2: "key={{ client.api_key }}\n"}, text: "key={api_key}\n"}
owner by fact: {facts: true, vars: {owners: {Linux: "{user}"},
  monitor_agent_config_owner: "{{ owners[ansible_system] }}"}}
packages and service by fact: {facts: true, vars: {
  monitor_agent_packages: "{{ {'BeOS': ['agent']}[ansible_facts['system']] | default([]) }}",
  services: {}, monitor_agent_service: "{{ services[ansible_facts['system']] | default('') }}",
  monitor_agent_service_state: "{{ 'started' if ansible_os_family != 'BeOS' else '' }}"}}
packages and service by lookup: {files: {packages: "\n"}, vars: {site: east,
  monitor_agent_packages: "{{ lookup('file', playbook_dir ~ '/packages').split() }}",
  monitor_agent_service: "{{ lookup('vars', 'service_of_' ~ site, default='') }}"}}

# Keywords of a play.
module_defaults: {play: {module_defaults: {group/monitor.cloud.api: &wrong
  {base_url: "http://127.0.0.1:1/v4", api_token: wrong-token-of-defaults, retry_timeout: 0}}, roles: [ROLE]}}
module_defaults of modules: {play: {roles: [ROLE], module_defaults: {monitor.cloud.monitor_client_info: *wrong,
  monitor.cloud.monitor_clients: {state: absent}, monitor.cloud.agent_config: {state: absent, path: /nowhere/x}}}}
environment: {play: {environment: {LANG: C, FROM: "{{ lookup('env', 'HOME') }}"}, roles: [ROLE]}}
token of the environment: {play: {environment: {MONITOR_API_TOKEN: "{{ token }}"}, roles: [ROLE]},
  vars: {token: "{token}"}}
account by lookups: {files: {token: "{token}\n", service.ini: "[service]\nbrand=monitor\n"}, vars: {
  monitor_agent_api_token: "{{ lookup('file', playbook_dir ~ '/token') }}",
  monitor_agent_base_url: "{{ lookup('env', 'MONITOR_BASE_URL') }}",
  monitor_agent_brand: "{{ lookup('ini', 'brand', section='service', file=playbook_dir ~ '/service.ini') }}"}}
vaulted file: {files: {group_vars/GROUP.yml: VAULT}, vars: {monitor_agent_api_token: "{{ vault_token }}"}}
serial: {play: {serial: 1, roles: [ROLE]}, hosts: 3}
serial with a label of the play: {play: {serial: [1, "100%"], vars: *p, roles: [ROLE]}, hosts: 3, label: "p-{host}",
  warns: *differs}
free: {play: {strategy: free, roles: [ROLE]}, hosts: 3}
host_pinned: {play: {strategy: host_pinned, roles: [ROLE]}}
any_errors_fatal: {play: {any_errors_fatal: true, max_fail_percentage: 0, order: reverse_sorted, roles: [ROLE]}}
more keywords: {play: {force_handlers: true, throttle: 1, timeout: 200, collections: [monitor.cloud], no_log: true,
  become: false, remote_user: "{{ lookup('env', 'USER') }}", roles: [monitor_agent]}}
keywords of the role: {play: {roles: [{role: ROLE, tags: [agent, always], ignore_errors: true, diff: false,
  when: true}]}}
notify: {play: {tasks: [{import_role: {name: ROLE}, notify: mine}], handlers: [{name: mine, debug: {}}]}}
handler that listens: {play: {roles: [ROLE], handlers: [{name: x, debug: {},
  listen: The monitoring agent was restarted}]}}
sections: {play: {pre_tasks: [{meta: flush_handlers}, {meta: refresh_inventory}], roles: [ROLE], post_tasks: [INCLUDE]}}
pattern: {play: {hosts: "GROUP:!none:&all", roles: [ROLE]}}
group_by: {play: [{tasks: [{group_by: {key: made_GROUP}, changed_when: false}]}, {hosts: made_GROUP, roles: [ROLE]}]}
add_host: {play: [{hosts: FIRST, tasks: [{add_host: {name: SECOND, groups: [new_GROUP]}, changed_when: false}]},
  {hosts: "new_GROUP:FIRST", roles: [ROLE]}]}

# Tasks.
import_role: {play: {tasks: [IMPORT]}}
rescue: {play: {tasks: [{block: [IMPORT], rescue: [{fail: {}}], always: [{debug: {}}]}]}}
in rescue: {play: {tasks: [{block: [{fail: {}}], rescue: [IMPORT]}]}}
in always: {play: {tasks: [{block: [{debug: {}}], always: [INCLUDE]}]}}
included tasks: {play: {tasks: [{include_tasks: included.yml},
  {import_tasks: included.yml}]}, files: {included.yml: [INCLUDE]}}
apply: {play: {tasks: [{include_role: {name: ROLE, apply: {tags: [x], become: false}, public: true}, tags: [x]}]}}
registered and ignored: {play: {tasks: [{include_role: {name: ROLE}, register: x, ignore_errors: true}]}}
delegation beside it: {play: {tasks: [{debug: {}, delegate_to: localhost, run_once: true}, IMPORT,
  {set_fact: {x: 1}, delegate_to: SECOND, delegate_facts: true}]}}
all entry points: {play: {tasks: [{import_role: {name: ROLE, tasks_from: audit}},
  {import_role: {name: ROLE, tasks_from: adopt}}, {import_role: {name: ROLE, tasks_from: main}}]}}
until it works: {play: {tasks: [{wait_for_connection: {timeout: 5}}, IMPORT]}}
own tasks after it: {play: {tasks: [IMPORT, {debug: {msg: "{{ monitor_agent_inspected.label }}"}}]}}

# Hosts that are left out, or have another state.
include_role without the first: {play: {tasks: [{include_role: {name: ROLE}, when: inventory_hostname != "FIRST"}]},
  without: [0]}
end_host: {play: {tasks: [{meta: end_host, when: inventory_hostname == "FIRST"}, IMPORT]}, without: [0]}
roles without the last: {play: {roles: [{role: ROLE, when: inventory_hostname != "SECOND"}]}, without: [1]}
ignore_unreachable: {play: {ignore_unreachable: true, roles: [ROLE]}, without: [0], unreachable: true}
ignore_unreachable with serial: {play: {ignore_unreachable: true, serial: 2, roles: [ROLE]}, hosts: 3, without: [0],
  unreachable: true}
states: {vars: {monitor_agent_state: "{{ 'absent' if inventory_hostname == 'FIRST' else 'present' }}"}, without: [0]}

# Variables of the role.
unquoted mode: {vars: {monitor_agent_config_mode: 0640}, mode: 0640}
mode by variable: {vars: {monitor_agent_config_mode: "{{ mode }}", mode: "0640"}, mode: 0640}
settings: {vars: {monitor_agent_settings: {tags: [a, b], debug: true, size: 3, name: "{{ inventory_hostname }}"}},
  text: "install_code={install_code}\napi_key={api_key}\ndebug = true\nname = {host}\nsize = 3\ntags = a,b\n"}
filters: {vars: {monitor_agent_config_template: filters.j2}, text: "{b64} {upper} yes\n", files: {
  filters.j2: "{{ client.api_key | b64encode }} {{ client.install_code | upper }}
  {{ client.api_key != '' and 'yes' }}\n"}}
own variable: {text: "{api_key} Web\n",
  vars: {monitor_agent_display_name: Web, monitor_agent_config_template: named.j2},
  files: {named.j2: "{{ client.api_key }} {{ monitor_agent_display_name }}\n"}}
template of a role: {play: {roles: [templating]}, text: "of role {api_key}\n", files: {
  roles/templating/tasks/main.yml: [{include_role: {name: ROLE}, vars: {monitor_agent_config_template: of_role.j2}}],
  roles/templating/templates/of_role.j2: "of role {{ client.api_key }}\n"}}
bare key: {vars: {monitor_agent_config_template: api_key.j2}, text: "{api_key}\n"}
misspelt: {vars: {monitor_agent_confg_path: /etc/x}, warns: monitor_agent_confg_path}
empty: {vars: {monitor_agent_label: null, monitor_agent_brand: "", monitor_agent_settings: {}}}
"names: dots": {names: [web-1.example.com, WEB-2.EXAMPLE.COM]}
"names: others": {names: [10.0.0.7, web_1, w, a-name-that-is-longer-than-a-label-can-be]}
""")
ROLE = "monitor.cloud.monitor_agent"
TASKS = {"IMPORT": {"ansible.builtin.import_role": {"name": ROLE}}, "INCLUDE": {"include_role": {"name": ROLE}}}
TEXT = "install_code={install_code}\napi_key={api_key}\n"
PASSWORD = b"secret"
GATHER = {"hosts": "all", "gather_facts": True, "gather_subset": ["min"], "ignore_unreachable": True}


class Fleet:
    """A controller with the hosts of cases: ``c07a`` is the first host of the case with the number 7."""

    def __init__(self, controller: Local, cases: Mapping[str, dict[str, t.Any]]) -> None:
        self.controller, self.cases = controller, cases
        self.hosts = {
            name: case.get("names") or [f"c{number:02}{letter}" for letter in "abc"[: case.get("hosts", 2)]]
            for number, (name, case) in enumerate(cases.items())
        }
        controller.group_vars["ansible_python_interpreter"] = sys.executable
        (controller.directory / "password").write_bytes(PASSWORD)
        self._plays: list[dict[str, t.Any]] = []
        self._paths: dict[str, str] = {}
        groups: dict[str, t.Any] = {}
        for number, (name, case) in enumerate(cases.items()):
            hosts, group = self.hosts[name], f"c{number:02}"
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
        """The value with the names of the case, of the machine and of the account."""
        text = json.dumps(value)
        for name, task in TASKS.items():
            text = text.replace(f'"{name}"', json.dumps(task))
        for name, word in self._words.items():
            text = text.replace(name, word)
        fqdn, token = socket.getfqdn(), self.controller.service.tokens["read_write"]
        words = {"node": socket.gethostname().split(".")[0], "fqdn": fqdn, "domain": fqdn.partition(".")[2]}
        for name, word in {**words, "user": getpass.getuser(), "token": token}.items():
            text = text.replace(f"{{{name}}}", word)
        return json.loads(text)

    def _write(self, path: str, content: t.Any) -> None:
        file = self.controller.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
        if text == "VAULT":
            secret = yaml.safe_dump({"vault_token": self.controller.service.tokens["read_write"]})
            text = VaultLib([("default", VaultSecret(PASSWORD))]).encrypt(secret).decode()
        file.write_text(text, encoding="utf-8")

    def run(self, *options: str, facts: bool = False, **environment: str) -> Run:
        plays = [GATHER] * facts + [{"gather_facts": False, **play} for play in self._plays]
        options = ("-i", "groups.yml", "--vault-password-file", "password", *options)
        return self.controller.run(self.controller.play(json.dumps(plays)), *options, **environment)

    def wrong(self, run: Run) -> list[str]:
        """What is not as the cases expect after a run."""
        clients = {client["label"]: client for client in self.controller.service.clients()}
        wrong, expected = [], set[str]()
        for name, case in self.cases.items():
            text, label = case.get("text", TEXT), case.get("label", "{host}")
            more = {str(self.controller.directory / file): label for file, label in case.get("more", {}).items()}
            for number, host in enumerate(self.hosts[name]):
                for path, pattern in {**({self._paths[host]: label} if text else {}), **more}.items():
                    own = client_label(host) if pattern == "{host}" else self._filled(pattern).replace("{host}", host)
                    file, then = Path(path.replace("{host}", host)), None
                    if number not in case.get("without", ()):
                        expected.add(own)
                        client = clients.get(own, {"api_key": "", "install_code": ""})
                        words = {"host": host, "b64": base64.b64encode(client["api_key"].encode()).decode()}
                        then = (text or TEXT).format(**client, **words, upper=client["install_code"].upper())
                    found = file.read_text(encoding="utf-8") if file.exists() else None
                    wrong += [f"{name}: {file} has {found!r} instead of {then!r}"] if found != then else []
                    if found and file.stat().st_mode & 0o777 != case.get("mode", 0o600):
                        wrong.append(f"{name}: {file} has the mode {file.stat().st_mode:o}")
        warnings = re.findall(r"^\[WARNING\]: (.*?)$(?=\n\S|\n\n|\n\[)", run.output, re.MULTILINE | re.DOTALL)
        ours = [" ".join(text.split()) for text in warnings if "monitor" in text]
        warns = [text for case in self.cases.values() for text in case.get("warns", [])]
        wrong += [f"not one warning: {text}" for text in warns if sum(text in each for each in ours) != 1]
        wrong += [f"no such warning: {text}" for text in ours if not any(each in text for each in warns)]
        return [*wrong, *(f"client {label}" for label in clients.keys() ^ expected)]


# Facts matter to these cases too: they use variables of the names of facts, or labels that the inventory does not have.
BOTH = (
    "the role and nothing else",
    "play vars",
    "wrapper role",
    "set_fact",
    "names of facts",
    "module_defaults",
    "twice",
)
PLAIN = [name for name, case in CASES.items() if not case.get("facts")]
WITH_FACTS = [name for name, case in CASES.items() if case.get("facts") or name in BOTH]
SIZE = 12
CHUNKS = [
    (names[start : start + SIZE], facts)
    for names, facts in ((PLAIN, False), (WITH_FACTS, True))
    for start in range(0, len(names), SIZE)
]


@pytest.mark.parametrize(("names", "facts"), CHUNKS, ids=lambda value: value[0] if isinstance(value, list) else None)
def test_ordinary_playbooks_do_what_they_say(emulator: Emulator, tmp_path: Path, names: list[str], facts: bool) -> None:
    """Check mode writes nothing, and the second run changes nothing."""
    cases = {name: dict(CASES[name]) for name in names}
    fleet = Fleet(Local(tmp_path, emulator), cases)
    if not facts:
        check = fleet.run("--check")
        assert (check.code, check.writes()) == (0, []), check.output
    run = fleet.run(facts=facts)
    assert (run.code, fleet.wrong(run)) == (0, []), run.output
    again = fleet.run(facts=facts)
    changed = {event.host for event in again.events if event.status == "changed"}
    once = {host for name, case in cases.items() if case.get("again") is False for host in fleet.hosts[name]}
    assert (again.code, changed - once) == (0, set()), again.output
    assert fleet.wrong(again) == []


LABELS_DIFFER = "The hosts FIRST and SECOND have the same label"
INCLUDE_ROLE = (
    "Use the condition on ansible.builtin.include_role instead of import_role or roles; instead of a dependency"
)
FACTS = {
    "library/facts.py": """
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({"name": {}})
module.exit_json(ansible_facts={module.params["name"]: "x"})
"""
}


def _hostile(name: str) -> dict[str, t.Any]:
    """A play in which the second host reports a fact."""
    report = {"facts": {"name": name}, "when": 'inventory_hostname == "SECOND"'}
    return {"play": {"tasks": [report, "IMPORT"]}, "files": FACTS}


# The only cases that are refused: a case as above, hosts that still get a client, and the error of the others.
REFUSED: dict[str, tuple[dict[str, t.Any], list[int], str]] = {
    "one label": ({"vars": {"monitor_agent_label": "same"}}, [], LABELS_DIFFER),
    "one label in the play": (
        {"play": {"vars": {"monitor_agent_label": "same"}, "roles": ["ROLE"]}},
        [],
        LABELS_DIFFER,
    ),
    "one label with serial": (
        {
            "play": {"serial": 1, "vars": {"monitor_agent_label": "same"}, "roles": ["ROLE"]},
            "label": "same",
            "warns": "of FIRST that",
        },
        [0],
        LABELS_DIFFER,
    ),
    "label of localhost": ({"vars": {"monitor_agent_label": "localhost"}, "hosts": 1}, [], "would share one key"),
    "run_once": (
        {"play": {"tasks": [{"import_role": {"name": "ROLE"}, "run_once": True}]}},
        [],
        "can't have .* run_once",
    ),
    "roles without the first": (
        {"play": {"roles": [{"role": "ROLE", "when": 'inventory_hostname != "FIRST"'}]}},
        [],
        INCLUDE_ROLE,
    ),
    "a dependency without the first": (
        {
            "play": {"roles": ["dependent"]},
            "files": {
                "roles/dependent/meta/main.yml": {
                    "dependencies": [{"role": "ROLE", "when": 'inventory_hostname != "FIRST"'}]
                }
            },
        },
        [],
        INCLUDE_ROLE,
    ),
    **{
        f"fact {name}": (_hostile(name), [], f"SECOND.*{name}.*inject_facts_as_vars = false")
        for name in ("monitor_agent_base_url", "monitor_token", "inventory_hostname")
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_names_the_reason(emulator: Emulator, tmp_path: Path, name: str) -> None:
    case, configured, error = REFUSED[name]
    case = {**case, "without": {*range(3)} - {*configured}}
    fleet = Fleet(Local(tmp_path, emulator), {name: case})
    run = fleet.run()
    assert (run.code, fleet.wrong(run)) == (2, []), run.output
    [message] = set(run.failures().values())
    assert re.search(fleet._filled(error), message), message


def test_facts_of_a_hostile_host_are_harmless_without_injection(emulator: Emulator, tmp_path: Path) -> None:
    fleet = Fleet(Local(tmp_path, emulator), {"hostile": _hostile("monitor_agent_base_url")})
    run = fleet.run(ANSIBLE_INJECT_FACT_VARS="false")
    assert (run.code, fleet.wrong(run)) == (0, []), run.output


def test_labels_of_facts_with_a_limit(emulator: Emulator, tmp_path: Path) -> None:
    """The label of a host outside the run is not known."""
    fleet = Fleet(Local(tmp_path, emulator), {"fact": dict(CASES["fact"])})
    for host in (1, 0):
        run = fleet.run("--limit", fleet.hosts["fact"][host], facts=True)
        assert run.code == 0 and len(labels(fleet.controller)) == 2 - host, run.output
    assert fleet.wrong(run) == []


def test_a_client_that_is_only_listed_is_created_anew(pair: Local) -> None:
    """Retire, then roll out, while the list of the service still has the deleted clients."""
    pair.monitor()
    old = {client["id"] for client in pair.service.clients()}
    pair.service.configure(lists_deleted=True)
    pair.succeed(role_play(pair, role="vars: {monitor_agent_state: absent}"))
    check = pair.succeed(role_play(pair), "--check")
    assert check.changed_hosts() == {"web-1", "web-2"} and labels(pair) == []
    run = pair.succeed(role_play(pair))
    assert sorted(run.writes()) == ["create_client web-1", "create_client web-2"]
    assert not old & {client["id"] for client in pair.service.clients()}
    assert all(pair.read(host) == pair.expected(host) for host in pair.host_vars)
    pair.service.configure(lists_deleted=False)
    assert pair.succeed(role_play(pair)).calls() == ["list_clients"]


_CONSTRUCTED = """
plugin: ansible.builtin.constructed
strict: true
compose: {env: "inventory_hostname[:4]"}
groups: {own: inventory_hostname == "prod-1"}
"""
_OWN = "monitor_agent_label: '{{ env }}-{{ inventory_hostname }}'"
_INI = """
[old]
old-1 ansible_connection=local monitor_agent_config_mode=0640
[old:vars]
monitor_agent_settings={"a": 1}
"""
_LOCAL = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "roles": [ROLE]}]


def test_other_inventories_and_plays_for_localhost(emulator: Emulator, tmp_path: Path) -> None:
    """A constructed inventory, one in INI, an imported playbook, and localhost with a label of its own."""
    controller = Local(tmp_path, emulator, "prod-1", "test-1")
    path = "monitor_agent_config_path: '{{ playbook_dir }}/{{ inventory_hostname }}.conf'\n"
    files = {
        "x.constructed.yml": _CONSTRUCTED,
        "old.ini": _INI,
        "host_vars/localhost.yml": f"{path}monitor_agent_label: here",
    }
    files |= {"group_vars/own.yml": _OWN, "group_vars/old.yml": path, "local.yml": json.dumps(_LOCAL)}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    plays = [{"hosts": "all", "gather_facts": False, "roles": [ROLE]}, {"import_playbook": "local.yml"}]
    sources = ["-i", "old.ini", "-i", "x.constructed.yml"]
    for changed in (5, 0):
        run = controller.succeed(controller.play(json.dumps(plays)), *sources)
        assert sum(event.status == "changed" for event in run.of(CONFIGURE).values()) == min(changed, 4), run.output
        assert len(run.writes()) == min(changed, 4) and "WARNING" not in run.output, run.output
    assert labels(controller) == ["here", "old-1", "prod-prod-1", "test-1"]
    assert (tmp_path / "old-1.conf").read_text(encoding="utf-8").endswith("a = 1\n")
    assert (tmp_path / "old-1.conf").stat().st_mode & 0o777 == 0o640
