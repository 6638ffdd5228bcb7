# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes docs/audit.png from the page of the demo. The picture contains the digest of the page."""

import hashlib
import re
import shutil
import struct
import sys
import zlib

from playwright.sync_api import sync_playwright

from ansible_collections.monitor.cloud.tests.tools import demo

CHROMIUM = shutil.which("chromium")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
TIME = "2026-01-02T03:04:05Z"


def page() -> str:
    """Return the page of the last demo with a fixed time, address and path of the inventory."""
    text = re.sub(r"\S*/inventory\.yml", "inventory", demo.PAGE.read_text(encoding="utf-8"))
    return re.sub(r"http://127\.0\.0\.1:\d+", "https://api.example.com", re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", TIME, text))


def digest() -> bytes:
    return hashlib.sha256(page().encode()).hexdigest().encode()


def main() -> int:
    if code := demo.main(wait=lambda: None):
        return code
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS) as browser:
        shown = browser.new_page(viewport={"width": 1000, "height": 600}, timezone_id="UTC", locale="en-GB")
        shown.clock.set_fixed_time(TIME)
        shown.set_content(page())
        content = shown.screenshot(full_page=True)
    # Insert a chunk of text before the last chunk. The last chunk of a PNG has 12 bytes.
    text = b"tEXtSource\0" + digest()
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    demo.PICTURE.write_bytes(content[:-12] + chunk + content[-12:])
    print(f"Look at {demo.PICTURE}, and change the text beside it in README if it differs.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
