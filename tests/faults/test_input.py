# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import os
import shutil
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._clients.placeholders import SENTINELS
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.key_detection import find_key_owner
from ansible_collections.monitor.cloud.tests.support.host_files import change, inspect
from ansible_collections.monitor.cloud.tests.support.inputs import examples


def test_no_content_of_a_file_takes_long_to_search() -> None:
    """The template becomes a regular expression. With an old version, a search in 1,000 spaces took minutes."""
    key = SENTINELS["api_key"]
    code = SENTINELS["install_code"]
    space = " " * 65536
    for template in (f"install_code={code}\napi_key={key}\n", f"{code} {code} {key} {code} c\n"):
        for text in (f"{space}x{space}y", f"api_key={space}x{space}y", "x , " * 16384, "a" * 2048 + " " * 2048):
            began = time.monotonic()
            assert find_key_owner(f"{text}\n", template, None, {}, "web1").state in ("no_key", "unknown")
            assert time.monotonic() - began < 30, (template, text[:20])


_NAMES = st.text(
    st.sampled_from("ab '\"$`\\;&|<>*?[]{}()!#~-é=%")
    | st.characters(exclude_categories=["Cs"], exclude_characters=["/", "\x7f", *map(chr, range(32))]),
    min_size=1,
    max_size=20,
).filter(lambda name: name not in (".", "..") and len(name.encode()) < 200)


_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300)


@examples(40, 3000)
@example(directory="a'b \"$x` ", name="it's $(touch x) `y` \\*?[", text="'$(touch x)`y`\\n%s\\c\r\n\n")
@given(directory=_NAMES, name=_NAMES, text=_TEXTS)
def test_any_path_is_written_read_and_removed(
    tmp_path_factory: pytest.TempPathFactory, directory: str, name: str, text: str
) -> None:
    root = tmp_path_factory.mktemp("paths")
    data = text.encode()
    path = root / directory / name
    assert change(path, data) == ""
    assert [os.path.join(parent, file) for parent, _inner, files in os.walk(root) for file in files] == [str(path)]
    assert path.read_bytes() == data
    found = inspect(path, data)
    assert (found.kind, found.mode, found.same) == ("file", 0o600, True)
    assert inspect(path, b"other").same is False
    assert change(path, None) == ""
    assert os.listdir(f"{root}/{directory}") == []
    shutil.rmtree(root)
