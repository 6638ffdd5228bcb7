# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which strategies of a play the role can work with. Pure."""

from __future__ import annotations

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError

_LINEAR = frozenset({"linear", "debug"})


def check_linear(strategy: str) -> None:
    """InputError for a strategy with which the hosts of a play don't go together from task to task."""
    if strategy.rpartition(".")[2] not in _LINEAR:
        raise InputError(
            f"This needs all hosts at the same task, which the strategy {strategy!r} does not do. Take the strategy "
            "'linear', Ansible's default, for this play."
        )
