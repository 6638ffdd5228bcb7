# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The guides name messages, variables and playbooks that are there, and tests what they observe."""

import ast
import dataclasses
import functools
import re
from pathlib import Path

import pytest
import yaml
from jinja2 import Environment, nodes

from ansible_collections.monitor.cloud.tests.emulator.settings import Settings
from ansible_collections.monitor.cloud.tests.support.documents import strings, values_of
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

GUIDES = CHECKOUT / "docs" / "docsite" / "rst"
PLAYBOOKS = sorted((CHECKOUT / "playbooks").glob("*.yml"))
PLUGINS = CHECKOUT / "plugins"
ROLE = CHECKOUT / "roles" / "monitor_agent"
# Stands for what differs, in the guide and in the texts of the sources.
ANY = "…"
MAGIC = re.compile("ansible_|groups$|hostvars$|inventory_hostname$|lookup$|omit$|query$|undef$|monitor_agent_")


def messages() -> list[str]:
    """The messages that the guide on troubleshooting explains."""
    guide = (GUIDES / "guide_troubleshooting.rst").read_text(encoding="utf-8")
    return re.findall(r"^``(.+)``$", guide, re.MULTILINE)


@functools.cache
def texts() -> list[str]:
    """All texts of the sources, with the sign for what differs in place of each value."""
    files = (*PLAYBOOKS, *ROLE.glob("tasks/*.yml"), *PLUGINS.rglob("*.sh"))
    found = [" ".join(path.read_text(encoding="utf-8").split()) for path in files]
    for path in PLUGINS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.append("".join(_text(part) for part in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


def _text(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else ANY


@pytest.mark.parametrize("message", messages())
def test_each_message_is_one_of_the_sources(message: str) -> None:
    parts_in_their_order = re.compile(".*".join(map(re.escape, message.split(ANY))), re.DOTALL)
    assert any(map(parts_in_their_order.search, texts())), message


def variables_of(playbook: Path) -> set[str]:
    """The variables that a playbook reads, and that it does not set itself."""
    plays = yaml.safe_load(playbook.read_text(encoding="utf-8"))
    conditions = [f"{{{{ {text} }}}}" for found in values_of(plays, "when", "that") for text in strings([found])]
    templates = [Environment(autoescape=True).parse(text) for text in (*strings(plays), *conditions)]
    read = {name.name for template in templates for name in template.find_all(nodes.Name)}
    # What a play sets for itself is not its user's. A default of retire or prune is.
    defaults = {"labels", "retire_limit", "prune_pattern", "prune_limit", "prune_confirm"}
    own = {name for variables in values_of(plays, "vars") for name in variables if name not in defaults}
    return {name for name in read - own - set(values_of(plays, "register")) if not MAGIC.match(name)}


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.stem)
def test_each_playbook_is_described_with_its_variables(playbook: Path) -> None:
    page = (GUIDES / "playbooks.rst").read_text(encoding="utf-8")
    sections = re.split(r"^(\w+)\n-+\n", page, flags=re.MULTILINE)
    described = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert set(described) == {path.stem for path in PLAYBOOKS}
    assert set(re.findall(r"^``(\w+)``$", described[playbook.stem], re.MULTILINE)) == variables_of(playbook)


@pytest.mark.parametrize("page", sorted(GUIDES.glob("*.rst")), ids=lambda path: path.stem)
def test_each_variable_of_the_role_that_a_guide_names_is_one(page: Path) -> None:
    specification = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    known = {name for entry in specification["argument_specs"].values() for name in entry["options"]}
    named = re.findall(r"\b(monitor_agent_[a-z_]+[a-z])\b(?!\*)", page.read_text(encoding="utf-8"))
    others = {"monitor_agent_config", "monitor_agent_install", "monitor_agent_confg_path", "monitor_agent_gather_facts"}
    assert set(named) - known <= others


def test_each_guide_is_in_the_contents() -> None:
    contents = yaml.safe_load((CHECKOUT / "docs" / "docsite" / "extra-docs.yml").read_text(encoding="utf-8"))
    listed = [page for section in contents["sections"] for page in section["toctree"]]
    assert sorted(listed) == sorted(path.stem for path in GUIDES.glob("*.rst"))


def test_each_row_of_what_services_do_has_its_tests() -> None:
    readme = (CHECKOUT / "tests" / "emulator" / "README.md").read_text(encoding="utf-8").replace("`", "")
    rows = set(re.findall(r"^\| (?!Topic|---)([^|]+) \|", readme, re.MULTILINE))
    nodes = [
        node
        for path in (CHECKOUT / "tests").rglob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
    ]
    tests = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, ast.FunctionDef)]
    lists = [match[1] for text in tests if (match := re.match(r'Observed: ("[^"]+"(?:, "[^"]+")*)', text))]
    assert {row for each in lists for row in re.findall('"([^"]+)"', each)} == rows - {"agents", "cloned machines"}
    played = {setting.metadata["row"].replace("`", "") for setting in dataclasses.fields(Settings)}
    assert played - {"(the emulator itself)"} < rows
