# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo, and the picture of its page in README."""

import re

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import TITLES
from ansible_collections.monitor.cloud.tests.tools import demo
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT


def test_the_text_beside_the_picture_has_what_the_demo_finds(capfd: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    printed = capfd.readouterr().out
    found = dict(re.findall(rf"^({'|'.join(demo.HOSTS)}) +({'|'.join(TITLES)})\b", printed, re.MULTILINE))
    described = re.findall(r"([a-z]+-\d): (\w[\w ]+)", text_beside_the_picture())
    assert dict(described) == {host: TITLES[state] for host, state in found.items()}, (
        "take the picture again: CONTRIBUTING.md"
    )
    assert found.keys() == set(demo.HOSTS)


def text_beside_the_picture() -> str:
    """The text for those who do not see the picture."""
    found = re.search(r"!\[([^]]+)\]\(\S+/docs/audit\.png\)", (CHECKOUT / "README.md").read_text(encoding="utf-8"))
    assert found
    return found[1].replace("\n", " ")


def test_the_picture_is_small() -> None:
    """It is in the archive, which each user downloads."""
    content = demo.PICTURE.read_bytes()
    assert content.startswith(b"\x89PNG") and len(content) <= 100 * 1024
