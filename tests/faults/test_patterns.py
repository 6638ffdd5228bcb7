# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Regular expressions that people give: the right labels, or an error within seconds, whatever they wrote."""

from __future__ import annotations

import re
import resource
import time
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.module_utils import _patterns
from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError
from ansible_collections.monitor.cloud.plugins.modules import monitor_client_info, monitor_clients
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent_config import SENTINELS, whose_key
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit import Account, audit
from ansible_collections.monitor.cloud.tests.contract.client.tasks import go, labels, writes
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults.inputs import examples
from ansible_collections.monitor.cloud.tests.faults.tally import SOAK, Tally, short_or_long

# Each would take minutes to ages with one label of these, or gigabytes.
_ENDLESS = (
    r"(a+)+$", r"(a|a)*b", r"(.*.*)*x", r"(?:(?:a?){32})", r"(.*)*x", r"(a|aa)+$" * 8, r"((a*)*)*b", "(a|a)" * 31 + "b",
    r"(?=(a+)+$)b", r"(?:.?.?.?)*b", r"(\w+\W*)+x", ".*" * 12 + "x", r"(a?){60000}b", r"(a+)+\1+\1+b",
)  # fmt: skip
_GREEDY = (r"(?:(?:a?){65535}){65535}", r"((((a?){99}){99}){99}){99}", r"(?:(?:(?:(?:){9999}){9999}){9999}){9999}")
_LABEL = "a" * 31 + "!"
# Ten times what the bound is, for machines that have other things to do.
_PATIENCE = 30.0
_NOT_MANY = 512 * 1024


@pytest.mark.parametrize("pattern", [*_ENDLESS[:: short_or_long(3, 1)], *_GREEDY])
def test_one_that_never_ends_is_refused_in_time(counts: Tally, pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts.runs, counts.faults = counts.runs + 1, counts.faults + 1
    seconds = short_or_long(1, 2)
    monkeypatch.setattr(_patterns, "_SECONDS", seconds)
    wanted = [f"{_LABEL[:-5]}{number:04}!" for number in range(3000)] + [_LABEL]
    began = time.monotonic()
    with pytest.raises(InputError) as refused:
        _patterns.matching(pattern, "prune_pattern", wanted)
    assert time.monotonic() - began < _PATIENCE
    words = f"prune_pattern {pattern!r} takes more than {seconds} s, or too much memory, to match 3001 labels"
    assert words in str(refused.value)
    # In kilobytes: the largest of all processes that this one has ended.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < _NOT_MANY


def test_each_place_where_one_is_given(emulator: Emulator, counts: Tally, monkeypatch: pytest.MonkeyPatch) -> None:
    """No hang, a clear error that names the option, and nothing written, in check mode as well."""
    monkeypatch.setattr(_patterns, "_SECONDS", 1)
    emulator.seed(labels=[_LABEL, "web1"])
    prune = {"labels": ["web1"], "prune": True, "prune_pattern": r"(.*.*)*x"}
    tasks: list[tuple[Any, bool, dict[str, Any]]] = [
        (monitor_clients, True, prune),
        (monitor_clients, False, prune),
        (monitor_client_info, False, {"label_pattern": r"(.*.*)*x"}),
    ]
    for module, check_mode, options in tasks:
        began = time.monotonic()
        with pytest.raises(InputError, match="_pattern .* takes more than 1 s") as refused:
            go(emulator, module, check_mode=check_mode, **options)
        counts.look(emulator, str(refused.value), faults=1)
        assert time.monotonic() - began < _PATIENCE
    assert writes(emulator) == []
    assert labels(emulator) == sorted([_LABEL, "web1"])
    account = Account({}, frozenset([_LABEL]), {})
    with pytest.raises(InputError, match="orphan_pattern .* takes more than 1 s"):
        audit([], account, {}, generated_at="now", orphan_pattern=r"(.*.*)*x")


@pytest.mark.parametrize(
    "pattern", ["(", "[", "*", "a{99999999999999999999}", "(" * 3000 + ")" * 3000, "(?P<a", r"\1", "(?i"]
)
def test_what_is_no_expression(emulator: Emulator, counts: Tally, pattern: str) -> None:
    with pytest.raises(InputError, match="prune_pattern .* is no regular expression") as refused:
        go(emulator, monitor_clients, labels=["web1"], prune=True, prune_pattern=pattern)
    counts.look(emulator, str(refused.value), faults=1)
    assert emulator.requests() == []


def test_usual_ones_cost_next_to_nothing() -> None:
    """Bounds are ten times what was measured, and more: 2 ms for ten thousand labels, 3 ms for a child process."""
    wanted = [f"web-{number:05}" for number in range(10000)]
    for pattern, bound in ((".*", 0.05), ("web-.*", 0.05), ("(web|db)-[0-9]+", 0.05), ("(web-)?([0-9]|x)*", 0.3)):
        times = []
        for _attempt in range(5):
            began = time.perf_counter()
            assert _patterns.matching(pattern, "label_pattern", wanted) == wanted
            times.append(time.perf_counter() - began)
        assert min(times) < bound, pattern


_PIECES = (
    "a",
    "b",
    "-",
    ".",
    "a*",
    "b+",
    "(a|b)",
    "(ab)?",
    "(a+)*",
    "[a-c]",
    "(?:b{1,2})+",
    "|",
    "(?i:A)",
    r"\w",
    "^",
    "$",
)


@examples(150, 20000)
@given(
    pieces=st.lists(st.sampled_from(_PIECES), max_size=6),
    wanted=st.lists(st.text("ab-A\n\ud800é", max_size=8), max_size=8),
)
def test_the_same_labels_as_without_a_bound(pieces: list[str], wanted: list[str]) -> None:
    pattern = "".join(pieces)
    try:
        expression = re.compile(pattern, re.DOTALL)
    except re.error:
        assume(False)
    assert _patterns.matching(pattern, "x", wanted) == [label for label in wanted if expression.fullmatch(label)]


@pytest.mark.filterwarnings("ignore:Possible nested set")
@examples(100, 20000)
@given(pattern=st.text("ab.*+?{}()[]|\\^$1,2-é\0", max_size=14))
def test_any_text_as_one(pattern: str) -> None:
    began = time.monotonic()
    try:
        found = _patterns.matching(pattern, "x", ["aaaaaaaaaaaaaaaaaaab", "web-1", ""])
    except InputError as error:
        assert str(error).startswith(f"x {pattern!r} ")
    else:
        assert set(found) <= {"aaaaaaaaaaaaaaaaaaab", "web-1", ""}
    assert time.monotonic() - began < _PATIENCE


# What hosts hold is looked at with expressions too, made from templates.

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
def test_a_key_is_found_where_the_template_puts_it(before: str, after: str, code: bool, key: str) -> None:
    """Nobody's key, by what surrounds it: with an install code on the same line as well, that holds none of that."""
    assume(re.search(r"\S", before + after))
    start = f"{before}{_CODE} {before}" if code else before
    text = f"{start}{_KEY}{after}".replace(_KEY, key).replace(_CODE, "%%%%")
    owner = whose_key(f"{text}\n", f"{start}{_KEY}{after}\n", None, {}, "web1")
    assert owner.state == "unknown"
    assert SOAK or owner.fingerprint
