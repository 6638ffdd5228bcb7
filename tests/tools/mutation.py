# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes one small change at a time in the pure files with cosmic-ray, and counts the changes that unit tests notice."""

import argparse
import ast
import os
import re
import sys
from pathlib import Path

from cosmic_ray.commands.init import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome

from ansible_collections.monitor.cloud.tests.tools import figures
from ansible_collections.monitor.cloud.tests.tools.tree import COLLECTION, copied_tree

PASSING = 95.0
# Tests that notice one replacement of an operator notice most others, so try one or two for each operator.
OPERATORS = re.compile(
    r"core/(ReplaceBinaryOperator_(Add|Sub|Mul|Div|FloorDiv|Mod)_(Add|Sub|Mul)"
    r"|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Is_IsNot|IsNot_Is|(Lt|LtE|Gt|GtE)_(Lt|LtE|Gt|GtE))"
    r"|ReplaceUnaryOperator_(USub_UAdd|Delete_\w+)"
    r"|(?!Replace(Binary|Comparison|Unary)Operator|Variable)\w+)"
)
# Changes in these lines have no effect on results.
WITHOUT_EFFECT = re.compile(r"if t\.TYPE_CHECKING:|\(frozen=True\)|strict=True\)|functools\.lru_cache")
# These tests are slow: they start a browser or shells.
LEFT_OUT = ("test_page.py", "test_host_file.py")
# The time limit in seconds, because a change can make a loop endless.
TIMEOUT = 30


def pure_files(root: Path) -> list[Path]:
    files = (file for file in root.glob("plugins/*_utils/*/*.py") if file.stat().st_size)
    return sorted(
        file.relative_to(root) for file in files if "Pure." in (ast.get_docstring(ast.parse(file.read_text())) or "")
    )


def tests_of(file: Path) -> list[str]:
    """Return the unit tests that import a file. If no test imports the file, return all tests of its folder."""
    folder = [test for test in sorted(Path("tests/unit", file.parent).glob("test_*.py")) if test.name not in LEFT_OUT]
    importing = [
        test for test in folder if f"{file.parent.name}.{file.stem} import" in test.read_text(encoding="utf-8")
    ]
    return [str(test) for test in importing or folder]


def count_noticed(file: Path) -> tuple[int, int]:
    """Print the changes of a file that no test notices. Return the numbers of noticed changes and of all changes.

    Cosmic-ray itself would also count skipped and impossible changes as noticed.
    """
    options = "-x -q --noconftest --tb=no -p no:cacheprovider -p _hypothesis_pytestplugin -p pytest_timeout"
    command = " ".join([sys.executable, "-m pytest", options, *tests_of(file)])
    if mutate_and_test([], command, TIMEOUT).test_outcome != TestOutcome.SURVIVED:
        raise SystemExit(f"The tests of {file} fail without a change: {command}")
    with use_db(":memory:", WorkDB.Mode.create) as database:
        init([file], database, {})
        changes = [item.mutations[0] for item in database.work_items]
    lines = file.read_text(encoding="utf-8").splitlines()
    noticed = made = 0
    for change in changes:
        line = lines[change.start_pos[0] - 1].strip()
        if OPERATORS.fullmatch(change.operator_name) and not WITHOUT_EFFECT.search(line):
            outcome = mutate_and_test([change], command, TIMEOUT).test_outcome
            # Cosmic-ray 8.7 cannot replace an exception whose name contains a dot.
            made += outcome != TestOutcome.INCOMPETENT
            noticed += outcome == TestOutcome.KILLED
            if outcome == TestOutcome.SURVIVED:
                start = ":".join(map(str, change.start_pos))
                print(f"{file}:{start}: {change.operator_name[5:]}: {line}", flush=True)
    print(f"{file}: {noticed} of {made} noticed", flush=True)
    return noticed, made


def main() -> int:
    """Test the named files, or all pure files, in a copy of the tree. Return 1 if tests notice less than 95 %."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="paths of pure files (default: all pure files)")
    files = parser.parse_args().files
    with copied_tree() as root:
        os.chdir(root)
        base = str(root).removesuffix(str(COLLECTION))
        # With CI=true hypothesis tries the same examples in each run.
        os.environ.update(PYTHONPATH=base, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", CI="true")
        counts = [count_noticed(file) for file in files or pure_files(root)]
    noticed, made = map(sum, zip(*counts, strict=True))
    score = 100.0 * noticed / made
    print(f"{noticed} of {made} noticed: {score:.1f} %")
    if not files:
        measured = (len(counts), f"{made:,}", f"{noticed:,}", f"{score:.1f} %", f"{PASSING:g} %")
        figures.write("mutation", ("pure files", "changes", "noticed", "share", "at least"), [measured])
    return int(score < PASSING)


if __name__ == "__main__":
    sys.exit(main())
