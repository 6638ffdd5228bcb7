# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later


import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fingerprints import fingerprint
from ansible_collections.monitor.cloud.tests.support.runs import CONFIGURE, INSPECT, Local, Run
from ansible_collections.monitor.cloud.tests.support.steps import configured, converge, snapshots, text_of

UNKNOWN = "AAAABBBB-1111-2222-3333444455556666"


def owners(run: Run) -> dict[str, tuple[str, str | None]]:
    """Return, for each host, the owner of the key in its file (own, other, unknown) and the label of the owner."""
    return {host: (event.result["key_owner"], event.result["owner_label"]) for host, event in run.of(INSPECT).items()}


def test_cloned_hosts_are_reported_and_fixed(four: Local) -> None:
    four.group_vars["monitor_agent_replace_key"] = True
    four.service.seed(labels=["elsewhere", "web-1"])
    expected = {
        "web-1": ("own", "web-1"),
        "web-2": ("other", "web-1"),
        "db-1": ("other", "elsewhere"),
        "db-2": ("unknown", None),
    }
    for name in ("web-1", "web-2"):
        four.write(name, text_of(four, "web-1"))
    four.write("db-1", f'Key: "{four.service.clients()[0]["api_key"]}"\n')
    four.write("db-2", f"install_code={UNKNOWN[::-1]}\napi_key={UNKNOWN}\n")
    steps = converge(four, changes={"web-2", "db-1", "db-2"})
    assert owners(steps.check) == owners(steps.run) == expected
    assert steps.check.of(CONFIGURE)["db-2"].result["key_fingerprint"] == fingerprint(UNKNOWN)
    assert owners(steps.again) == {name: ("own", name) for name in four.host_vars}
    del expected["web-1"]
    shown = {host: event.result["diff"] for host, event in steps.check.of(CONFIGURE).items() if "diff" in event.result}
    keys = {host: (diff["before"]["key_of"], diff["after"]["key_of"]) for host, diff in shown.items()}
    assert keys == {host: (label or owner, host) for host, (owner, label) in expected.items()}
    assert configured(four) == set(four.host_vars)
    check, run, again = (" ".join(each.output.split()) for each in (steps.check, steps.run, steps.again))
    for warning in (
        "Each host gets its own key: web-2 (client 'web-1'), db-1 (client 'elsewhere').",
        "These hosts carry a key of no client of this account, possibly of another account. Each host gets its own "
        "key: db-2.",
    ):
        assert warning in check and warning in run and warning not in again


_ACCESS = "read-write access"
# Columns: settings of the service, the token, a text in the output of check mode, a text in the error of each host.
MASKED: list[tuple[dict[str, object], str, str, dict[str, str]]] = [
    ({"mask_labels": ["web-1", "web-2"], "mask_text": "[REDACTED]"}, "read_write", _ACCESS, {"web-2": _ACCESS}),
    # A token with read-only access cannot create the client of web-3.
    ({}, "read_only", "the service will refuse the changes", {"web-2": _ACCESS, "web-3": "monitor:read_write"}),
]


@pytest.mark.parametrize(("settings", "token", "shown", "failures"), MASKED)
def test_masked_keys_are_never_written(
    three: Local, settings: dict[str, object], token: str, shown: str, failures: dict[str, str]
) -> None:
    """The file of web-1 has a key, so the run keeps the file. The client of web-3 is new, so its key is not masked."""
    three.service.seed(labels=["web-1", "web-2"])
    three.write("web-1", text_of(three, "web-1"))
    three.write("web-2", "nothing yet\n")
    before = snapshots(three)
    written = {"web-3"} - set(failures)
    three.service.configure(**settings)
    given = {"MONITOR_API_TOKEN": three.service.tokens[token]}
    check = three.run("monitor.cloud.rollout", "--check", "--diff", **given)
    # Check mode knows the masked keys, but does not know whether the service refuses a create.
    assert check.failures().keys() == {"web-2"} and _ACCESS in check.failures()["web-2"], check.output
    assert owners(check) == {"web-1": ("unverifiable", None), "web-2": ("no_key", None), "web-3": ("no_file", None)}
    # Before ansible-core 2.19, the output also has line breaks at hyphens.
    assert check.changed_hosts() == {"web-3"} and "".join(shown.split()) in "".join(check.output.split())
    run = three.run(**given)
    assert (run.code, run.changed_hosts(), set(run.failures())) == (2, written, set(failures))
    assert all(failures[host] in message for host, message in run.failures().items())
    assert {host for host, files in snapshots(three).items() if files != before.get(host)} == written
    assert all(three.read(host) == text_of(three, host) for host in written)
