# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audits that a joined report is made of: paths, patterns and variables, and what is none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.base import slices_of

AUDIT: dict[str, Any] = {"schema_version": 2, "generated_at": "2026-01-02T03:04:05Z", "hosts": []}
TEXT = json.dumps(AUDIT)


def names(*audits: Any, variables: dict[str, Any] | None = None, pattern: str = "") -> list[str]:
    return [one.name for one in slices_of(audits, variables or {}, pattern)]


def test_paths_patterns_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("b.json", "a.json", "[c].json", "c.json"):
        (tmp_path / name).write_text(TEXT, encoding="utf-8")
    (tmp_path / "again.json").symlink_to("a.json")
    assert names("b.json", "[ab].json") == [f"{tmp_path}/b.json", f"{tmp_path}/a.json"]
    # A file is read once, and a name that is there is no pattern.
    assert names("a.json", "again.json", "~/a.json", "[c].json") == [f"{tmp_path}/a.json", f"{tmp_path}/[c].json"]
    variables = {"audit_2": AUDIT, "audit_1": AUDIT, "not_audit_1": 7}
    found = names("b.json", variables=variables, pattern="audit_.*")
    assert found == ["The variable audit_1", "The variable audit_2", f"{tmp_path}/b.json"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "could not be read: No such file or directory"),
        (Path.mkdir, "could not be read: Is a directory"),
        (lambda path: path.write_bytes(b"\xff\x00"), "is not valid JSON"),
        (lambda path: path.write_text("[]", encoding="utf-8"), "is not an audit"),
    ],
)
def test_what_is_no_audit_is_named(tmp_path: Path, make: Callable[[Path], Any], message: str) -> None:
    good, path = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(TEXT, encoding="utf-8")
    make(path)
    with pytest.raises(InputError) as caught:
        names(str(good), str(path))
    assert str(path.resolve()) in str(caught.value) and message in str(caught.value)


@pytest.mark.parametrize(
    ("audits", "pattern", "message"),
    [
        ([], "", "There are no audits to join"),
        (["none-*.json"], "", r"No file matches .*/none-\*.json"),
        ([], "nothing_.*", "No variable has a name that matches audits_variables 'nothing_"),
        ([], "(", r"audits_variables '\(' is not a valid regular expression"),
    ],
)
def test_what_names_no_audit(audits: list[Any], pattern: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        names(*audits, pattern=pattern)
