# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What registering labels costs at least: the same calls by the same number of workers, and nothing around them."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests
from requests.adapters import HTTPAdapter

WORKERS = 8


def main() -> int:
    """Read the account; view the plan and create what is missing, if anything is."""
    labels: list[str] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["labels"]
    base_url = os.environ["MONITOR_BASE_URL"] + "/monitor"
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {os.environ['MONITOR_API_TOKEN']}"
    session.mount("http://", HTTPAdapter(pool_maxsize=WORKERS))

    def page(number: int) -> dict[str, object]:
        response = session.get(f"{base_url}/clients", params={"page_size": 500, "page": number}, timeout=30)
        response.raise_for_status()
        return dict(response.json())

    def create(label: str) -> None:
        session.post(f"{base_url}/clients", json={"label": label}, timeout=30).raise_for_status()

    with ThreadPoolExecutor(WORKERS) as pool:
        first = page(1)
        pages = [first, *pool.map(page, range(2, int(str(first["pages"])) + 1))]
        there = {client["label"] for each in pages for client in each["data"]}  # type: ignore[attr-defined]
        missing = [label for label in labels if label not in there]
        if missing:
            session.get(f"{base_url}/plan", timeout=30).raise_for_status()
        list(pool.map(create, missing))
    return 0


if __name__ == "__main__":
    sys.exit(main())
