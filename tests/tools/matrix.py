# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the tests with each supported ansible-core and Python, and writes the results into docs/versions.md.

The oldest core with the oldest Python and the newest with the newest run everything that depends on core; all others
run the smoke set. ``matrix.py 2.16/3.11 2.18`` runs some only.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from ansible_collections.monitor.cloud.tests.tools.install import uv_environment
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

# Seconds for a part of the tests.
_LONGEST = 6 * 3600.0
ENVIRONMENTS = CHECKOUT / ".cache" / "matrix"
PAGE = CHECKOUT / "docs" / "versions.md"


class Unavailable(Exception):
    """A Python or a package that is not there."""


def environment(name: str, python: str, *packages: str) -> Path:
    """The interpreter of a virtual environment with these packages, which is made if it is not there.

    uv finds its own Pythons, those on the path, and with this path those of pyenv.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    path = [*map(str, sorted(pyenv.glob("versions/*/bin"))), os.environ["PATH"]]
    variables = {**uv_environment(), "PATH": os.pathsep.join(path)}
    interpreter = ENVIRONMENTS / name / "bin" / "python"
    commands = [["pip", "install", "--python", str(interpreter), *packages]]
    if not interpreter.exists():
        commands.insert(0, ["venv", "--seed", "--python", python, str(ENVIRONMENTS / name)])
    for arguments in commands:
        command = [sys.executable, "-m", "uv", "--quiet", "--no-python-downloads", *arguments]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=LONGEST)
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
    if not link.exists():
        link.symlink_to(CHECKOUT)
    return interpreter


@dataclass
class Outcome:
    """The result of one part: how many tests passed and failed, and why others did not run."""

    part: str
    passed: int = 0
    failed: int = 0
    skipped: list[str] = field(default_factory=list)


def run(core: str, python: str, parts: Sequence[str]) -> list[Outcome]:
    """The outcomes of these parts with a core and a Python; a skip with the reason if one is not there."""
    print(f"== ansible-core {core}, Python {python}", flush=True)
    oldest, newest = TARGETS[core]
    try:
        interpreter = controller(core, python)
        hosts = [environment(f"target-3.{minor}", f"3.{minor}", "requests") for minor in range(oldest, newest + 1)]
    except Unavailable as problem:
        return [Outcome("", skipped=[str(problem)])]
    path = f"{interpreter.parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "TARGET_PYTHONS": os.pathsep.join(map(str, hosts))}
    return [run_part(interpreter, part, variables) for part in parts]


def run_part(interpreter: Path, part: str, variables: Mapping[str, str]) -> Outcome:
    """The outcome by the report of pytest; its exit code counts too, for a skip can be a failure."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary, "report.xml")
        command = [str(interpreter), str(CHECKOUT / "tests/tools/run.py"), part, f"--junitxml={report}"]
        code = subprocess.run(command, env=variables, check=False, timeout=_LONGEST).returncode
        if not report.exists():
            return Outcome(part, failed=1)
        suite = ElementTree.parse(report).getroot()[0]
    tests, failures, errors, skips = (int(suite.get(name) or 0) for name in ("tests", "failures", "errors", "skipped"))
    reasons = [str(skip.get("message")) for skip in suite.iter("skipped")]
    return Outcome(part, tests - failures - errors - skips, failures + errors or int(code != 0), reasons)


def version(core: str, python: str) -> str:
    code = "import platform, ansible.release as core; print(core.__version__, '|', platform.python_version())"
    interpreter = ENVIRONMENTS / f"{core}-{python}" / "bin" / "python"
    done = subprocess.run([interpreter, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def row(core: str, python: str, outcomes: Sequence[Outcome]) -> str:
    skipped = [reason.replace("|", "/") for outcome in outcomes for reason in outcome.skipped]
    passed = ", ".join(f"{one.part} {one.passed}" for one in outcomes if one.passed)
    failed = sum(outcome.failed for outcome in outcomes)
    ran = version(core, python) if passed or failed else f"{core} | {python}"
    return f"| {ran} | {passed or 'not run'} | {failed} | {'; '.join(dict.fromkeys(skipped)) or '-'} |"


def write_row(line: str) -> None:
    """Add a row to the page, or replace the one of the same core and Python."""
    head, separator, old = PAGE.read_text(encoding="utf-8").partition("| --- | --- | --- | --- | --- |\n")
    rows = {series(row): row for row in [*old.splitlines(), line] if row.startswith("| 2.")}
    lines = [rows[pair] for pair in PAIRS if pair in rows]
    PAGE.write_text("\n".join([head + separator.rstrip("\n"), *lines]) + "\n", encoding="utf-8")


def series(line: str) -> tuple[str, str]:
    core, python = (".".join(cell.split(".")[:2]) for cell in line.replace(" ", "").split("|")[1:3])
    return core, python


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", metavar="CORE[/PYTHON]")
    parser.add_argument("--parts", nargs="+", help=f"these parts instead of {', '.join(FULL)}")
    options = parser.parse_args()
    failed = 0
    for core, python in PAIRS:
        if not options.only or {core, f"{core}/{python}"} & set(options.only):
            full = (core, python) in (PAIRS[0], PAIRS[-1])
            # Sanity tests depend on core, and hardly on the controller's Python.
            smoke = (*SMOKE, "sanity") if python == CONTROLLERS[core][0] else SMOKE
            outcomes = run(core, python, options.parts or (FULL if full else smoke))
            failed += sum(outcome.failed for outcome in outcomes)
            result = row(core, python, outcomes)
            print(result, flush=True)
            write_row(result)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
