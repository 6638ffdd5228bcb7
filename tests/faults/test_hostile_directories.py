# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An unprivileged user who owns the directory of the file, or the one above it, gains nothing while root writes.

The attacker swaps names at each step of each way of writing. That a writer which trusts names loses to it is tested
too: without that, no success would mean nothing.
"""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.tests.faults import attacker, trials
from ansible_collections.monitor.cloud.tests.support import hosts as fleet
from ansible_collections.monitor.cloud.tests.support.checks import short_or_long, tally
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Controller


@pytest.fixture(autouse=True)
def as_root() -> None:
    """Namespaces and other users' files need root."""
    if reason := fleet.missing():
        pytest.skip(reason)


@pytest.mark.parametrize("step", trials.STEPS)
def test_a_naive_writer_is_not_safe_in_hostile_directories(step: str) -> None:
    result = trials.in_namespaces("input", "naive", step, count=400, enough=2)
    assert result.successes == 2, result


@pytest.mark.parametrize(("way", "step"), trials.CASES)
def test_the_writer_is_safe_in_hostile_directories(way: str, step: str) -> None:
    # A writer without one of its checks lost 2 of 100 trials of a creation or a removal, or 7 of 100 of other steps.
    count = 200 if step in ("creation", "removal") else 100
    # The other ways differ from standard input in how the content gets to its path.
    count = short_or_long(count if way == "input" or step == "content" else 60, 2000)
    result = trials.in_namespaces(way, "collection", step, count=count, enough=count)
    tally(faults=result.trials, runs=result.trials)
    assert result.lost == {}
    assert result.trials >= count
    assert result.begun > count // 10, "attacks that come too late prove nothing"
    # In a directory of others, a mounted file is never written; nothing is when the content does not arrive.
    assert result.written > 0 or step == "clean-up" or way == "mounted", "a writer that always refuses proves nothing"


PLAY = f"""
- hosts: all
  gather_facts: false
  tasks:
    - name: {CONFIGURE}
      monitor.cloud.agent_config:
        path: "{{{{ item }}}}"
        content: "api_key={{{{ client.api_key }}}}\\n"
        client: {{id: 1, label: web-1, install_code: {"C" * 36}, api_key: {trials.KEY.strip().partition("=")[2]}}}
        owner: root
        group: daemon
        mode: "0640"
        backup: "{{{{ kept }}}}"
      loop: "{{{{ attacked }}}}"
      ignore_errors: true
"""


@contextlib.contextmanager
def attacked(host: fleet.Host, plans: list[attacker.Plan], roots: list[Path]) -> Iterator[list[str]]:
    """Attackers at work on the host, one for each plan; what they could read, in the end."""
    opponents = [trials.Opponent(*host.enter) for _plan in plans]
    loot: list[str] = []
    try:
        for opponent, plan, root in zip(opponents, plans, roots, strict=True):
            opponent.begin(plan, root)
        yield loot
        loot += [opponent.end()[1] for opponent in opponents]
    finally:
        for opponent in opponents:
            opponent.process.kill()
            opponent.process.wait()


@pytest.mark.parametrize("way", trials.WAYS)
def test_plays_are_safe_in_hostile_directories(
    machines: Callable[..., list[fleet.Host]], controllers: Callable[..., Controller], way: str
) -> None:
    # A host of its own: mounts stay on it.
    (host,) = machines("attacked")
    controller = controllers(host)
    # The command that becomes another user there takes no input.
    controller.group_vars.update({"ansible_become": True, "ansible_become_method": "su"} if way == "file" else {})
    cases = [(step, *trials.STEPS[step][number % len(trials.STEPS[step])]) for number, step in enumerate(_steps(way))]
    roots = [Path(f"/tmp/trial-{way}-{number}") for number in range(len(cases))]
    above = f"/proc/{host.first_process}/root"
    grounds = [trials.Ground(root, *case[:2], above) for root, case in zip(roots, cases, strict=True)]
    plans = [ground.plan(*case, turns=True) for ground, case in zip(grounds, cases, strict=True)]
    paths = [ground.inside(ground.path) for ground in grounds]
    if way == "mounted":
        host.run("\n".join(f"mount --bind {root}/mounted {path}" for root, path in zip(roots, paths, strict=True)))
    with attacked(host, plans, roots) as loot:
        run = controller.run(controller.play(PLAY), "-e", json.dumps({"attacked": paths, "kept": way != "mounted"}))
    results = run.events[-1].result["results"]
    assert len(results) == len(paths), run.output
    assert trials.KEY.strip() not in run.output
    written = [not result.get("failed") for result in results]
    lost = [ground.losses(got, written=done) for ground, got, done in zip(grounds, loot, written, strict=True)]
    assert dict(zip(cases, lost, strict=True)) == {case: set() for case in cases}
    assert any(written), run.output
    tally(faults=len(lost), runs=len(lost))


def _steps(way: str) -> list[str]:
    """Each step, twice: with different names and decoys."""
    return [step for case, step in trials.CASES if case == way and step != "removal"] * 2
