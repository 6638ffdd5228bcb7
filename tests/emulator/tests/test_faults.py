# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each fault of the emulator has the described effect, as often as set. Test names contain rows of the field notes."""

from __future__ import annotations

import http.client
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.calls import call, create


def _labels(emulator: Emulator) -> list[str]:
    return [client["label"] for client in emulator.clients()]


def _is_reset(emulator: Emulator) -> bool:
    try:
        create(emulator, "web")
    except ConnectionResetError:
        return True
    return False


def test_drop_does_nothing_and_resets_the_connection(emulator: Emulator) -> None:
    emulator.fault(kind="drop")
    assert _is_reset(emulator)
    assert _labels(emulator) == []
    (entry,) = emulator.requests()
    assert (entry["status"], entry["fault"], entry["label"]) == (None, "drop", "web")
    assert entry["ended"] >= entry["started"]


def test_drop_can_be_late(emulator: Emulator) -> None:
    emulator.fault(kind="drop", seconds=0.3)
    started = time.monotonic()
    assert _is_reset(emulator)
    assert time.monotonic() - started >= 0.3
    assert _labels(emulator) == []


@pytest.mark.parametrize("done", [False, True])
def test_another_controller_changes_the_account_during_a_call(emulator: Emulator, done: bool) -> None:
    emulator.seed(labels=["web1", "web2", "web3"])
    changes = {"delete": ["web1", "none"], "rename": {"web2": "www", "none": "any"}, "create": ["web1", "web3", "new"]}
    emulator.fault(kind="meanwhile", operation="list_clients", done=done, changes=changes)
    listed = call(emulator, "GET", "/monitor/clients").json
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
        assert late.result().status == 503
    assert _labels(emulator) == []


def test_lost_responses_of_a_create_that_was_done(emulator: Emulator) -> None:
    emulator.fault(kind="lost_response", operation="create_client")
    assert _is_reset(emulator)
    assert _labels(emulator) == ["web"]
    assert create(emulator, "web").status == 400


def test_truncate_announces_all_and_sends_half(emulator: Emulator) -> None:
    whole = call(emulator, "GET", "/regions").text
    emulator.fault(kind="truncate")
    with pytest.raises(http.client.IncompleteRead) as cut:
        call(emulator, "GET", "/regions")
    assert cut.value.partial.decode() == whole[: len(whole) // 2]
    assert call(emulator, "GET", "/regions").text == whole


@pytest.mark.parametrize("status", [400, 502, 503, 504])
@pytest.mark.parametrize(("kind", "media_type"), [("html", "text/html"), ("text", "text/plain")])
def test_errors_of_a_gateway(emulator: Emulator, kind: str, media_type: str, status: int) -> None:
    emulator.fault(kind=kind, status=status)
    reply = create(emulator, "web")
    assert (reply.status, reply.headers["content-type"]) == (status, media_type)
    assert ("<html>" in reply.text) == (kind == "html")
    assert _labels(emulator) == []


def test_errors_of_a_gateway_after_the_work_was_done(emulator: Emulator) -> None:
    emulator.fault(kind="html", status=504, done=True)
    assert create(emulator, "web").status == 504
    assert _labels(emulator) == ["web"]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_statuses_with_headers(emulator: Emulator, status: int) -> None:
    emulator.fault(kind="status", status=status, headers={"Retry-After": "7"})
    reply = create(emulator, "web")
    assert (reply.status, reply.headers["retry-after"]) == (status, "7")
    assert str(status) in reply.error["reason"]
    assert _labels(emulator) == []


@pytest.mark.parametrize("body", [{"errors": [{"reason": "No."}]}, [], "text", {}])
def test_statuses_with_a_body_of_choice(emulator: Emulator, body: Any) -> None:
    emulator.fault(kind="status", status=418, body=body)
    assert call(emulator, "GET", "/regions").json == body


def test_fields_of_a_response_are_removed_and_added(emulator: Emulator) -> None:
    emulator.seed(labels=["web1", "web2"])
    whole = call(emulator, "GET", "/monitor/clients").json
    remove = ["data.label", "data.apps.nginx", "pages", "none", "page.none"]
    emulator.fault(kind="edit", remove=remove, add={"data.new": [1], "more": None, "none.new": 1})
    edited = call(emulator, "GET", "/monitor/clients").json
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
    assert call(emulator, "GET", "/monitor/clients").json == whole


def test_the_work_is_done_before_a_response_is_edited(emulator: Emulator) -> None:
    emulator.fault(kind="edit", operation="create_client", remove=["id"], times=-1)
    created = create(emulator, "web1").json
    assert created["label"] == "web1" and "id" not in created
    assert _labels(emulator) == ["web1"]
    # Neither an error nor a response without a body is edited.
    assert create(emulator, "web1").error["field"] == "label"
    emulator.configure(delete_status=204)
    emulator.fault(kind="edit", add={"more": 1})
    assert call(emulator, "DELETE", "/monitor/clients/1").text == ""


@pytest.mark.parametrize("done", [False, True])
def test_slow(emulator: Emulator, done: bool) -> None:
    emulator.fault(kind="slow", seconds=0.4, done=done)
    with pytest.raises(TimeoutError):
        create(emulator, "web", timeout=0.15)
    # With `done`, the work comes before the wait.
    assert _labels(emulator) == (["web"] if done else [])
    time.sleep(0.5)
    assert _labels(emulator) == ["web"]


def test_times_and_skip(emulator: Emulator) -> None:
    emulator.fault(kind="status", status=503, skip=1, times=2)
    assert [create(emulator, f"web-{number}").status for number in range(5)] == [200, 503, 503, 200, 200]
    assert emulator.faults() == []


def test_for_ever_until_cleared(emulator: Emulator) -> None:
    emulator.fault(kind="status", status=503, times=-1)
    assert {create(emulator, f"web-{number}").status for number in range(5)} == {503}
    emulator.clear_faults()
    assert create(emulator, "web").status == 200


@pytest.mark.parametrize(
    ("condition", "hit"),
    [
        ({"operation": "create_client"}, [True, True, False]),
        ({"operation": "get_plan"}, [False, False, True]),
        ({"operation": None}, [True, True, True]),
        ({"match": {"label": "two"}}, [False, True, False]),
        ({"match": {"token": "read_only"}}, [False, False, True]),
        ({"match": {"method": "GET"}}, [False, False, True]),
    ],
    ids=str,
)
def test_only_calls_that_match_are_hit(emulator: Emulator, condition: dict[str, Any], hit: list[bool]) -> None:
    emulator.fault(kind="status", status=503, times=-1, **condition)
    replies = [
        create(emulator, "one"),
        create(emulator, "two"),
        call(emulator, "GET", "/monitor/plan", token="read_only"),
    ]
    assert [reply.status == 503 for reply in replies] == hit


def test_one_page_of_a_list_can_be_hit(emulator: Emulator) -> None:
    emulator.seed(count=250)
    emulator.fault(kind="status", status=500, match={"page": 2})
    statuses = [call(emulator, "GET", f"/monitor/clients?page={page}").status for page in (1, 2, 3, 2)]
    assert statuses == [200, 500, 200, 200]


def test_label_matches_the_client_in_the_path_too(emulator: Emulator) -> None:
    one, two = emulator.seed(labels=["one", "two"])
    emulator.fault(kind="status", status=500, operation="delete_client", match={"label": "two"})
    assert call(emulator, "DELETE", f"/monitor/clients/{one['id']}").status == 200
    assert call(emulator, "DELETE", f"/monitor/clients/{two['id']}").status == 500


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"kind": "fire"}, "not 'fire'"),
        ({"kind": "drop", "color": "red"}, "has no color"),
        ({"kind": "meanwhile", "changes": {"paint": []}}, "not paint"),
        ({"kind": "drop", "match": {"day": "Monday"}}, "not day"),
        ({"kind": "drop", "operation": "get_weather"}, "no operation 'get_weather'"),
    ],
    ids=str,
)
def test_an_invalid_fault_is_refused(emulator: Emulator, fault: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        emulator.fault(**fault)
