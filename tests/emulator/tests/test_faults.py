# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each fault of the emulator has the described effect, as often as set. Test names contain rows of the field notes."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator


def create(emulator: Emulator, label: str, **options: Any) -> requests.Response:
    return emulator.call("POST", "/monitor/clients", {"label": label}, **options)


def _labels(emulator: Emulator) -> list[str]:
    return [client["label"] for client in emulator.clients()]


@pytest.mark.parametrize(
    ("fault", "status", "media_type", "body", "labels"),
    [
        ({"kind": "drop"}, None, "", "", []),
        ({"kind": "lost_response"}, None, "", "", ["web"]),
        ({"kind": "html"}, 502, "text/html", "<html>", []),
        ({"kind": "html", "status": 504, "done": True}, 504, "text/html", "<html>", ["web"]),
        ({"kind": "text", "status": 400}, 400, "text/plain", "400 Gateway Trouble", []),
        ({"kind": "status", "status": 429}, 429, "application/json", '"reason": "429 Gateway Trouble"', []),
        ({"kind": "status", "status": 503, "body": {}, "done": True}, 503, "application/json", "{}", ["web"]),
        ({"kind": "status", "status": 418, "body": "text"}, 418, "application/json", '"text"', []),
    ],
    ids=str,
)
def test_errors_and_lost_responses_of_a_create(
    emulator: Emulator, fault: dict[str, Any], status: int | None, media_type: str, body: str, labels: list[str]
) -> None:
    emulator.fault(**fault, headers={"Retry-After": "7"})
    if status is None:
        with pytest.raises(requests.ConnectionError, match="reset by peer"):
            create(emulator, "web")
    else:
        reply = create(emulator, "web")
        assert (reply.status_code, reply.headers["content-type"]) == (status, media_type)
        assert reply.headers["retry-after"] == "7"
        assert body in reply.text
    assert _labels(emulator) == labels
    (entry,) = emulator.requests()
    assert (entry["status"], entry["fault"], entry["label"]) == (status, fault["kind"], "web")
    assert create(emulator, "web").status_code == (400 if labels else 200)


@pytest.mark.parametrize("done", [False, True])
def test_another_controller_changes_the_account_during_a_call(emulator: Emulator, done: bool) -> None:
    emulator.seed(labels=["web1", "web2", "web3"])
    changes = {"delete": ["web1", "none"], "rename": {"web2": "www", "none": "any"}, "create": ["web1", "web3", "new"]}
    emulator.fault(kind="meanwhile", operation="list_clients", done=done, changes=changes)
    listed = emulator.call("GET", "/monitor/clients").json()
    before, after = ["web1", "web2", "web3"], ["www", "web3", "web1", "new"]
    assert [client["label"] for client in listed["data"]] == (before if done else after)
    assert _labels(emulator) == after


def test_a_late_call_does_nothing_after_a_reset(emulator: Emulator) -> None:
    emulator.fault(kind="slow", seconds=0.5)
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(create, emulator, "web")
        while not emulator.requests("create_client"):
            time.sleep(0.01)
        emulator.reset()
        assert late.result().status_code == 503
    assert _labels(emulator) == []


def test_truncate_announces_all_and_sends_half(emulator: Emulator) -> None:
    whole = emulator.call("GET", "/regions").text
    emulator.fault(kind="truncate")
    half = len(whole) // 2
    cut = rf"IncompleteRead\({half} bytes read, {len(whole) - half} more expected\)"
    with pytest.raises(requests.RequestException, match=cut):
        emulator.call("GET", "/regions")
    assert emulator.call("GET", "/regions").text == whole


def test_fields_of_a_response_are_removed_and_added(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web2"])
    whole = emulator.call("GET", "/monitor/clients").json()
    remove = ["data.label", "data.apps.nginx", "pages", "none", "page.none"]
    emulator.fault(kind="edit", remove=remove, add={"data.new": [1], "more": None, "none.new": 1})
    edited = emulator.call("GET", "/monitor/clients").json()
    assert edited.pop("more", "not there") is None
    assert edited == {
        "data": [
            {**{name: value for name, value in client.items() if name != "label"}, "apps": apps, "new": [1]}
            for client in whole["data"]
            for apps in [{"apache": False, "mysql": False}]
        ],
        "page": 1,
        "results": 2,
    }
    assert emulator.call("GET", "/monitor/clients").json() == whole


def test_the_work_is_done_before_a_response_is_edited(emulator: Emulator) -> None:
    emulator.fault(kind="edit", operation="create_client", remove=["id"], times=-1)
    created = create(emulator, "web1").json()
    assert created["label"] == "web1" and "id" not in created
    assert _labels(emulator) == ["web1"]
    # Neither an error nor a response without a body is edited.
    assert create(emulator, "web1").json()["errors"][0]["field"] == "label"
    emulator.configure(delete_status=204)
    emulator.fault(kind="edit", add={"more": 1})
    assert emulator.call("DELETE", "/monitor/clients/1").text == ""


@pytest.mark.parametrize("done", [False, True])
def test_slow(emulator: Emulator, done: bool) -> None:
    emulator.fault(kind="slow", seconds=0.4, done=done)
    with pytest.raises(requests.Timeout):
        create(emulator, "web", timeout=0.15)
    # With `done`, the work comes before the wait.
    assert _labels(emulator) == (["web"] if done else [])
    time.sleep(0.5)
    assert _labels(emulator) == ["web"]


def test_times_and_skip(emulator: Emulator) -> None:
    """What a fault matches, contract tests depend on."""
    emulator.fault(kind="status", status=503, skip=1, times=2)
    assert [create(emulator, f"web-{number}").status_code for number in range(5)] == [200, 503, 503, 200, 200]
    assert emulator.faults() == []
    emulator.fault(kind="status", status=503, times=-1)
    assert {emulator.call("GET", "/regions").status_code for _number in range(3)} == {503}
    emulator.clear_faults()
    assert emulator.call("GET", "/regions").status_code == 200


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"kind": "fire"}, "not fire"),
        ({"kind": "drop", "color": "red"}, "argument 'color'"),
        ({"kind": "meanwhile", "changes": {"paint": []}}, "not paint"),
        ({"kind": "drop", "match": {"day": "Monday"}}, "not day"),
        ({"kind": "drop", "operation": "get_weather"}, "not get_weather"),
    ],
    ids=str,
)
def test_an_invalid_fault_is_refused(emulator: Emulator, fault: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        emulator.fault(**fault)
