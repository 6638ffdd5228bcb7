# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose key a host carries, and keys that the service masks."""

from __future__ import annotations

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._keys import fingerprint
from ansible_collections.monitor.cloud.tests.fleet.runs import CONFIGURE, Controller

UNKNOWN = "AAAABBBB-1111-2222-3333444455556666"


def owners(controller: Controller, *options: str) -> dict[str, tuple[str, str | None]]:
    run = controller.run("monitor.cloud.rollout", "--diff", *options)
    assert run.code == 0, run.output
    return {host: (event.result["key_owner"], event.result["owner_label"]) for host, event in run.of(CONFIGURE).items()}


@pytest.mark.parametrize("form", ["as it was", "other format", "known key alone"])
def test_cloned_hosts_are_told_and_mended(controller: Controller, form: str) -> None:
    controller.service.seed(labels=["elsewhere"])
    controller.run()
    text = controller.hosts["web-1"].read() or ""
    key = text.split("api_key=")[1].strip()
    copies = {"as it was": text, "other format": f'Key: "{key}"\n', "known key alone": f"{key}\n"}
    controller.hosts["web-2"].write(copies[form])
    elsewhere = next(client for client in controller.service.clients() if client["label"] == "elsewhere")
    controller.hosts["db-1"].write(text.replace(key, elsewhere["api_key"]))
    controller.hosts["db-2"].write(text.replace(key, UNKNOWN))

    expected = {
        "web-1": ("own", "web-1"),
        "web-2": ("other", "web-1"),
        "db-1": ("other", "elsewhere"),
        "db-2": ("unknown", None),
    }
    assert owners(controller, "--check") == expected
    assert owners(controller) == expected
    assert {owner for owner, dummy in owners(controller).values()} == {"own"}
    keys = [host.read() for host in controller.hosts.values()]
    assert len(set(keys)) == len(keys)


def test_an_unknown_key_has_a_fingerprint(controller: Controller) -> None:
    for name in ("web-1", "web-2"):
        controller.hosts[name].write(f"install_code=x\napi_key={UNKNOWN}\n")
    run = controller.run("monitor.cloud.rollout", "--check")
    marks = {name: run.of(CONFIGURE)[name].result["key_fingerprint"] for name in controller.hosts}
    assert marks == {"web-1": fingerprint(UNKNOWN), "web-2": fingerprint(UNKNOWN), "db-1": None, "db-2": None}


MASKS = {
    "redacted": {"mask_text": "[REDACTED]"},
    "stars": {"mask_text": "***"},
    "empty": {"mask_text": ""},
    "missing": {"mask_kind": "missing"},
    "cut short": {"mask_kind": "cut_short"},
    "a constant that looks like a key": {"mask_text": "00000000-0000-0000-0000000000000000"},
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_masked_keys_are_never_written(controller: Controller, mask: dict[str, str]) -> None:
    controller.run()
    good = {name: host.read() for name, host in controller.hosts.items()}
    controller.hosts["web-2"].write("nothing yet\n")
    good["web-2"] = "nothing yet\n"
    controller.service.configure(mask_for="all", **mask)

    check = controller.run("monitor.cloud.rollout", "--check", "--diff")
    assert check.code == 0, check.output
    states = {host: event.result["key_owner"] for host, event in check.of(CONFIGURE).items()}
    assert states == {"web-1": "unverifiable", "web-2": "no_key", "db-1": "unverifiable", "db-2": "unverifiable"}
    assert check.changed_hosts() == set()
    run = controller.run()
    assert run.code == 2
    assert set(run.failures()) == set(controller.hosts)
    assert all("read-write access" in message for message in run.failures().values())
    assert {name: host.read() for name, host in controller.hosts.items()} == good


def test_one_masked_client_stops_no_other(controller: Controller) -> None:
    controller.service.seed(labels=["web-1"])
    controller.service.configure(mask_labels=["web-1"])
    run = controller.run()
    assert run.code == 2
    assert set(run.failures()) == {"web-1"}
    assert run.changed_hosts() == {"web-2", "db-1", "db-2"}
    assert controller.hosts["web-1"].read() is None
    check = controller.run("monitor.cloud.rollout", "--check")
    assert check.code == 0
    assert check.changed_hosts() == set()


def test_read_only_token(controller: Controller) -> None:
    controller.run()
    token = controller.service.tokens["read_only"]
    run = controller.run(MONITOR_API_TOKEN=token)
    assert run.code == 2
    assert set(run.failures()) == set(controller.hosts)
    assert run.writes() == []
