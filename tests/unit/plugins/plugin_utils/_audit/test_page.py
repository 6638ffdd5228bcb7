# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of an audit in a browser: Debian's Chromium, without a window and without a network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import Inspection, Report
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.invocation import Invocation
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.remedies import steps
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.reports import as_html
from ansible_collections.monitor.cloud.tests.support.audits import TIERS, account, inspected, report, unreachable

CHROMIUM = shutil.which("chromium")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Milliseconds until what was asked for is laid out.
TIMED = """(act) => {
  const started = performance.now();
  new Function(act)();
  document.body.getBoundingClientRect();
  return performance.now() - started;
}"""
SHOWN = "rows => rows.filter(row => row.offsetParent).map(row => row.cells[0].firstChild.textContent)"
Opener = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens the page of a report; fails if the page requests a resource or logs an error."""
    troubles: list[str] = []
    contexts = []

    def opener(made: Report, width: int = 1200, **options: Any) -> Page:
        path = tmp_path / "audit.html"
        path.write_text(as_html(made, steps(made, Invocation(["-i", "inventory"]))), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: troubles.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        return page

    yield opener
    for context in contexts:
        context.close()
    assert troubles == []


def small() -> Report:
    """A fleet that has something of everything."""
    hosts: list[Inspection] = [
        unreachable("gone"),
        inspected("clone", "other", owner_label="web-1"),
        inspected("web-1"),
        inspected("web-2"),
        inspected("web-10", differs=["mode"]),
        inspected("db", "no_file"),
        inspected("edited", differs=["content"]),
        inspected("masked", "unverifiable"),
    ]
    labels = [*(host.host for host in hosts if host.host != "db"), "retired"]
    return report(hosts, account(labels, plan=TIERS[0], tiers=TIERS))


def large() -> Report:
    """Two thousand hosts, every seventh with something."""
    hosts = [inspected(f"web-{number}", differs=["mode"] if number % 7 == 0 else []) for number in range(1995)]
    hosts += [unreachable(f"db-{number}") for number in range(5)]
    return report(hosts, account([host.host for host in hosts], plan={}, tiers=TIERS))


def shown(page: Page) -> list[str]:
    """The hosts that can be seen, from top to bottom."""
    return list(page.locator("tbody tr").evaluate_all(SHOWN))


def test_the_worst_come_first_and_each_column_sorts(opened: Opener) -> None:
    page = opened(small())
    order = ["gone", "clone", "web-1", "db", "masked", "edited", "web-10", "web-2"]
    assert shown(page) == order
    page.get_by_role("button", name="Host").click()
    by_name = ["clone", "db", "edited", "gone", "masked", "web-1", "web-2", "web-10"]
    assert shown(page) == by_name
    assert page.locator("thead th").first.get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="Host").click()
    assert shown(page) == by_name[::-1]
    assert page.locator("thead th").first.get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="State", exact=True).click()
    assert shown(page) == order


def test_the_search_text_and_states_filter(opened: Opener) -> None:
    page = opened(small())
    page.get_by_label("Filter").fill("WEB key")
    assert shown(page) == ["clone", "web-1"]
    assert page.get_by_role("status").inner_text() == "2 of 8 hosts"
    page.get_by_label("Filter").fill("")
    unreached = page.get_by_role("button", name="unreachable 1")
    unreached.click()
    page.get_by_role("button", name="outdated 1").click()
    assert shown(page) == ["gone", "edited"]
    assert unreached.get_attribute("aria-pressed") == "true"
    unreached.click()
    assert shown(page) == ["edited"]
    unreached.click()
    page.get_by_role("button", name="All states").click()
    assert len(shown(page)) == 8
    assert unreached.get_attribute("aria-pressed") == "false"
    page.get_by_label("Filter").fill("nothing has this")
    assert shown(page) == []


def test_a_command_can_be_copied(opened: Opener) -> None:
    page = opened(small(), permissions=["clipboard-read", "clipboard-write"])
    step = page.locator(".step").filter(has_text="Report as another host")
    step.get_by_role("button", name="Copy").click()
    step.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == (
        "ansible-playbook -i inventory monitor.cloud.rollout -e target=clone"
    )


def test_coverage_and_plan_are_drawn(opened: Opener) -> None:
    page = opened(small())
    coverage, plan = page.get_by_role("img").all()
    assert (coverage.get_attribute("aria-label") or "").startswith("States of 8 hosts: 1 unreachable, 1 foreign_key")
    widths = coverage.locator("rect").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    box = coverage.bounding_box()
    assert box is not None and len(widths) == 8
    assert sum(widths) == pytest.approx(box["width"], rel=0.01)
    assert plan.locator("title").all_text_contents() == [
        "used: 3",
        "used beyond what is included: 5",
        "needed by hosts that are not registered: 1",
    ]
    assert "monitor-10: 10 clients, 20 a month" in page.locator("dl").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_light_and_dark_wide_and_narrow_are_accessible(opened: Opener, scheme: str, width: int) -> None:
    page = opened(small(), width, color_scheme=scheme, bypass_csp=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(json.loads(f"[{background[4:-1]}]")) > 600) is (scheme == "light")
    violations = Axe().run(page).response["violations"]
    assert [(violation["id"], violation["impact"]) for violation in violations] == []


def test_without_scripts_the_page_is_complete(opened: Opener) -> None:
    page = opened(small(), java_script_enabled=False)
    assert page.locator("tbody tr").count() == 8
    assert not page.get_by_label("Filter").is_visible()
    assert "monitor.cloud.rollout -e target=clone" in page.locator("main").inner_text()


def test_two_thousand_hosts_stay_fluid(opened: Opener) -> None:
    page = opened(large())
    assert len(shown(page)) == 2000
    typing = (
        "const field = document.getElementById('filter'); field.value = '{}'; field.dispatchEvent(new Event('input'))"
    )
    actions = {
        "filter": typing.format("web-19"),
        "clear": typing.format(""),
        "sort": "document.querySelector('thead button').click()",
        "state": "document.querySelector('.legend button').click()",
    }
    # A tenth of this on an idle machine.
    taken = {name: page.evaluate(TIMED, act) for name, act in actions.items()}
    assert max(taken.values()) < 2000, taken
    assert shown(page) == [f"db-{number}" for number in range(5)]
