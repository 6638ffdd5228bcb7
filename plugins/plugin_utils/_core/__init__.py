# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Uses of ansible-core beyond its documented API: what, and why. All of them are tested on 2.16 to 2.22."""

from __future__ import annotations

from ansible.errors import AnsibleError
from ansible.release import __version__

# Core only warns if it is older than meta/runtime.yml requires; then a missing attribute would fail the first task.
if tuple(map(int, __version__.split(".")[:2])) < (2, 16):
    raise AnsibleError(
        f"monitor.cloud needs ansible-core 2.16 or newer, and this is {__version__}. If the distribution has no newer "
        "one, install it with pipx: pipx install ansible-core"
    )
