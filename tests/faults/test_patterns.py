# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Regular expressions of users: the right labels or an error. Those of ours: no text on a host makes them slow."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import matching
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.modules import monitor_clients
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import SENTINELS, whose_key
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.inputs import examples
from ansible_collections.monitor.cloud.tests.support.tally import SOAK, Tally
from ansible_collections.monitor.cloud.tests.support.tasks import go

# Ten times what the bound is, for machines that have other things to do.
_PATIENCE = 30.0


@pytest.mark.parametrize(
    "pattern", ["(", "[", "*", "a{99999999999999999999}", "(" * 3000 + ")" * 3000, "(?P<a", r"\1", "(?i"]
)
def test_invalid_expressions_are_refused(emulator: Emulator, counts: Tally, pattern: str) -> None:
    with pytest.raises(InputError, match="prune_pattern .* is not a valid regular expression") as refused:
        go(emulator, monitor_clients, labels=["web1"], prune=True, prune_pattern=pattern)
    counts.check(emulator, str(refused.value), faults=1)
    assert emulator.requests() == []


@pytest.mark.filterwarnings("ignore:Possible nested set")
@examples(100, 20000)
@given(pattern=st.text("ab.*+?{}()[]|\\^$1,2-é\0", max_size=14))
def test_any_text_as_an_expression(pattern: str) -> None:
    try:
        found = matching(pattern, "x", ["aaab", "web-1", ""])
    except InputError as error:
        assert str(error).startswith(f"x {pattern!r} ")
    else:
        assert set(found) <= {"aaab", "web-1", ""}


# Files of hosts are searched with expressions too, made from templates.

_KEY, _CODE = SENTINELS["api_key"], SENTINELS["install_code"]
_TEMPLATES = (
    f"install_code={_CODE}\napi_key={_KEY}\n", f"{_KEY}\n", f"a {_CODE} b {_KEY} c\n",
    f"{_CODE} {_CODE} {_KEY} {_CODE} c\n", f"{_KEY} {_CODE} , {_CODE} , x\n", f" {_KEY} \n", f"{_CODE}{_KEY}{_CODE}\n",
)  # fmt: skip


def _texts(size: int) -> list[str]:
    space, word = " " * size, "x" * size
    return [
        space, f"{space}x{space}y", f"api_key={space}x{space}y", f"a {word}", "a " + " b " * (size // 3),
        f"api_key={word} z", f"a{space}b{space}", "x " * (size // 2), "x , " * (size // 4), "\t " * (size // 2) + "y",
        "\x1c" * size, word, "xb " * (size // 3) + "c",
    ]  # fmt: skip


@pytest.mark.parametrize("template", _TEMPLATES)
def test_no_text_on_a_host_keeps_the_controller_busy(template: str) -> None:
    """Before there was a bound, a thousand spaces took minutes, and a file may hold 65,536."""
    for size in (2000, 65536):
        for text in _texts(size):
            began = time.monotonic()
            assert whose_key(f"{text}\n", template, None, {}, "web1").state in ("no_key", "unknown")
            assert time.monotonic() - began < _PATIENCE, (size, text[:20])


@examples(200, 20000)
@given(
    before=st.text("ab =:'\"{}\t", max_size=12),
    after=st.text("ab =:'\"{}\t", max_size=12),
    code=st.booleans(),
    key=st.text("0123456789ABCDEF-", min_size=16, max_size=40),
)
def test_a_key_is_found_at_its_position_in_the_template(before: str, after: str, code: bool, key: str) -> None:
    """An unknown key, by what surrounds it: with an install code on the same line as well, that holds none of that."""
    assume(re.search(r"\S", before + after))
    start = f"{before}{_CODE} {before}" if code else before
    text = f"{start}{_KEY}{after}".replace(_KEY, key).replace(_CODE, "%%%%")
    owner = whose_key(f"{text}\n", f"{start}{_KEY}{after}\n", None, {}, "web1")
    assert owner.state == "unknown"
    assert SOAK or owner.fingerprint
