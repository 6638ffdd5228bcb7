# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import Host
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.findings import Report
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.remedies import steps
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.reports import as_html
from ansible_collections.monitor.cloud.tests.support.audits import TIERS, account, inspected, report, unreachable
from ansible_collections.monitor.cloud.tests.tools.picture import CHROMIUM, OPTIONS

# Words of table heads, commands and states that the page shows on several lines.
BROKEN = """() => {
    const broken = [];
    for (const element of document.querySelectorAll("thead th, pre code, td:nth-child(2)")) {
        const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            for (const word of texts.currentNode.data.matchAll(/\\S+/g)) {
                const range = document.createRange();
                range.setStart(texts.currentNode, word.index);
                range.setEnd(texts.currentNode, word.index + word[0].length);
                const lines = new Set([...range.getClientRects()].map(part => Math.round(part.top)));
                if (lines.size > 1) broken.push(word[0]);
            }
        }
    }
    return broken;
}"""
SHOWN = "rows => rows.filter(row => row.offsetParent).map(row => row.cells[0].firstChild.textContent)"
ADDRESS = "https://monitor.example.com/v4"
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
    """Return a function that opens the page of a report. Fail if the page requests a resource or logs an error."""
    troubles: list[str] = []
    contexts = []

    def opener(made: Report, width: int = 1200, **options: Any) -> Page:
        path = tmp_path / "audit.html"
        path.write_text(as_html(made, steps(made, limited=False), ADDRESS), encoding="utf-8")
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
    hosts: list[Host] = [
        unreachable("gone"),
        inspected("clone", "other", owner_label="web-1"),
        inspected("web-1"),
        inspected("web-2"),
        inspected("web-10", differs=["mode"]),
        inspected("db", "no_file"),
        inspected("edited", differs=["content"]),
        inspected("masked", "unverifiable"),
    ]
    return report(hosts, account([*(host.name for host in hosts if host.name != "db"), "retired"], plan=TIERS[0]))


def shown(page: Page) -> list[str]:
    return list(page.locator("tbody tr").evaluate_all(SHOWN))


def test_hosts_are_filtered(opened: Opener) -> None:
    page = opened(small(), timezone_id="Asia/Tokyo", locale="en-GB")
    order = ["gone", "clone", "web-1", "db", "masked", "edited", "web-10"]
    assert shown(page) == order
    assert "Made at 2026-01-02T03:04:05Z (here 02/01/2026, 12:04:05, " in page.locator("header").inner_text()
    for words, hosts in {"": order, "WEB key": ["clone", "web-1"], "nothing": []}.items():
        page.get_by_label("Filter").fill(words)
        assert shown(page) == hosts
        assert page.get_by_role("status").inner_text() == f"{len(hosts)} of 7 hosts"
    page.get_by_role("link", name="1 Unreachable unreachable").click()
    page.wait_for_url("**#filter=state%3Aunreachable")
    page.reload()
    assert shown(page) == ["gone"]


def test_without_scripts(opened: Opener) -> None:
    page = opened(small(), java_script_enabled=False)
    assert (
        "ansible-playbook monitor.cloud.rollout --limit clone,db,edited,web-10\n" in page.locator("main").inner_text()
    )
    assert page.locator("#ok + details li").all_inner_texts() == ["web-2"]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_light_and_dark_wide_and_narrow_are_accessible(opened: Opener, scheme: str, width: int) -> None:
    page = opened(small(), width, color_scheme=scheme, bypass_csp=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(json.loads(f"[{background[4:-1]}]")) > 600) is (scheme == "light")
    assert Axe().run(page).response["violations"] == []
    # Test a command of more than 2,000 characters.
    page = opened(report([unreachable("x" * 2000)], account([])), width, color_scheme=scheme, bypass_csp=True)
    assert Axe().run(page).response["violations"] == []


def test_no_head_and_no_command_breaks_inside_a_word(opened: Opener) -> None:
    hosts = [inspected(f"web-{number}.eu-central.example.com", differs=["mode"]) for number in range(4)]
    page = opened(report(hosts, account([host.name for host in hosts])), 400)
    assert page.evaluate(BROKEN) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert "web-0.eu-central.example.com," in page.locator("pre").inner_text()
