# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a release in this clone: version, addresses, changelog, archive, signed checksums, commit and signed tag.

Nothing is published. The tree must be clean, so that `git restore .` undoes a release that failed.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import yaml
from packaging.version import Version

from ansible_collections.monitor.cloud.tests.tools.package import build
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, LONGEST, PATH, tracked_files


def stop(reason: str) -> NoReturn:
    sys.exit(f"No release: {reason}")


def run(*command: str) -> str:
    environment = {**os.environ, "PATH": PATH}
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST
    )
    if done.returncode:
        stop(f"{' '.join(command[:2])} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def check(version: str, repository: str, key: str, present: str) -> None:
    """End if the release cannot be made; nothing is changed yet."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version) or Version(version) < Version(present):
        stop(f"VERSION={version} is not a version such as {present} or a later one.")
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", repository):
        stop(f"REPOSITORY={repository} is not an address such as https://forge.example.org/team/name.")
    if run("git", "status", "--porcelain"):
        stop("The tree has changes that are not committed. Commit or stash them first.")
    if run("git", "tag", "--list", f"v{version}"):
        stop(f"There is a tag v{version}. Choose the next version.")
    run("gpg", "--batch", "--list-secret-keys", key)


def replace(present: dict[str, str], version: str, repository: str) -> None:
    """Replace address and version where files state them."""
    stated = {present["repository"]: repository}
    for form in ("monitor-cloud-{}.tar.gz", "\nversion: {}\n", 'VERSION = "{}"\n'):
        stated[form.format(present["version"])] = form.format(version)
    for path in tracked_files():
        if path.suffix in (".yml", ".md", ".rst", ".py") and path.name != "CHANGELOG.rst":
            text = before = (CHECKOUT / path).read_text(encoding="utf-8")
            for old, new in stated.items():
                text = text.replace(old, new)
            if text != before:
                (CHECKOUT / path).write_text(text, encoding="utf-8")


def release(version: str, repository: str, key: str, owners: str | None) -> Path:
    present = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text(encoding="utf-8"))
    check(version, repository, key, present["version"])
    replace(present, version, repository)
    if owners:
        (CHECKOUT / ".github" / "CODEOWNERS").write_text(f"* {owners}\n", encoding="utf-8")
    # Add the new fragments to the entry of a version that is not released yet, and set its date to today.
    run("antsibull-changelog", "release", "--reload-plugins", "--update-existing")
    archive = build(CHECKOUT / "build")
    sums = archive.with_name("SHA256SUMS")
    sums.write_text(f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n", encoding="utf-8")
    run("gpg", "--yes", "--armor", "--local-user", key, "--detach-sign", str(sums))
    run("git", "add", "--all")
    run("git", "commit", "--quiet", f"--message=Release {version}")
    run("git", "tag", f"--local-user={key}", f"--message=Release {version}", f"v{version}")
    return archive


def main() -> None:
    """Make the release that the command line names, and print how to publish it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True, help="such as 1.2.3, the present one or a later one")
    parser.add_argument("--repository", required=True, help="https address of the public repository")
    parser.add_argument("--key", required=True, help="GPG key that signs the checksums and the tag")
    parser.add_argument("--owners", help="accounts or teams that review changes, for CODEOWNERS")
    options = parser.parse_args()
    archive = release(options.version, options.repository.rstrip("/"), options.key, options.owners)
    name = archive.relative_to(CHECKOUT)
    print(f"{name}, build/SHA256SUMS and build/SHA256SUMS.asc are ready. To publish them:")
    print(f"  git push --atomic origin HEAD v{options.version}")
    print(f"  ansible-galaxy collection publish {name}")


if __name__ == "__main__":
    main()
