# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The example of an execution environment, built as far as no container is needed."""

import os
import shutil
import subprocess
from pathlib import Path

import yaml

from ansible_collections.monitor.cloud.tests.tools.package import build
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, PATH

EXAMPLE = CHECKOUT / "examples" / "execution-environment.yml"


def test_the_definition_installs_the_archive_and_its_requirements(tmp_path: Path) -> None:
    archive = build(tmp_path)
    shutil.copy(EXAMPLE, tmp_path)
    # Without the search of Python's own path, which would find the checkout.
    environment = {**os.environ, "PATH": PATH}
    environment["ANSIBLE_COLLECTIONS_SCAN_SYS_PATH"] = "false"

    def run(command: str, directory: Path) -> str:
        done = subprocess.run(
            command, cwd=directory, env=environment, shell=True, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("ansible-builder create --output-filename Containerfile", tmp_path)

    # What the image's own step runs, in the directory that becomes /build, with another place for the result.
    context = tmp_path / "context"
    steps = (context / "Containerfile").read_text(encoding="utf-8").splitlines()
    (install,) = [step.removeprefix("RUN ") for step in steps if "ansible-galaxy collection install" in step]
    assert "COPY _build /build" in steps and "WORKDIR /build" in steps
    run(install.replace("/usr/share/ansible", str(tmp_path / "installed")), context / "_build")
    installed = tmp_path / "installed" / "collections" / "ansible_collections" / "monitor" / "cloud"
    assert (installed / "MANIFEST.json").exists(), archive

    found = yaml.safe_load(run(f"ansible-builder introspect {installed.parents[2]}", tmp_path))
    assert [requirement.split()[0] for requirement in found["python"]] == ["requests"]
