# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A release, in a clone of the working tree and with a GPG key of its own."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, copied_tree

KEY = "release@example.com"
REPOSITORY = "https://forge.example.org/team/monitor.cloud"
PRESENT = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text(encoding="utf-8"))
NEXT = f"{PRESENT['version'].split('.')[0]}.99.0"

pytestmark = pytest.mark.skipif(not shutil.which("gpg"), reason="gpg is not installed")


@dataclass(frozen=True)
class Clone:
    """A repository with one commit of the working tree, and the environment in which a release is made there."""

    root: Path
    environment: dict[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False)

    def release(self, version: str = NEXT, repository: str = REPOSITORY, key: str = KEY) -> str:
        options = [f"--version={version}", f"--repository={repository}", f"--key={key}", "--owners=@team/maintainers"]
        return self.run(sys.executable, "tests/tools/release.py", *options).stderr

    def read(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def clone() -> Iterator[Clone]:
    # A short path, because the socket of gpg-agent is in this directory.
    with copied_tree() as root, tempfile.TemporaryDirectory(prefix="gpg-") as home:
        identity = {f"GIT_{role}_{field}": KEY for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
        settings = {"LC_ALL": "C.UTF-8", "GNUPGHOME": home, "PYTHONPATH": str(root.parents[2])}
        made = Clone(root, {**os.environ, **identity, **settings})
        for command in (
            ["gpg", "--batch", "--passphrase=", "--quick-generate-key", KEY, "ed25519", "sign", "never"],
            ["git", "init", "--quiet"],
            ["git", "add", "--all"],
            ["git", "commit", "--quiet", "--message=First"],
        ):
            done = made.run(*command)
            assert done.returncode == 0, done.stderr
        yield made
        made.run("gpgconf", "--kill", "gpg-agent")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"version": "0.9.0"}, "VERSION=0.9.0 is not a version such as"),
        ({"version": "v2"}, "VERSION=v2 is not a version such as"),
        ({"repository": "http://forge.example.org/team"}, "is not an address such as https://"),
        ({"key": "unknown@example.com"}, "No secret key"),
    ],
)
def test_release_that_cannot_be_made_changes_nothing(clone: Clone, options: dict[str, str], message: str) -> None:
    assert message in clone.release(**options)
    assert clone.run("git", "status", "--porcelain").stdout == ""


def test_release_of_a_clean_tree(clone: Clone) -> None:
    (clone.root / "changelogs" / "fragments" / "sample.yml").write_text("bugfixes:\n  - a change.\n")
    assert "Commit or stash them first" in clone.release()
    clone.run("git", "add", "--all")
    clone.run("git", "commit", "--message=A change")

    assert clone.release() == ""

    assert clone.run("git", "status", "--porcelain").stdout == ""
    assert clone.run("git", "verify-tag", f"v{NEXT}").returncode == 0
    assert clone.run("git", "grep", "--fixed-strings", PRESENT["repository"]).stdout == ""
    assert clone.read(".github/CODEOWNERS") == "* @team/maintainers\n"
    archive = clone.root / "build" / f"monitor-cloud-{NEXT}.tar.gz"
    with tarfile.open(archive) as opened:
        manifest = opened.extractfile("MANIFEST.json")
        assert manifest
        info = json.load(manifest)["collection_info"]
    assert (info["version"], info["repository"], info["issues"]) == (NEXT, REPOSITORY, f"{REPOSITORY}/issues")
    assert f'VERSION = "{NEXT}"' in clone.read("plugins/module_utils/_module.py")
    pages = clone.run("git", "grep", "-hoE", "monitor-cloud-[0-9.]+.tar.gz", "--", "docs", "README.md").stdout
    assert set(pages.split()) == {archive.name}
    assert f"v{NEXT}\n" in clone.read("CHANGELOG.rst") and "a change." in clone.read("CHANGELOG.rst")
    assert clone.run("sh", "-c", "cd build && sha256sum --check SHA256SUMS").returncode == 0
    assert clone.run("gpg", "--verify", "build/SHA256SUMS.asc", "build/SHA256SUMS").returncode == 0
    assert f"There is a tag v{NEXT}" in clone.release()
