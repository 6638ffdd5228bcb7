# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the collection, and checks what is in the archive."""

import argparse
import functools
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from ansible_collections.monitor.cloud.tests.tools.install import install
from ansible_collections.monitor.cloud.tests.tools.links import on_forge, rewritten, targets
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, LONGEST, PATH, copied_tree, tracked_files

IMPORTER = CHECKOUT / ".cache" / "importer"
IMPORTER_LOCK = CHECKOUT / "tests" / "locks" / "importer.txt"
CONTENT = {"CHANGELOG.rst", "LICENSES", "README.md", "SECURITY.md"}
CONTENT |= {"changelogs", "docs", "examples", "meta", "playbooks", "plugins", "roles"}


def build(output: Path) -> Path:
    """Build the archive from a copy of the tracked files, with links for its readers."""
    with copied_tree() as root, tempfile.TemporaryDirectory() as temporary:
        for path in (path for path in tracked_files() if path.suffix in (".md", ".rst")):
            text = rewritten((root / path).read_text(encoding="utf-8"), path, functools.partial(_url, path))
            (root / path).write_text(text, encoding="utf-8")
        command = ["ansible-galaxy", "collection", "build", str(root), "--output-path", temporary]
        environment = {**os.environ, "PATH": PATH}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, timeout=LONGEST)
        (built,) = Path(temporary).glob("*.tar.gz")
        output.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy2(built, output))


def _url(page: Path, target: str) -> str:
    """Link within the archive, or to the repository: Automation Hub demands this of README."""
    inside = page.name != "README.md" and Path(target).parts[0] in CONTENT
    return os.path.relpath(target, page.parent) if inside else on_forge(target)


def differences(archive: Path) -> list[str]:
    with tarfile.open(archive) as opened:
        found = {Path(member.name) for member in opened if not member.isdir()}
    expected = {
        path
        for path in tracked_files()
        if path.parts[0] in CONTENT and path.parts[1:2] not in (("fragments",), ("contributing",))
    }
    return sorted(map(str, found ^ {*expected, Path("FILES.json"), Path("MANIFEST.json")}))


def broken_links(archive: Path) -> list[str]:
    """Return the links of pages that lead to no file of the archive and, for those to the forge, of the repository."""
    forge = re.compile(on_forge("").replace("/blob/", "/(?:raw|blob)/") + r"([^)#>\s]*)")
    with tarfile.open(archive) as opened:
        names = set(opened.getnames())
        pages = {Path(name): opened.extractfile(name) for name in names if name.endswith((".md", ".rst"))}
        texts = {page: file.read().decode() for page, file in pages.items() if file}
    broken = []
    for page, text in texts.items():
        # Automation Hub demands absolute links in README.
        inside = () if page.name == "README.md" else names
        broken += [f"{page}: {path}" for path in targets(text, page) if path not in inside]
        broken += [f"{page}: {path}" for path in forge.findall(text) if not (CHECKOUT / path).exists()]
    return broken


def refusals(archive: Path) -> list[str]:
    """Return the errors and warnings of the checks that Galaxy and Automation Hub make of an uploaded archive."""
    installed, locked = IMPORTER / "installed.txt", IMPORTER_LOCK.read_text(encoding="utf-8")
    python = IMPORTER / "bin" / "python"
    if not installed.exists() or installed.read_text(encoding="utf-8") != locked:
        command = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(IMPORTER)]
        subprocess.run(command, check=True, timeout=LONGEST)
        if install(str(python), IMPORTER_LOCK) != 0:
            return ["galaxy-importer cannot be installed"]
        installed.write_text(locked, encoding="utf-8")
    environment = {
        **os.environ,
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        # As on Automation Hub.
        "GALAXY_IMPORTER_CHECK_REQUIRED_TAGS": "true",
        "GALAXY_IMPORTER_REQUIRE_V1_OR_GREATER": "true",
        # make lint checks the whole tree with more rules.
        "GALAXY_IMPORTER_RUN_ANSIBLE_LINT": "false",
    }
    command = [str(python), "-m", "galaxy_importer.main", str(archive.resolve())]
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            command, cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST
        )
    lines = (done.stdout + done.stderr).splitlines()
    found = [f"galaxy-importer: {line}" for line in lines if line.startswith(("ERROR", "WARNING"))]
    accepted = any(line.startswith("Importer processing completed successfully") for line in lines)
    return found if found or accepted else ["galaxy-importer ended without a result:", *lines]


def main() -> int:
    """Build and check; without --output the archive is only a trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="directory in which the archive stays")
    parser.add_argument("--import", dest="imported", action="store_true", help="check it with galaxy-importer too")
    options = parser.parse_args()
    output: Path | None = options.output
    with tempfile.TemporaryDirectory() as temporary:
        archive = build(output or Path(temporary))
        problems = [f"{name} is missing from the archive, or does not belong there" for name in differences(archive)]
        problems += [f"nothing at the link of {link}" for link in broken_links(archive)]
        problems += refusals(archive) if options.imported else []
    print("\n".join(problems or [f"{archive if output else archive.name}: complete"]))
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
