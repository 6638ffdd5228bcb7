# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads and replaces relative links, because they work only in a checkout and on a forge such as GitHub."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import yaml

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

# A link is [text](path#anchor) in Markdown, and `text <path#anchor>`__ in reStructuredText.
_LINK = re.compile(r"(?P<before>\]\(|(?<!`)`[^`<>]+ <)(?P<path>(?![a-z]+:)[^)>#\s]*)(?P<anchor>#[^)>\s]*)?(?=\)|>`_)")


def rewritten(text: str, page: Path, url: Callable[[str], str]) -> str:
    """Replace each relative link of a page. ``url`` converts a path in the repository to an address."""
    return _LINK.sub(lambda link: f"{link['before']}{url(_target(link, page))}{link['anchor'] or ''}", text)


def targets(text: str, page: Path) -> list[str]:
    """Return the paths in the repository to which the relative links of a page lead."""
    return [_target(link, page) for link in _LINK.finditer(text)]


def _target(link: re.Match[str], page: Path) -> str:
    return os.path.normpath(page.parent / link["path"]) if link["path"] else str(page)


def on_forge(path: str) -> str:
    """Return the URL of a file in the public repository."""
    repository = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text(encoding="utf-8"))["repository"]
    return f"{repository}/{'raw' if path.endswith(('.png', '.svg')) else 'blob'}/HEAD/{path}"
