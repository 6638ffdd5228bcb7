# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes docs/audit.png, the picture in README, from the page of the demo."""

import re
import shutil
import sys

from playwright.sync_api import sync_playwright

from ansible_collections.monitor.cloud.tests.tools import demo

CHROMIUM = shutil.which("chromium")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
TIME = "2026-01-02T03:04:05Z"


def main() -> int:
    if code := demo.main():
        return code
    # Without what differs from run to run: time, address, and path of the inventory.
    text = re.sub(r"\S*/inventory\.yml", "inventory", demo.PAGE.read_text(encoding="utf-8"))
    text = re.sub(r"http://127\.0\.0\.1:\d+", "https://api.example.com", re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", TIME, text))
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS) as browser:
        shown = browser.new_page(viewport={"width": 1000, "height": 600}, timezone_id="UTC", locale="en-GB")
        shown.clock.set_fixed_time(TIME)
        shown.set_content(text)
        shown.screenshot(full_page=True, path=demo.PICTURE)
    print(f"Look at {demo.PICTURE}, and change the text beside it in README if it differs.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
