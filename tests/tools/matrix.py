# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the tests with each supported ansible-core and Python, and prints a table of the results.

The oldest and the newest pair of versions run all tests that depend on ansible-core. Other pairs run the part smoke.
``matrix.py 2.16/3.11 2.18`` runs only these versions. ``matrix.py 2.18 fleet`` runs only this part of the tests.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from ansible_collections.monitor.cloud.tests.support.tables import markdown
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, LONGEST

# The Python versions of the controller for each ansible-core.
CONTROLLERS = {
    "2.16": ("3.10", "3.11", "3.12"),
    "2.17": ("3.10", "3.11", "3.12"),
    "2.18": ("3.11", "3.12", "3.13"),
    "2.19": ("3.11", "3.12", "3.13"),
    "2.20": ("3.12", "3.13"),
    "2.21": ("3.12", "3.13"),
    "2.22": ("3.13",),
}
# This ansible-core has only release candidates.
NEXT = "2.22"
PAIRS = [(core, python) for core, pythons in CONTROLLERS.items() for python in pythons]
FULL = ("injection", "contract", "fleet", "integration")
ENVIRONMENTS = CHECKOUT / ".cache" / "matrix"
HEAD = ("ansible-core", "Python", "versions", "parts", "passed", "failed", "skipped")


@dataclass
class Result:
    core: str
    python: str
    versions: str
    parts: str
    code: int
    # The report of pytest in the format of JUnit. The report is missing if pytest did not start.
    report: Path

    def row(self) -> tuple[object, ...]:
        first = (self.core, self.python, self.versions, self.parts)
        if not self.report.exists():
            return (*first, "-", "not run", "-")
        suite = ElementTree.parse(self.report).getroot()[0]
        failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
        skipped = int(suite.attrib["skipped"])
        passed = int(suite.attrib["tests"]) - failed - skipped
        return (*first, passed, failed, skipped)


def environment(name: str, python: str, *packages: str) -> Path:
    """Return the Python of a virtual environment with these packages. Create the environment if it is missing."""
    interpreter = ENVIRONMENTS / name / "bin" / "python"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    path = os.pathsep.join([*map(str, sorted(pyenv.glob("versions/*/bin"))), os.environ["PATH"]])
    commands = [[str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]]
    if not interpreter.exists():
        program = f"python{python}"
        commands.insert(0, [shutil.which(program, path=path) or program, "-m", "venv", str(ENVIRONMENTS / name)])
    for command in commands:
        subprocess.run(command, check=True, timeout=LONGEST)
    return interpreter


def controller(core: str, python: str) -> Path:
    """Return the Python of an environment with this ansible-core and with a link to the collection."""
    requirements = str(CHECKOUT / "tests" / "requirements-matrix.txt")
    package = f"ansible-core~={core}.0rc1" if core == NEXT else f"ansible-core=={core}.*"
    interpreter = environment(f"{core}-{python}", python, package, "-r", requirements)
    link = interpreter.parents[1] / f"lib/python{python}/site-packages/ansible_collections/monitor/cloud"
    link.parent.mkdir(parents=True, exist_ok=True)
    # If the cache was copied, the link can point to another checkout.
    link.unlink(missing_ok=True)
    link.symlink_to(CHECKOUT)
    return interpreter


def parts_of(core: str, python: str) -> list[str]:
    is_oldest_or_newest = (core, python) in (PAIRS[0], PAIRS[-1])
    parts = list(FULL) if is_oldest_or_newest else ["smoke"]
    # One Python is enough for sanity tests. PyPI lacks packages that sanity tests of release candidates need.
    if core != NEXT and python == CONTROLLERS[core][0]:
        parts.append("sanity")
    return parts


def versions(interpreter: Path) -> str:
    """Return the exact versions of ansible-core and Python."""
    program = "import importlib.metadata as m, platform as p; print(m.version('ansible-core'), p.python_version())"
    return subprocess.check_output([str(interpreter), "-c", program], text=True, timeout=60).strip()


def run(core: str, python: str, parts: list[str]) -> Result:
    """Run the tests with a pair of versions. Modules also run with each Python that ansible-core supports on hosts."""
    print(f"== ansible-core {core}, Python {python}", flush=True)
    interpreter = controller(core, python)
    newest = 12 if core in ("2.16", "2.17") else 13
    hosts = [environment(f"target-3.{minor}", f"3.{minor}", "requests") for minor in range(9, newest + 1)]
    variables = {
        "PATH": f"{interpreter.parent}{os.pathsep}{os.environ['PATH']}",
        "TARGET_PYTHONS": os.pathsep.join(map(str, hosts)),
    }
    report = ENVIRONMENTS / f"{core}-{python}.xml"
    report.unlink(missing_ok=True)
    command = [str(interpreter), str(CHECKOUT / "tests/tools/run.py"), *parts, f"--junitxml={report}"]
    code = subprocess.run(command, env={**os.environ, **variables}, check=False).returncode
    return Result(core, python, versions(interpreter), ", ".join(parts), code, report)


def main() -> int:
    only = {word for word in sys.argv[1:] if word[0].isdigit()}
    parts = [word for word in sys.argv[1:] if word not in only]
    chosen = [pair for pair in PAIRS if not only or {pair[0], "/".join(pair)} & only]
    results = [run(*pair, parts or parts_of(*pair)) for pair in chosen]
    print(markdown(HEAD, [result.row() for result in results]))
    return max(result.code for result in results)


if __name__ == "__main__":
    sys.exit(main())
