# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.monitor.cloud.plugins.inventory.clients import EXAMPLES
from ansible_collections.monitor.cloud.plugins.module_utils._clients.labels import client_label, derived_name
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import CLIENT
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.runs import Local
from ansible_collections.monitor.cloud.tests.support.secrets import found_in, plain_secrets

_SHOWN = CLIENT.fields.keys() - {"api_key", "install_code"}


class Inventory:
    def __init__(self, controller: Local) -> None:
        self.controller = controller
        self.directory = controller.directory
        self.emulator = controller.service
        self.token = "read_write"
        self.environment: dict[str, str] = {}

    def run(self, command: str = "ansible-inventory --list --export", **options: Any) -> tuple[int, str]:
        """Run a command with this inventory. Return the exit code and the output."""
        path = self.directory / "account.monitor_clients.yml"
        path.write_text(yaml.safe_dump({"plugin": "monitor.cloud.clients", **options}), encoding="utf-8")
        settings = {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true", **self.emulator.environment(self.token)}
        run = self.controller.shell(f"{command} -i {path}", **{**settings, **self.environment})
        return run.code, run.output

    def hosts(self, command: str = "ansible-inventory --list --export", **options: Any) -> dict[str, Any]:
        code, output = self.run(command, **options)
        assert code == 0, output
        return dict(json.loads(output)["_meta"]["hostvars"])


@pytest.fixture
def inventory(tmp_path: Path, emulator: Emulator) -> Inventory:
    emulator.seed(labels=["web-1", "web-2", "db-1"])
    return Inventory(Local(tmp_path, emulator))


def plain(value: Any) -> Any:
    """Return the text of a value that ansible-inventory marks as unsafe."""
    return value["__ansible_unsafe"] if isinstance(value, dict) and "__ansible_unsafe" in value else value


LABELS = ["web 9", "wéb", "{{ 7 * 7 }}", "tab\tbed", "all", "ungrouped", "localhost", "127.0.0.1", "::1"]
LABELS += ["-web", "--check", "-oProxyCommand=touch x", "$(touch x)", "a.b;touch x", "all:!web-1", "..."]


def test_host_names_are_not_options_code_or_the_controller(inventory: Inventory) -> None:
    inventory.emulator.seed(labels=LABELS)
    compose = yaml.safe_load(EXAMPLES)["compose"]
    hosts = inventory.hosts(compose=compose, strict=True)
    assert {plain(variables["monitor_label"]) for variables in hosts.values()} == {"web-1", "web-2", "db-1", *LABELS}
    # Without monitor_agent_label, prune would delete clients whose label differs from the host name.
    assert {plain(variables.get("monitor_agent_label")) for variables in hosts.values()} == {*LABELS, None}
    assert [name for name in hosts if not re.fullmatch("[A-Za-z0-9_][A-Za-z0-9_.-]*", name)] == []
    assert hosts.keys() > {derived_name("all")} and hosts.keys().isdisjoint(LABELS)
    assert [plain(host["ansible_host"]) for host in hosts.values()] == [f"{name}.example.com" for name in hosts]
    # A host name that begins with -oProxyCommand would make ssh run a command.
    code, output = inventory.run("ansible all -m ansible.builtin.raw -a true -T 1", compose=compose)
    assert code != 0 and "unreachable" in output.lower(), output
    assert list(inventory.directory.glob("x*")) == []


def test_a_host_of_another_source_keeps_its_variables_and_its_label(inventory: Inventory) -> None:
    # The role derives the label of the last client from the name of host db.example.com.
    inventory.emulator.seed(labels=["localhost", "web.example.com", "db.example.com", client_label("db.example.com")])
    (inventory.directory / "hosts").write_text(
        "localhost ansible_connection=local\nweb.example.com\ndb.example.com\n", encoding="utf-8"
    )
    hosts = inventory.hosts("ansible-inventory --list --export -i hosts")
    other = derived_name("db.example.com")
    assert set(hosts) == {"web-1", "web-2", "db-1", "localhost", "web.example.com", "db.example.com", other}
    assert hosts["localhost"]["ansible_connection"] == "local"
    # A user who can name clients must not be able to set the label of this host.
    assert "monitor_agent_label" not in hosts["web.example.com"]
    assert plain(hosts["localhost"]["monitor_label"]) == "localhost"


def test_clients_are_hosts_with_variables_and_no_keys(inventory: Inventory) -> None:
    optional = ("brand", "validate_certs", "ca_path", "allow_http", "timeout", "retry_timeout")
    inventory.environment = {f"MONITOR_{name.upper()}": "" for name in optional}
    hosts = inventory.hosts()
    assert set(hosts) == {"web-1", "web-2", "db-1"}
    client = inventory.emulator.clients()[0]
    web = {name: plain(value) for name, value in hosts["web-1"].items()}
    assert set(web) == {f"monitor_{name}" for name in (*_SHOWN, "key_fingerprint")}
    assert (web["monitor_id"], web["monitor_label"]) == (client["id"], "web-1")
    assert len(web["monitor_key_fingerprint"]) == 12
    code, output = inventory.run("ansible-inventory --list -vvvv")
    assert code == 0
    assert found_in(output, plain_secrets(inventory.emulator)) == []


def test_the_cache_contains_no_key_and_is_separate_for_each_account(inventory: Inventory) -> None:
    store = inventory.directory / "c"
    cached: dict[str, Any] = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(store)}
    before = inventory.hosts(**cached)
    [path] = store.iterdir()
    text = path.read_text(encoding="utf-8")
    assert "web-1" in text and found_in(text, plain_secrets(inventory.emulator)) == []
    inventory.emulator.seed(labels=["new-1"])
    # Unknown fields of the cache do not become variables.
    field = r"\1agent_base_url\1: \1https://attacker.example.com\1, \1key_fingerprint"
    path.write_text(re.sub(r'(\\?")key_fingerprint', field, text), encoding="utf-8")
    assert inventory.hosts(**cached) == before
    assert "attacker" in path.read_text(encoding="utf-8")
    assert inventory.emulator.requests() == []
    inventory.token = "read_only"
    assert len(inventory.hosts(**cached)) == 4
    inventory.token = "read_write"
    # Run a play: before 2.19, ansible-inventory has no option --flush-cache.
    (inventory.directory / "empty.yml").write_text("[{hosts: all, gather_facts: false}]", encoding="utf-8")
    assert inventory.run("ansible-playbook --flush-cache empty.yml", **cached)[0] == 0
    assert len(inventory.hosts(**cached)) == 4


def test_options_may_be_templates(inventory: Inventory) -> None:
    values = {**inventory.emulator.environment(), "MONITOR_PAGE_SIZE": "25", "MONITOR_TIMEOUT": "20.5"}
    values |= {"MONITOR_VALIDATE_CERTS": "true", "MONITOR_LABEL_PATTERN": "web-.*"}
    (inventory.directory / "values.json").write_text(json.dumps(values), encoding="utf-8")
    lookup = f"(lookup('ansible.builtin.file', '{inventory.directory}/values.json') | from_json)"
    options = {name.removeprefix("MONITOR_").lower(): f"{{{{ {lookup}.{name} }}}}" for name in values}
    inventory.environment = dict.fromkeys(inventory.emulator.environment(), "")
    assert set(inventory.hosts(**options)) == {"web-1", "web-2"}
    assert "page_size=25" in json.dumps(inventory.emulator.requests())
    code, output = inventory.run(**{**options, "timeout": "{{ nothing }}"})
    assert code != 0 and "'nothing' is undefined" in output, output


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"base_url": ""}, "base_url is required: set the option base_url"),
        ({"label_pattern": "("}, "label_pattern '(' is not a valid regular expression"),
        ({"validate_certs": "maybe"}, "validate_certs is invalid: The value 'maybe'"),
        ({"label_pattern": "x.y.*"}, "'x y' and 'x-y-887fcea6' would be the same host x-y-887fcea6"),
    ],
)
def test_errors_of_options(inventory: Inventory, options: dict[str, str], expected: str) -> None:
    inventory.emulator.seed(labels=["x y", "x-y-887fcea6"])
    inventory.environment = {"MONITOR_BASE_URL": ""} if "base_url" in options else {}
    code, output = inventory.run(**options)
    assert code != 0 and expected in " ".join(output.split()), output
