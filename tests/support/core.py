# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ansible-core that the tests run with."""

from __future__ import annotations

from ansible.release import __version__

# Its series, such as (2, 21).
CORE = tuple(int(number) for number in __version__.split(".")[:2])
