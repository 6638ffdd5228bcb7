# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit page in Chromium: how long a reader waits for it."""

from __future__ import annotations

import importlib.util
import shutil
import typing as t
from pathlib import Path

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import Host
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.remedies import steps
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.reports import as_html
from ansible_collections.monitor.cloud.tests.support.audits import account, inspected, report, unreachable

if t.TYPE_CHECKING:
    from playwright.sync_api import CDPSession

CHROMIUM = shutil.which("chromium")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
_PAINTED = """() => new Promise((done) => new PerformanceObserver((list) => {
  list.getEntriesByName("first-contentful-paint").forEach((entry) => done(entry.startTime));
}).observe({ type: "paint", buffered: true }))"""
# Milliseconds from an event to the end of the frame that shows its result.
_TIMED = """async () => {
  const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  await frame();
  const started = performance.now();
  ACT
  await frame();
  return performance.now() - started;
}"""
_FILTER = """const field = document.getElementById('filter');
  field.value = 'TEXT';
  field.dispatchEvent(new Event('input'));"""
# In this order: the first filter reads the rows, unless the browser was idle before.
ACTIONS = {
    "filter": _FILTER.replace("TEXT", "web-19"),
    "clear": _FILTER.replace("TEXT", ""),
    "sort": "document.querySelector('thead button').click();",
    "unfold": "document.querySelector('#ok + details, #hosts').open = true;",
}


def missing() -> str | None:
    if CHROMIUM is None:
        return "chromium is not installed"
    return None if importlib.util.find_spec("playwright") else "playwright is not installed: make test installs it"


def write(path: Path, size: int, drift: int) -> None:
    """The page of a fleet in which each host whose number is a multiple of ``drift`` has a finding."""
    hosts = [_host(number, number % drift == 0) for number in range(size)]
    made = report(hosts, account(one.host for one in hosts))
    path.write_text(as_html(made, steps(made, limited=False)), encoding="utf-8")


def _host(number: int, finding: bool) -> Host:
    host = f"web-{number:05}"
    if not finding:
        return inspected(host)
    # 7 and 11 have no common factor: in each fleet there is something of everything.
    return (
        unreachable(host),
        inspected(host, "other", owner_label=f"web-{number + 1:05}"),
        inspected(host, "no_file"),
        inspected(host, differs=["content", "mode"]),
        inspected(host, differs=["mode"]),
    )[number % 11 % 5]


def measure(path: Path, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds of the clock and of the page's main thread, for the first paint and for each action.

    The thread's time for the first paint is that until the whole page is read, which is later. Each round opens a page.
    """
    from playwright.sync_api import sync_playwright

    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ("first paint", *ACTIONS)}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        # The first page of a browser also starts its processes.
        for attempt in range(rounds + 1):
            page = browser.new_page()
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            before = _thread_time(session)
            page.goto(path.as_uri())
            for name in times:
                clock = float(page.evaluate(_TIMED.replace("ACT", ACTIONS[name]) if name in ACTIONS else _PAINTED))
                thread = _thread_time(session)
                if attempt:
                    times[name].append((clock, thread - before))
                before = thread
            page.close()
        browser.close()
    return times


def _thread_time(session: CDPSession) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1000 * float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))
