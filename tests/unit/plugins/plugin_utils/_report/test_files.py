# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._report import files

AUDIT: dict[str, Any] = {"schema_version": 3, "generated_at": "2026-01-02T03:04:05Z", "hosts": []}
TEXT = json.dumps(AUDIT)


def names(*audits: Any, variables: dict[str, Any] | None = None, pattern: str = "") -> list[str]:
    return [audit.name for audit in files.read_slices(audits, variables or {}, pattern)]


def test_paths_patterns_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("b.json", "a.json", "[c].json", "c.json"):
        (tmp_path / name).write_text(TEXT, encoding="utf-8")
    (tmp_path / "again.json").symlink_to("a.json")
    assert names("b.json", "[ab].json") == [f"{tmp_path}/b.json", f"{tmp_path}/a.json"]
    # A file with two names is read once. The name of an existing file is not used as a pattern.
    assert names("a.json", "again.json", "~/a.json", "[c].json") == [f"{tmp_path}/a.json", f"{tmp_path}/[c].json"]
    variables = {"audit_2": AUDIT, "audit_1": AUDIT, "not_audit_1": 7}
    assert names("b.json", variables=variables, pattern="audit_.*") == [
        "The variable audit_1", "The variable audit_2", f"{tmp_path}/b.json"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Path.mkdir, "could not be read: the path is not a regular file"),
        (os.mkfifo, "could not be read: the path is not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "could not be read: the path is not a regular file"),
        (lambda path: path.write_bytes(b"\xff\x00"), "is not valid JSON"),
        (lambda path: path.open("wb").truncate(2**26 + 1), "is not valid JSON"),
        (lambda path: path.write_text("[]", encoding="utf-8"), "is not an audit"),
        (lambda path: None, "could not be read: No such file"),
    ],
)
def test_an_invalid_file_is_named(tmp_path: Path, make: Callable[[Path], Any], message: str) -> None:
    make(tmp_path / "bad.json")
    with pytest.raises(InputError, match=rf"({tmp_path.resolve()}/bad.json|/dev/zero) {message}"):
        names(str(tmp_path / "bad.json"))


@pytest.mark.parametrize("name", ["audit_1", "ansible_audit"])
def test_an_audit_that_is_a_fact_is_refused(name: str) -> None:
    variables = {name: AUDIT, "ansible_facts": {name.removeprefix("ansible_"): AUDIT}}
    with pytest.raises(InputError, match=f"The variable {name}, .* is a fact of a host"):
        names(variables=variables, pattern=name)
    # An extra variable overrides the fact.
    variables["ansible_facts"] = {name: {**AUDIT, "hosts": [1]}}
    assert names(variables=variables, pattern=name) == [f"The variable {name}"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "There are no audits to join"),
        ("nothing_.*", "No variable has a name that matches audits_variables 'nothing_"),
        ("(", r"audits_variables '\(' is not a valid regular expression"),
    ],
)
def test_no_audits(pattern: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        names("", pattern=pattern)


def test_a_report_replaces_a_file_and_leaves_other_files_alone(tmp_path: Path) -> None:
    other = tmp_path / f"audit.json.{os.getpid()}"
    path = tmp_path / "new" / "audit.json"
    other.touch()
    for text in ("old", "new"):
        assert files.write(str(path), text) == str(path)
    assert (path.read_text(encoding="utf-8"), [*tmp_path.rglob("*.json*")]) == ("new", [other, path])
    for target, reason in {"/dev/null": "the path is not a regular file", "/proc/audit.json": "No such file"}.items():
        with pytest.raises(InputError, match=f"The report could not be written to {target}: {reason}"):
            files.write(target, "")
