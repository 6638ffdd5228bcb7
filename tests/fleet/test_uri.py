# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The guide "Why not a loop over uri?": each fault of the loop that it names happens, and the role does not have it."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from ansible_collections.monitor.cloud.tests.support.documents import blocks
from ansible_collections.monitor.cloud.tests.support.runs import CORE, ROLLOUT, Local, Run
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

TODAY = CHECKOUT / "tests" / "benchmark" / "today.yml"
GUIDE = CHECKOUT / "docs" / "docsite" / "rst" / "guide_uri.rst"
# Each test is run with the loop of the guide, and with the role.
pytestmark = pytest.mark.parametrize("loop", [True, False], ids=["loop", "role"])
Runner = Callable[..., Run]


@pytest.fixture
def go(pair: Local, tmp_path: Path, loop: bool) -> Runner:
    """Runs the loop or the role on two hosts."""
    pair.group_vars["ansible_python_interpreter"] = sys.executable

    def run(*options: str, token: str = "read_write", directory: str = ".") -> Run:
        secret = pair.service.tokens[token]
        for name, values in pair.host_vars.items():
            values["monitor_agent_config_path"] = str(tmp_path / directory / f"{name}.conf")
        if not loop:
            return pair.run(ROLLOUT, *options, MONITOR_API_TOKEN=secret)
        variables = {"base_url": pair.service.base_url, "token": secret, "dir": str(tmp_path / directory)}
        (tmp_path / "variables.json").write_text(json.dumps(variables), encoding="utf-8")
        return pair.run(str(TODAY), "-e", f"@{tmp_path / 'variables.json'}", *options)

    return run


def test_requests(pair: Local, go: Runner, loop: bool) -> None:
    shown = {block.file: block.text for block in blocks(GUIDE)}
    assert yaml.safe_load(shown["today.yml"]) == yaml.safe_load(TODAY.read_text(encoding="utf-8"))
    plan = {} if loop else {"get_plan": 1}
    assert Counter(go().calls()) == {"list_clients": 2, "create_client": 2, **plan}
    assert Counter(go().calls()) == {"list_clients": 2 if loop else 1}
    pair.service.seed(499)
    assert Counter(go().calls()) == {"list_clients": 2}


def test_a_token_that_only_reads(pair: Local, go: Runner, loop: bool) -> None:
    assert go().code == 0
    good = pair.files()
    run = go(token="read_only")
    assert set(run.failures()) == (set() if loop else set(good))
    assert (run.changed_hosts("Write both values") == set(good)) is loop
    assert all(("api_key=[REDACTED]" in str(text)) is loop for text in pair.files().values())
    assert (pair.files() == good) is not loop


def test_check_mode(pair: Local, go: Runner, loop: bool) -> None:
    run = go("--check", "--diff")
    assert set(run.failures()) == (set(pair.host_vars) if loop else set())
    assert ('"web-1": "new"' in run.output) is not loop
    assert run.writes() == [] and set(pair.files().values()) == {None}


def test_secrets_in_the_output(pair: Local, go: Runner, loop: bool) -> None:
    # ansible-core 2.22 does not show the token.
    for option, with_token in {"--diff": False, "-v": False, "-vvv": True}.items():
        output = go(option).output
        assert all((client["api_key"] in output) is loop for client in pair.service.clients()), option
        assert (pair.service.tokens["read_write"] in output) is (loop and with_token and CORE < (2, 22)), option


MEANWHILE = {"kind": "meanwhile", "done": True, "operation": "list_clients"}
CASES: dict[str, tuple[Callable[[Local], object], int]] = {
    "lost response": (lambda pair: pair.service.fault(kind="lost_response", operation="create_client"), 1),
    "other controller": (lambda pair: pair.service.fault(**MEANWHILE, changes={"create": list(pair.host_vars)}), 1),
    "gateway": (lambda pair: pair.service.fault(kind="html", operation="list_clients"), 1),
    "rate limit": (lambda pair: pair.service.configure(rate_limit=True, rate_call=1, rate_window_scale=0.1), 1),
    "second page": (
        lambda pair: pair.service.seed(labels=[*(f"old-{number}" for number in range(500)), *pair.host_vars]),
        2,
    ),
    "small pages": (lambda pair: pair.service.configure(page_size_max=100), 2),
    "label": (lambda pair: pair.service.configure(strict_labels=True), 1),
}
# Of a host that failed before it created one.
NO_CLIENT = {"gateway", "rate limit", "small pages", "label"}


@pytest.mark.parametrize("case", CASES)
def test_only_the_loop_fails(pair: Local, go: Runner, loop: bool, case: str) -> None:
    prepare, failed = CASES[case]
    prepare(pair)
    if case == "label":
        pair.add("web-1.example.com")
    run = go()
    assert len(run.failures()) == (failed if loop else 0), run.output
    keys = {client["label"]: client["api_key"] for client in pair.service.clients()}
    written = [host for host in pair.host_vars if f"api_key={keys.get(pair.label(host))}\n" in str(pair.read(host))]
    assert len(written) == len(pair.host_vars) - len(run.failures())
    assert (set(map(pair.label, pair.host_vars)) <= set(keys)) is (not loop or case not in NO_CLIENT)


def test_a_path_that_cannot_be_written(pair: Local, go: Runner, loop: bool, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert len(go(directory="file").failures()) == 2 and len(pair.service.clients()) == (2 if loop else 0)


def test_a_clone(pair: Local, go: Runner, loop: bool) -> None:
    go()
    good = pair.files()
    pair.write("web-2", good["web-1"])
    if not loop:
        assert {"foreign_key", "shared_key"} <= set(pair.run("monitor.cloud.audit").output.split())
    assert (go().code, pair.files()) == (0, good)
