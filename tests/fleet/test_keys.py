# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose key a host carries, and keys that the service masks."""

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import fingerprint
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, diffs, snapshots, text_of

UNKNOWN = "AAAABBBB-1111-2222-3333444455556666"


def owners(run: Run) -> dict[str, tuple[str, str | None]]:
    """By host, from the result: whose key it carried."""
    return {host: (event.result["key_owner"], event.result["owner_label"]) for host, event in run.of(CONFIGURE).items()}


def test_cloned_hosts_are_reported_and_fixed(four: Local) -> None:
    four.service.seed(labels=["elsewhere", "web-1"])
    expected = {
        "web-1": ("own", "web-1"),
        "web-2": ("other", "web-1"),
        "db-1": ("other", "elsewhere"),
        "db-2": ("unknown", None),
    }
    for name in ("web-1", "web-2"):
        four.write(name, text_of(four, "web-1"))
    # In another form than the template's.
    four.write("db-1", f'Key: "{four.service.clients()[0]["api_key"]}"\n')
    four.write("db-2", f"install_code={UNKNOWN[::-1]}\napi_key={UNKNOWN}\n")
    steps = converge(four, changes={"web-2", "db-1", "db-2"})
    assert owners(steps.check) == owners(steps.run) == expected
    assert steps.check.of(CONFIGURE)["db-2"].result["key_fingerprint"] == fingerprint(UNKNOWN)
    assert owners(steps.again) == {name: ("own", name) for name in four.host_vars}
    assert diffs(steps.check) == {name: (label or owner, name) for name, (owner, label) in expected.items()}
    assert configured(four) == set(four.host_vars)


@pytest.fixture
def two(pair: Local) -> Local:
    """Two hosts, web-1 and web-2. The first has a client, and carries its key."""
    pair.service.seed(labels=["web-1"])
    pair.write("web-1", text_of(pair, "web-1"))
    return pair


# The others: tests/contract/client/test_secrets.py.
@pytest.mark.parametrize("mask", ["[REDACTED]", "00000000-0000-0000-0000000000000000"])
def test_masked_keys_are_never_written(two: Local, mask: str) -> None:
    two.service.seed(labels=["web-2"])
    two.write("web-2", "nothing yet\n")
    before = snapshots(two)
    two.service.configure(mask_for="all", mask_text=mask)

    check = two.run("monitor.cloud.rollout", "--check", "--diff")
    assert check.code == 0, check.output
    assert owners(check) == {"web-1": ("unverifiable", None), "web-2": ("no_key", None)}
    assert check.changed_hosts() == set()
    assert "read-write access" in check.output
    for _again in range(2):
        run = two.run()
        assert (run.code, run.writes(), set(run.failures())) == (2, [], set(two.host_vars))
        assert all("read-write access" in message for message in run.failures().values())
    assert snapshots(two) == before


def test_one_masked_client_stops_no_other(two: Local) -> None:
    before = snapshots(two)["web-1"]
    two.service.configure(mask_labels=["web-1"], mask_kind="missing")
    check = two.run("monitor.cloud.rollout", "--check")
    assert check.code == 0, check.output
    assert owners(check) == {"web-1": ("unverifiable", None), "web-2": ("no_file", None)}
    assert check.changed_hosts() == {"web-2"}
    run = two.run()
    assert (run.code, set(run.failures())) == (2, {"web-1"})
    assert "read-write access to this client" in run.failures()["web-1"]
    assert run.changed_hosts() == {"web-2"}
    assert snapshots(two)["web-1"] == before
    assert two.read("web-2") == text_of(two, "web-2")


def test_a_token_that_may_only_read(two: Local) -> None:
    before = snapshots(two)
    token = two.service.tokens["read_only"]
    check = two.run("monitor.cloud.rollout", "--check", MONITOR_API_TOKEN=token)
    assert check.code == 0, check.output
    assert owners(check)["web-1"] == ("unverifiable", None)
    assert "the service will refuse what check mode predicts" in " ".join(check.output.split())
    run = two.run(MONITOR_API_TOKEN=token)
    assert (run.code, set(run.failures())) == (2, set(two.host_vars))
    assert "read-write access" in run.failures()["web-1"]
    assert "monitor:read_write" in run.failures()["web-2"], "its client could not be created"
    assert snapshots(two) == before
