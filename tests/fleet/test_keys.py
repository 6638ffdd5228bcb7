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


_ACCESS = "read-write access"
_BOTH = {"web-1": _ACCESS, "web-2": _ACCESS}
# Settings of the service, a token, whose key web-2 has, a part of check mode's output, and of the failures.
# Other masks: tests/contract/client/test_secrets.py.
MASKED: list[tuple[dict[str, object], str, str, str, dict[str, str]]] = [
    ({"mask_for": "all", "mask_text": "[REDACTED]"}, "read_write", "no_key", _ACCESS, _BOTH),
    ({"mask_for": "all", "mask_text": f"{'0' * 8}-0000-0000-{'0' * 16}"}, "read_write", "no_key", _ACCESS, _BOTH),
    ({"mask_labels": ["web-1"], "mask_kind": "missing"}, "read_write", "no_file", "", {"web-1": f"{_ACCESS} to this"}),
    # The client of web-2 could not be created.
    ({}, "read_only", "no_file", "the service will refuse what", {"web-1": _ACCESS, "web-2": "monitor:read_write"}),
]


@pytest.mark.parametrize(("settings", "token", "owner", "shown", "failures"), MASKED)
def test_masked_keys_are_never_written(
    two: Local, settings: dict[str, object], token: str, owner: str, shown: str, failures: dict[str, str]
) -> None:
    """One masked client stops no other."""
    if owner == "no_key":
        two.service.seed(labels=["web-2"])
        two.write("web-2", "nothing yet\n")
    before, written = snapshots(two), {"web-2"} - set(failures)
    two.service.configure(**settings)
    given = {"MONITOR_API_TOKEN": two.service.tokens[token]}
    check = two.run("monitor.cloud.rollout", "--check", "--diff", **given)
    assert check.code == 0, check.output
    assert owners(check) == {"web-1": ("unverifiable", None), "web-2": (owner, None)}
    assert check.changed_hosts() == ({"web-2"} if owner == "no_file" else set())
    assert shown in " ".join(check.output.split())
    for changed in (written, set[str]()):
        run = two.run(**given)
        assert (run.code, run.changed_hosts(), set(run.failures())) == (2, changed, set(failures))
        assert all(failures[host] in message for host, message in run.failures().items())
        assert owner == "no_file" or run.writes() == []
    assert {host for host, files in snapshots(two).items() if files != before[host]} == written
    assert all(two.read(host) == text_of(two, host) for host in written)
