# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Host
from ansible_collections.monitor.cloud.tests.support.audits import account, failed, inspected, report, unreachable

_MASKED = {"key_fingerprint": "!"}
_STOPPED = {"service": "agent", "service_state": "inactive"}


def _unverifiable(**facts: Any) -> Host:
    return inspected("web", "unverifiable", **facts)


@pytest.mark.parametrize(
    ("seen", "masked", "drift"),
    [
        (_unverifiable(**_MASKED), ["web"], ""),
        # The host has another state, the file cannot be read, the inspection failed, or the token can read other keys.
        (_unverifiable(**_MASKED, **_STOPPED), ["web"], "1 unverifiable"),
        (_unverifiable(), ["web"], "1 unverifiable"),
        (failed("web", "'nowhere_set' is undefined."), ["web"], "1 unverifiable"),
        (unreachable("web"), ["web"], "1 unreachable"),
        (_unverifiable(**_MASKED), [], "1 unverifiable"),
    ],
)
def test_only_keys_that_the_token_cannot_read_are_no_drift(seen: Host, masked: list[str], drift: str) -> None:
    made = report([seen], account(["web"], masked=masked))
    assert made.drift == drift
    assert [finding.name for finding in made.drifted] == ["web"] * bool(drift)


def test_the_worst_states_come_first_then_names_in_natural_order() -> None:
    seen = [inspected("b"), inspected("a10"), inspected("a9"), inspected("z", "no_file"), unreachable("y")]
    made = report(seen, account(["a9", "a10", "b", "y", "z"]))
    assert [finding.name for finding in made.hosts] == ["y", "z", "a9", "a10", "b"]
    assert list(made.counts.items()) == [("unreachable", 1), ("not_configured", 1), ("ok", 3)]


@pytest.mark.parametrize(
    ("labels", "missing"), [("old web", 0), ("web", 1), ("old new web", 0)], ids=["renamed", "new", "all exist"]
)
def test_a_renamed_host_needs_no_new_client(labels: str, missing: int) -> None:
    owner = "other" if "old" in labels else "no_file"
    seen = [inspected("new", owner, owner_label="old"), inspected("web")]
    assert report(seen, account(labels.split())).account["clients_missing"] == missing


@pytest.mark.parametrize(("renamed", "others", "differ"), [(1, 0, True), (1, 1, False), (2, 2, False), (3, 2, True)])
def test_labels_differ_if_more_than_half_of_the_hosts_have_a_client_with_another_label(
    renamed: int, others: int, differ: bool
) -> None:
    seen = [inspected(f"web-{n}", "other", owner_label=f"web-{n}-prod") for n in range(renamed)]
    seen += [inspected(f"db-{n}") for n in range(others)]
    made = report(seen, account([host.owner_label for host in seen]))
    assert made.labels_differ is differ
