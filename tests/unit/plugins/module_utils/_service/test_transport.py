# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import time

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import ApiError
from ansible_collections.monitor.cloud.plugins.module_utils._service.transport import Http, Settings


def test_pauses_grow_up_to_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    http = Http(Settings("https://a"))
    pauses = list[float]()
    monkeypatch.setattr(http._stopped, "wait", pauses.append)
    for attempt in range(9):
        http.pause(ApiError("no"), attempt, time.monotonic(), 60)
    for pause, longest in zip(pauses, (0.5, 1, 2, 4, 8, 16, 30, 30, 30), strict=True):
        assert 0 <= pause <= longest


def test_all_workers_wait_as_the_service_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    http = Http(Settings("https://a"))
    monkeypatch.setattr(http._stopped, "wait", lambda _seconds: False)
    http.pause(ApiError("no", wait=5), 0, time.monotonic(), 60)
    assert http.usage["retries"] == 1 and 4 < http.paused_until - time.monotonic() <= 5
    with pytest.raises(ApiError) as failed:
        http.pause(ApiError("no", wait=90), 0, time.monotonic(), 60)
    assert failed.value.hint == "The service asks to wait 90 s. Gave up after 60 s (retry_timeout): try again later."


@pytest.mark.parametrize(("error", "stopped"), [(ApiError("no"), False), (KeyboardInterrupt(), True)])
def test_the_first_error_or_an_interruption_ends_all_workers(error: BaseException, stopped: bool) -> None:
    http = Http(Settings("https://a", concurrency=2))
    called = list[int]()

    def fail() -> None:
        raise error

    def work(number: int) -> None:
        called.append(number)
        if number == 3 and not stopped:
            raise error
        http._stopped.wait(0.2)

    http.on_wait = fail if stopped else lambda: None
    with pytest.raises(type(error)):
        http.each(work, range(100))
    assert len(called) < 20
    assert http._stopped.is_set() is stopped
