# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes one small change after another in the pure files, and counts those that their unit tests notice.

The changes are those of cosmic-ray. Its own runner starts pytest for each of them, which takes 1.7 s of processor time;
here a fork of a process that has imported all but this collection takes 0.4 s.
"""

import argparse
import ast
import collections
import contextlib
import importlib.util
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible_collections.monitor.cloud.tests.tools.tree import COLLECTION, copied_tree

PASSING = 95.0
# A test that notices one replacement of an operator notices most others: two of the ten of an arithmetic operator, the
# opposite of "==", "is" and "-", and the orders instead of "<" stay. "|" and "**" are mostly of annotations and calls.
OPERATORS = re.compile(
    r"core/(ReplaceBinaryOperator_(Add|Sub|Mul|Div|FloorDiv|Mod)_(Add|Sub|Mul)"
    r"|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Is_IsNot|IsNot_Is|(Lt|LtE|Gt|GtE)_(Lt|LtE|Gt|GtE))"
    r"|ReplaceUnaryOperator_(USub_UAdd|Delete_\w+)"
    r"|(?!Replace(Binary|Comparison|Unary)Operator|Variable)\w+)"
)
# Lines that only type checkers, speed or mistakes of a maintainer depend on.
WITHOUT_EFFECT = re.compile(r"if t\.TYPE_CHECKING:|\(frozen=True\)|strict=True\)|functools\.lru_cache")
# They start a browser or shells, or test none of the pure files.
LEFT_OUT = ("test_page.py", "test_remote_file.py", "test_remote_file_attacks.py", "test_leftovers.py")
# For a change that makes a loop endless: a run of the tests takes 2 seconds of processor time at most.
LIMITS = {resource.RLIMIT_CPU: 10, resource.RLIMIT_AS: 4 * 2**30}


def pure_files(root: Path) -> list[Path]:
    """The files of the collection whose docstring calls them pure, from the root."""
    files = (file for file in root.glob("plugins/*_utils/*/*.py") if file.stat().st_size)
    return sorted(
        file.relative_to(root) for file in files if "Pure." in (ast.get_docstring(ast.parse(file.read_text())) or "")
    )


def tests_of(file: Path) -> list[str]:
    """The unit tests of a file: those of its folder that import it, or all of its folder if none does."""
    folder = [test for test in sorted(Path("tests/unit", file.parent).glob("test_*.py")) if test.name not in LEFT_OUT]
    own = [test for test in folder if f"{file.parent.name}.{file.stem} import" in test.read_text(encoding="utf-8")]
    return [str(test) for test in own or folder]


def changes_of(file: Path) -> Iterator[tuple[str, str]]:
    """Each change of a file: its line, column, operator and original line as text, and the changed source."""
    # Only this command needs cosmic-ray.
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    source = file.read_text(encoding="utf-8")
    nodes = list(ast_nodes(get_ast(source)))
    for name in [name for name in operator_names() if OPERATORS.fullmatch(name)]:
        operator = get_operator(name)()
        starts = [start for node in nodes for start, _end in operator.mutation_positions(node)]
        for occurrence, (line, column) in enumerate(starts):
            text = source.splitlines()[line - 1].strip()
            if WITHOUT_EFFECT.search(text):
                continue
            # Cosmic-ray 8.7 cannot replace an exception with a dot in its name.
            with contextlib.suppress(AttributeError):
                yield f"{file}:{line}:{column}: {name[5:]}: {text}", mutate_code(source, operator, occurrence)


def passes(tests: list[str]) -> bool:
    """Whether the tests pass with the files as they are now, in a process of its own."""
    child = os.fork()
    if child == 0:
        for limit, value in LIMITS.items():
            resource.setrlimit(limit, (value, value))
        os._exit(run(tests))
    return os.waitpid(child, 0)[1] == 0


class QuickFirst:
    """A plugin of pytest that runs the quickest tests first, because they notice most changes."""

    seconds: collections.Counter[str] = collections.Counter()

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: self.seconds[item.nodeid])


def run(tests: list[str]) -> int:
    """Import this collection anew, and run tests without the fixtures and plugins that they do not need."""
    import pytest

    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(os.getcwd()) and name != "__main__":
            del sys.modules[name]
    options = ["-x", "-q", "--noconftest", "--tb=no", "-p", "no:cacheprovider"]
    return int(pytest.main([*options, *tests], plugins=[QuickFirst()]))


def count_noticed(files: list[Path]) -> float:
    """Print the changes of each file that no test notices, and how many are noticed; the percentage of all."""
    import hypothesis

    # Always the same examples, few of them, and no search for the simplest that fails.
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile(
        "mutation", derandomize=True, database=None, deadline=None, max_examples=20, phases=phases
    )
    hypothesis.settings.load_profile("mutation")
    output = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for folder in dict.fromkeys(file.parent for file in files):
        if run(tests_of(folder / "any")):
            raise SystemExit(f"The tests of {folder} fail without a change: see pytest tests/unit/{folder}")
    sys.dont_write_bytecode = True
    noticed = made = 0
    for file in files:
        source, survivors = file.read_bytes(), 0
        changes = list(changes_of(file))
        Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)
        for change, changed in changes:
            file.write_text(changed, encoding="utf-8")
            if passes(tests_of(file)):
                survivors += 1
                print(change, file=output)
        file.write_bytes(source)
        print(f"{file}: {len(changes) - survivors} of {len(changes)} noticed", file=output)
        noticed, made = noticed + len(changes) - survivors, made + len(changes)
    score = 100.0 * noticed / made if made else 100.0
    print(f"{noticed} of {made} noticed: {score:.1f} %", file=output)
    return score


def main() -> int:
    """Test the files that are named, or all, in a copy of the working tree; the exit code is 1 below 95 %."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="pure files; all of them by default")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        return int(count_noticed(options.files or pure_files(Path())) < PASSING)
    with copied_tree() as root:
        base = str(root).removesuffix(str(COLLECTION))
        environment = {**os.environ, "PYTHONPATH": base, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        command = [sys.executable, str(root / "tests/tools/mutation.py"), "--here", *map(str, options.files)]
        return subprocess.run(command, cwd=root, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
