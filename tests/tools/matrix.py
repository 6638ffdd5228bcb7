# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the tests with each supported ansible-core and Python, and writes the results into docs/testing.md.

The oldest core with the oldest Python and the newest with the newest run everything that depends on core; all others
run the smoke set. ``matrix.py 2.16/3.11 2.18`` runs some only.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ansible_collections.monitor.cloud.tests.tools import figures
from ansible_collections.monitor.cloud.tests.tools.run import counts
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, LONGEST

# Core → Pythons of the controller, and the oldest and newest Python that modules run on; as core documents them, from
# the oldest that this collection supports.
CONTROLLERS = {
    "2.16": ("3.10", "3.11", "3.12"),
    "2.17": ("3.10", "3.11", "3.12"),
    "2.18": ("3.11", "3.12", "3.13"),
    "2.19": ("3.11", "3.12", "3.13"),
    "2.20": ("3.12", "3.13"),
    "2.21": ("3.12", "3.13"),
    "2.22": ("3.13",),
}
TARGETS = {core: (9, 12) if core in ("2.16", "2.17") else (9, 13) for core in CONTROLLERS}
# There is no release yet: its release candidates count.
NEXT = "2.22"
PAIRS = [(core, python) for core, pythons in CONTROLLERS.items() for python in pythons]
FULL = ("injection", "contract", "fleet", "integration", "sanity")
SMOKE = ("smoke",)

HEAD = ("ansible-core", "Python", "versions", "passed", "failed", "skipped")
# Seconds for a part of the tests.
_LONGEST = 6 * 3600.0
ENVIRONMENTS = CHECKOUT / ".cache" / "matrix"


class Unavailable(Exception):
    """A Python or a package that is not there."""


def environment(name: str, python: str, *packages: str) -> Path:
    """The interpreter of a virtual environment with these packages, which is made if it is not there."""
    interpreter = ENVIRONMENTS / name / "bin" / "python"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    path = os.pathsep.join([*map(str, sorted(pyenv.glob("versions/*/bin"))), os.environ["PATH"]])
    if not (found := shutil.which(f"python{python}", path=path)):
        raise Unavailable(f"Python {python} is not installed")
    commands = [[str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]]
    if not interpreter.exists():
        commands.insert(0, [found, "-m", "venv", str(ENVIRONMENTS / name)])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST)
        if done.returncode != 0:
            raise Unavailable(" ".join(done.stderr.split())[-300:])
    return interpreter


def controller(core: str, python: str) -> Path:
    """The Python of an environment with this core, in which the checkout is importable as the collection."""
    requirements = str(CHECKOUT / "tests" / "requirements-matrix.txt")
    package = f"ansible-core~={core}.0rc1" if core == NEXT else f"ansible-core=={core}.*"
    interpreter = environment(f"{core}-{python}", python, package, "-r", requirements)
    link = interpreter.parents[1] / f"lib/python{python}/site-packages/ansible_collections/monitor/cloud"
    link.parent.mkdir(parents=True, exist_ok=True)
    # The cache may have been copied with another checkout.
    link.unlink(missing_ok=True)
    link.symlink_to(CHECKOUT)
    return interpreter


# The name of a part, how many of its tests passed and failed, and why others did not run.
Outcome = tuple[str, int, int, list[str]]


def run(core: str, python: str, parts: Sequence[str]) -> list[Outcome]:
    """The outcomes of these parts with a core and a Python; a skip with the reason if one is not there."""
    print(f"== ansible-core {core}, Python {python}", flush=True)
    oldest, newest = TARGETS[core]
    try:
        interpreter = controller(core, python)
        hosts = [environment(f"target-3.{minor}", f"3.{minor}", "requests") for minor in range(oldest, newest + 1)]
    except Unavailable as problem:
        return [("", 0, 0, [str(problem)])]
    path = f"{interpreter.parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "TARGET_PYTHONS": os.pathsep.join(map(str, hosts))}
    return [run_part(interpreter, part, variables) for part in parts]


def run_part(interpreter: Path, part: str, variables: Mapping[str, str]) -> Outcome:
    """The outcome by the report of pytest; its exit code counts too, for a skip can be a failure."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary, "report.xml")
        command = [str(interpreter), str(CHECKOUT / "tests/tools/run.py"), part, f"--junitxml={report}"]
        code = subprocess.run(command, env=variables, check=False, timeout=_LONGEST).returncode
        passed, failed, reasons = counts(report) if report.exists() else (0, 1, [])
    return part, passed, failed or int(code != 0), reasons


def row(core: str, python: str, outcomes: Sequence[Outcome]) -> tuple[object, ...]:
    skipped = dict.fromkeys(reason.replace("|", "/") for *_counts, reasons in outcomes for reason in reasons)
    passed = ", ".join(f"{part} {number}" for part, number, *_others in outcomes if number)
    failed = sum(outcome[2] for outcome in outcomes)
    code = "import platform, ansible.release as core; print(core.__version__, platform.python_version(), sep=' / ')"
    interpreter = ENVIRONMENTS / f"{core}-{python}" / "bin" / "python"
    ran = ""
    if passed or failed:
        command = [str(interpreter), "-c", code]
        ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()
    return core, python, ran or "-", passed or "not run", failed, "; ".join(skipped) or "-"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", metavar="CORE[/PYTHON]")
    options = parser.parse_args()
    all_failed = 0
    for core, python in PAIRS:
        if not options.only or {core, f"{core}/{python}"} & set(options.only):
            full = (core, python) in (PAIRS[0], PAIRS[-1])
            # Sanity tests depend on core, and hardly on the controller's Python.
            smoke = (*SMOKE, "sanity") if python == CONTROLLERS[core][0] else SMOKE
            measured = row(core, python, run(core, python, FULL if full else smoke))
            print(*measured, sep=" | ", flush=True)
            figures.write("versions", HEAD, [measured], keys=2)
            all_failed += int(str(measured[4]))
    return int(bool(all_failed))


if __name__ == "__main__":
    sys.exit(main())
