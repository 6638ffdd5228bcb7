# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import typing as t

import yaml

# Each case has a play, variables of its group, and files beside the playbook. The test replaces words in capitals:
# FIRST, SECOND and THIRD are hosts, GROUP is their group, ROLE is the role, IMPORT and INCLUDE are tasks with the role.
# Expected results: label and text of each file, more files, hosts without a client, a part of the only warning.
CASES: dict[str, dict[str, t.Any]] = yaml.safe_load(r"""
the role and nothing else: {}

# Sources of the label. The role warns once if a host has another label in the inventory.
short fact: {facts: true, hosts: 1, label: "{node}-c2",
  vars: {monitor_agent_label: "{{ ansible_hostname | lower }}-{{ env }}", env: c2}}
fact: {facts: true, label: "{node}-{host}",
  vars: {monitor_agent_label: "{{ ansible_facts.hostname }}-{{ inventory_hostname }}"}}
fact with a default: {label: "x-{host}",
  vars: {monitor_agent_label: "{{ ansible_local.id | default('x-' ~ inventory_hostname) }}"}}
play vars: {play: {vars: &p {monitor_agent_label: "p-{{ inventory_hostname }}"}, roles: [ROLE]},
  label: "p-{host}", warns: &differs monitor_agent_label of FIRST differs}
role params: {play: {roles: [{role: ROLE, monitor_agent_label: "p-{{ inventory_hostname }}"}]},
  label: "p-{host}", warns: *differs}
vars of include_role: {play: {tasks: [{include_role: {name: ROLE}, vars: *p}]}, label: "p-{host}", warns: *differs}
vars_files: {play: {vars_files: [label.yml], roles: [ROLE]}, files: {label.yml: *p}, label: "p-{host}", warns: *differs}
include_vars: {play: {tasks: [{include_vars: label.yml}, IMPORT]}, files: {label.yml: *p}, label: "p-{host}"}
wrapper role: {play: {roles: [wrapper]}, label: "p-{host}", warns: *differs,
  files: {roles/wrapper/tasks/main.yml: [IMPORT], roles/wrapper/vars/main.yml: *p}}
dependency: {play: {roles: [dependent]}, label: "p-{host}", warns: *differs, files: {
  roles/dependent/meta/main.yml: {dependencies: [{role: ROLE, monitor_agent_label: "p-{{ inventory_hostname }}"}]}}}
cached fact: {play: {pre_tasks: [{set_fact: {monitor_tier: x, cacheable: true}}], roles: [ROLE]}}
set_fact: {play: {pre_tasks: [{set_fact: *p}], roles: [ROLE]}, label: "p-{host}"}
group_vars and host_vars: {label: "{host}-eu", files: {
  group_vars/GROUP.yml: {monitor_agent_label: "{{ inventory_hostname }}-{{ region }}"},
  host_vars/FIRST.yml: {region: eu}, host_vars/SECOND/main.yml: {region: eu}}}

twice: {play: {roles: [ROLE, {role: ROLE, monitor_agent_label: "{{ inventory_hostname }}-2",
  monitor_agent_config_path: "{{ playbook_dir }}/{{ inventory_hostname }}.2"}]}, more: {"{host}.2": "{host}-2"},
  warns: *differs}
loop: {play: {tasks: [{include_role: {name: ROLE}, loop: [a, b], vars: {
  monitor_agent_label: "{{ inventory_hostname }}-{{ item }}",
  monitor_agent_config_path: "{{ playbook_dir }}/{{ inventory_hostname }}.{{ item }}"}}]}, text: null,
  more: {"{host}.a": "{host}-a", "{host}.b": "{host}-b"}, warns: *differs}
a label that moves: {play: [{hosts: FIRST, vars: {monitor_agent_label: moved, monitor_agent_state: absent},
  roles: [ROLE]},
  {hosts: SECOND, vars: {monitor_agent_label: moved}, roles: [ROLE]}], label: moved, without: [0], again: false,
  warns: [*differs, monitor_agent_label of SECOND differs]}

names of facts: {play: {vars: {env: prod}, roles: [ROLE]},
  vars: {domain: "{domain}", hostname: "{node}", fqdn: "{fqdn}", os_family: x, user_id: y, machine: z}}
path by fact: {facts: true, text: null, more: {"{host}.Linux": "{host}"},
  vars: {monitor_agent_config_path: "{{ playbook_dir }}/{{ inventory_hostname }}.{{ ansible_system }}"}}
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

module_defaults: {play: {module_defaults: {group/monitor.cloud.api: &wrong
  {base_url: "http://127.0.0.1:1/v4", api_token: wrong-token-of-defaults, retry_timeout: 0}}, roles: [ROLE]}}
module_defaults of modules: {play: {roles: [ROLE], module_defaults: {monitor.cloud.monitor_client_info: *wrong,
  monitor.cloud.monitor_clients: {state: absent}, monitor.cloud.agent_config: {state: absent, path: /nowhere/x}}}}
token of the environment: {play: {environment: {MONITOR_API_TOKEN: "{{ token }}"}, roles: [ROLE]},
  vars: {token: "{token}"}}
account by lookups: {files: {token: "{token}\n", service.ini: "[service]\nbrand=monitor\n"}, vars: {
  monitor_agent_api_token: "{{ lookup('file', playbook_dir ~ '/token') }}",
  monitor_agent_base_url: "{{ lookup('env', 'MONITOR_BASE_URL') }}",
  monitor_agent_brand: "{{ lookup('ini', 'brand', section='service', file=playbook_dir ~ '/service.ini') }}"}}
vaulted file: {files: {group_vars/GROUP.yml: "VAULT:vault_token: {token}\n"},
  vars: {monitor_agent_api_token: "{{ vault_token }}"}}
serial: {play: {serial: 1, roles: [ROLE]}, hosts: 3}
serial with a label of the play: {play: {serial: [1, "100%"], vars: *p, roles: [ROLE]}, hosts: 3, label: "p-{host}",
  warns: *differs}
free: {play: {strategy: free, roles: [ROLE]}, hosts: 3}
more keywords: {play: {force_handlers: true, throttle: 1, timeout: 200, collections: [monitor.cloud], no_log: true,
  become: false, remote_user: "{{ lookup('env', 'USER') }}", roles: [monitor_agent]}}
keywords of the role: {play: {roles: [{role: ROLE, tags: [agent, always], ignore_errors: true, diff: false,
  when: true}]}}
sections: {play: {pre_tasks: [{meta: flush_handlers}, {meta: refresh_inventory}], roles: [ROLE], post_tasks: [INCLUDE]}}
add_host: {play: [{hosts: FIRST, tasks: [{add_host: {name: SECOND, groups: [new_GROUP]}, changed_when: false}]},
  {hosts: "new_GROUP:FIRST", roles: [ROLE]}]}

in rescue: {play: {tasks: [{block: [{fail: {}}], rescue: [IMPORT]}]}}
included tasks: {play: {tasks: [{include_tasks: included.yml},
  {import_tasks: included.yml}]}, files: {included.yml: [INCLUDE]}}
apply: {play: {tasks: [{include_role: {name: ROLE, apply: {tags: [x], become: false}, public: true}, tags: [x]}]}}
delegation beside it: {play: {tasks: [{debug: {}, delegate_to: localhost, run_once: true}, IMPORT,
  {set_fact: {x: 1}, delegate_to: SECOND, delegate_facts: true}]}}
all entry points: {play: {tasks: [{import_role: {name: ROLE, tasks_from: audit}},
  {import_role: {name: ROLE, tasks_from: adopt}}, {import_role: {name: ROLE, tasks_from: main}}]}}

include_role without the first: {play: {tasks: [{include_role: {name: ROLE}, when: inventory_hostname != "FIRST"}]},
  without: [0]}
end_host: {play: {tasks: [{meta: end_host, when: inventory_hostname == "FIRST"}, IMPORT]}, without: [0]}
roles without the last: {play: {roles: [{role: ROLE, when: inventory_hostname != "SECOND"}]}, without: [1]}
ignore_unreachable: {play: {ignore_unreachable: true, roles: [ROLE]}, without: [0], unreachable: true}
states: {vars: {monitor_agent_state: "{{ 'absent' if inventory_hostname == 'FIRST' else 'present' }}"}, without: [0]}

unquoted mode: {vars: {monitor_agent_config_mode: 0640}, mode: 0640}
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
encrypted template: {vars: {monitor_agent_config_template: secret.j2}, text: "key={api_key}\n",
  files: {secret.j2: "VAULT:key={{ client.api_key }}\n"}}
misspelt: {vars: {monitor_agent_confg_path: /etc/x}, warns: monitor_agent_confg_path}
empty: {vars: {monitor_agent_label: null, monitor_agent_brand: "", monitor_agent_settings: {}}}
"names: dots": {names: [web-1.example.com, WEB-2.EXAMPLE.COM]}
"names: others": {names: [10.0.0.7, web_1, w, a-name-that-is-longer-than-a-label-can-be]}
""")

FACTS = """
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({"name": {}})
module.exit_json(ansible_facts={module.params["name"]: "x"})
"""


def hostile(name: str) -> dict[str, t.Any]:
    """Return a case in which the second host returns a fact with this name."""
    report = {"facts": {"name": name}, "when": 'inventory_hostname == "SECOND"'}
    return {"play": {"tasks": [report, "IMPORT"]}, "files": {"library/facts.py": FACTS}}


# Cases that fail. ``error``: a part of the message. ``configured``: indexes of the hosts that get a client.
REFUSED: dict[str, dict[str, t.Any]] = yaml.safe_load(r"""
one label: {vars: {monitor_agent_label: same}, error: &same The hosts FIRST and SECOND have the same label}
one label of all hosts: {vars: {monitor_agent_label: same}, error: An extra variable \(-e\) holds for all hosts}
in the play: {play: {vars: &p {monitor_agent_label: same}, roles: [ROLE]}, error: *same}
one label with serial: {play: {serial: 1, vars: *p, roles: [ROLE]}, label: same, configured: [0], error: *same,
  warns: monitor_agent_label of FIRST differs}
a label that changed: {play: [{hosts: all, roles: [ROLE], vars: {monitor_agent_label: "old-{{ inventory_hostname }}"}},
  {hosts: FIRST, roles: [ROLE]}], label: "old-{host}", configured: [0, 1], error: or its label was changed,
  warns: [monitor_agent_label of FIRST differs]}
localhost: {vars: {monitor_agent_label: localhost}, hosts: 1, error: would share one key. Set monitor_}
delegate_to: {play: {tasks: [{delegate_to: FIRST, block: [IMPORT]}]}, configured: [0],
  error: can't have delegate_to or run_once}
run_once: {play: {tasks: [{import_role: {name: ROLE}, run_once: true}]}, error: can't have .* run_once}
roles without the first: {play: {roles: [{role: ROLE, when: inventory_hostname != 'FIRST'}]},
  error: "Use a task with ansible.builtin.include_role and the condition"}
""")
for _name in ("monitor_agent_base_url", "monitor_token", "inventory_hostname"):
    REFUSED[f"fact {_name}"] = {**hostile(_name), "error": f"SECOND.*{_name}.*inject_facts_as_vars = false"}
