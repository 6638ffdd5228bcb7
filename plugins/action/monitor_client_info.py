# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A file of its own, because core loads it before it starts the workers, and its results can have sealed keys."""

from __future__ import annotations

from ansible_collections.monitor.cloud.plugins.action import monitor_clients


class ActionModule(monitor_clients.ActionModule):
    """The action of all modules that call the service."""
