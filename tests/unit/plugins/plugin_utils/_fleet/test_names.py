# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.names import (
    Others,
    named,
    natural_sort_key,
    others_in,
    quoted,
)

SEVEN = [f"web-{number}" for number in range(1, 8)]


@pytest.mark.parametrize(
    ("group", "name", "text"),
    [
        (["web-1"], "web-1", ""),
        (SEVEN[:2], "web-1", "web-2"),
        (SEVEN[:6], "web-6", "web-1, web-2, web-3, web-4, web-5"),
        (SEVEN, "web-2", "web-1, web-3, web-4, web-5, web-6 and 1 more"),
        (SEVEN, "web-7", "web-1, web-2, web-3, web-4, web-5 and 1 more"),
    ],
)
def test_the_other_names_of_a_group(group: list[str], name: str, text: str) -> None:
    others = others_in(group, name)
    assert (str(others), others.count, bool(others)) == (text, len(group) - 1, len(group) > 1)
    assert len(others.names) <= 5


def test_no_others() -> None:
    assert (str(Others()), bool(Others())) == ("", False)


def test_names_of_hosts_and_labels_in_a_sentence() -> None:
    assert named(SEVEN) == "web-1, web-2, web-3, web-4, web-5 and 2 more"
    # Another user of the account can choose a label that would control the terminal.
    assert quoted(["a\x1b[2J", "db"]) == r"'a\x1b[2J', 'db'"


def test_numbers_in_names_are_in_order() -> None:
    assert sorted(["web-10", "web-9", "db", "web-9-b"], key=natural_sort_key) == ["db", "web-9", "web-9-b", "web-10"]
