# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The archive: links of its pages, and the example of an execution environment that installs it.

`tests/tools/docs.py`, a step of `make lint`, follows the links of the site.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from ansible_collections.monitor.cloud.tests.tools.links import on_forge, targets
from ansible_collections.monitor.cloud.tests.tools.package import build
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, PATH, tracked_files

PAGES = [path for path in tracked_files() if path.suffix in (".md", ".rst")]


def test_links_of_the_repository_lead_to_files() -> None:
    for page in PAGES:
        text = (CHECKOUT / page).read_text(encoding="utf-8")
        assert [path for path in targets(text, page) if not (CHECKOUT / path).exists()] == [], page
        # A forge shows these as they are.
        assert re.findall(r":(?:ref|doc|ansplugin|ansopt):`|example\.com/monitor\.cloud", text) == [], page


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the archive, and return the directory in which the steps of the execution environment install it."""
    directory = tmp_path_factory.mktemp("image")
    build(directory)
    shutil.copy(CHECKOUT / "examples" / "execution-environment.yml", directory)
    run("ansible-builder create --output-filename Containerfile", directory)
    # What the image's own step runs, in the directory that becomes /build, with another place for the result.
    context = directory / "context"
    steps = (context / "Containerfile").read_text(encoding="utf-8").splitlines()
    (install,) = [step.removeprefix("RUN ") for step in steps if "ansible-galaxy collection install" in step]
    assert "COPY _build /build" in steps and "WORKDIR /build" in steps
    run(install.replace("/usr/share/ansible", str(directory / "installed")), context / "_build")
    return directory / "installed" / "collections" / "ansible_collections" / "monitor" / "cloud"


def run(command: str, directory: Path) -> str:
    # Without the search of Python's own path, which would find the checkout.
    environment = {**os.environ, "PATH": PATH, "ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "false"}
    done = subprocess.run(
        command, cwd=directory, env=environment, shell=True, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_execution_environment_gets_the_requirements(installed: Path) -> None:
    found = yaml.safe_load(run(f"ansible-builder introspect {installed.parents[2]}", installed))
    assert [requirement.split()[0] for requirement in found["python"]] == ["requests"]


def test_links_of_the_archive_lead_to_its_files_or_to_the_repository(installed: Path) -> None:
    forge = on_forge("").replace("blob", "(?:raw|blob)")
    absolute = 0
    for page in PAGES:
        if (installed / page).exists():
            text = (installed / page).read_text(encoding="utf-8")
            relative = targets(text, page)
            assert [path for path in relative if not (installed / path).exists()] == [], page
            assert not (relative and page.name == "README.md"), "Automation Hub demands absolute links"
            linked = re.findall(rf"{forge}([^)#>\s]*)", text)
            assert [path for path in linked if not (CHECKOUT / path).exists()] == [], page
            absolute += len(linked)
    assert absolute > 10
