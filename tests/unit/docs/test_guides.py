# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The guides name messages, variables and playbooks that are there, and tests what they observe."""

import ast
import functools
import re
from pathlib import Path

import pytest
import yaml

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

GUIDES = CHECKOUT / "docs" / "docsite" / "rst"
PLUGINS = CHECKOUT / "plugins"
ROLE = CHECKOUT / "roles" / "monitor_agent"
# Stands for what differs, in the guide and in the texts of the sources.
ANY = "…"


def messages() -> list[str]:
    """The messages that the guide on troubleshooting explains."""
    guide = (GUIDES / "guide_troubleshooting.rst").read_text(encoding="utf-8")
    return re.findall(r"^``(.+)``$", guide, re.MULTILINE)


@functools.cache
def texts() -> list[str]:
    """All texts of the sources, with the sign for what differs in place of each value."""
    files = (*(CHECKOUT / "playbooks").glob("*.yml"), *ROLE.glob("tasks/*.yml"), *PLUGINS.rglob("*.sh"))
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


@pytest.mark.parametrize("page", sorted(GUIDES.glob("*.rst")), ids=lambda path: path.stem)
def test_each_variable_of_the_role_that_a_guide_names_is_one(page: Path) -> None:
    specification = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    known = {name for entry in specification["argument_specs"].values() for name in entry["options"]}
    named = re.findall(r"\b(monitor_agent_[a-z_]+[a-z])\b(?!\*)", page.read_text(encoding="utf-8"))
    others = {"monitor_agent_config", "monitor_agent_install", "monitor_agent_confg_path", "monitor_agent_gather_facts"}
    assert set(named) - known <= others
