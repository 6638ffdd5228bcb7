# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import dataclasses
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MARKDOWN = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_RST = re.compile(
    r"^(?P<indent> *)\.\. code-block:: (?P<language>\S+)\n(?:(?P=indent) +:.*\n)*\n"
    r"(?P<text>(?:(?P=indent) {3}.*\n|\n)+)",
    re.MULTILINE,
)
_NAME = re.compile(r"# (\S+)\n")


@dataclasses.dataclass(frozen=True)
class Block:
    """A code block of a page. ``line`` counts from 1."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def file(self) -> str | None:
        """Return the path from the comment in the first line of the block, or None."""
        name = _NAME.match(self.text)
        return name[1] if name else None

    @property
    def commands(self) -> list[tuple[str, list[str]]]:
        commands: list[tuple[str, list[str]]] = []
        for line in self.text.replace("\\\n", "\\\0").splitlines():
            if line.startswith("$ "):
                commands.append((line[2:].replace("\\\0", "\\\n"), []))
            elif line.strip():
                assert commands, f"{self}: a line before the first command"
                commands[-1][1].append(" ".join(line.split()))
        return commands

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> list[Block]:
    content = page.read_text(encoding="utf-8")
    pattern = _MARKDOWN if page.suffix == ".md" else _RST
    return [
        Block(
            page,
            content.count("\n", 0, part.start()) + 1,
            part["language"],
            textwrap.dedent(part["text"]).strip("\n") + "\n",
        )
        for part in pattern.finditer(content)
    ]


def strings(value: Any) -> Iterator[str]:
    """Return all strings in a YAML value, except the keys of its mappings."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(inner)
