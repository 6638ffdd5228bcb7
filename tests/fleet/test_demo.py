# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo."""

from ansible_collections.monitor.cloud.tests.tools import demo


def test_the_demo_succeeds() -> None:
    assert demo.main() == 0
