# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rate limits, per token, over sliding windows."""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from collections.abc import Iterator

from .errors import ServiceError
from .settings import Settings

_TOTAL_SECONDS, _PAGED_SECONDS = 120.0, 60.0
Hits = defaultdict[tuple[str, str], deque[float]]
"""When calls were let through, in monotonic seconds, by token and bucket."""


def count_call(hits: Hits, settings: Settings, caller: str, operation: str, paged: bool) -> None:
    """Count a call, or raise 429 if it is one too many; calls that are refused do not count."""
    now = time.monotonic()
    buckets = list(_buckets(settings, operation, paged))
    wait = 0.0
    for name, limit, window in buckets:
        times = hits[caller, name]
        while times and times[0] <= now - window:
            times.popleft()
        if len(times) >= limit:
            wait = max(wait, times[len(times) - limit] + window - now if limit else window)
    if wait > 0:
        headers = {"Retry-After": str(math.ceil(wait))} if settings.retry_after == "seconds" else {}
        raise ServiceError(429, "Too many requests.", headers=headers)
    for name, _limit, _window in buckets:
        hits[caller, name].append(now)


def _buckets(settings: Settings, operation: str, paged: bool) -> Iterator[tuple[str, int, float]]:
    """Name, limit and window in seconds of each count that the call belongs to."""
    scale = settings.rate_window_scale
    yield "total", settings.rate_total, _TOTAL_SECONDS * scale
    yield operation, settings.rate_call, settings.rate_call_window * scale
    if paged:
        yield "paged", settings.rate_paged, _PAGED_SECONDS * scale
