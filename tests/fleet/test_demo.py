# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo, and the picture of its page in README."""

from ansible_collections.monitor.cloud.tests.tools import demo, picture


def test_the_picture_in_readme_shows_the_page_of_the_demo() -> None:
    assert demo.main() == 0
    content = demo.PICTURE.read_bytes()
    assert picture.digest() in content, "The page differs from its picture: run make picture, and look at it"
    # It is in the archive, which each user downloads.
    assert len(content) <= 160 * 1024
