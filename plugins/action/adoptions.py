# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Works out which clients hosts keep that carry a key under another label, and shows it."""

from __future__ import annotations

import typing as t

from ansible_collections.monitor.cloud.plugins.plugin_utils._adoption import (
    ADOPT,
    CONFLICT,
    NOTHING,
    Adoption,
    adoptions,
    renames,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet_action import (
    FleetAction,
    account_of,
    labels_of_inventory,
    looks,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._report_table import rows, shown


class ActionModule(FleetAction):
    OPTIONS: t.ClassVar[dict[str, t.Any]] = {
        "account": {"type": "str", "required": True},
        "config": {"type": "str", "required": True},
    }

    def act(self, options: dict[str, t.Any], variables: dict[str, t.Any]) -> dict[str, t.Any]:
        labels = labels_of_inventory(variables)
        found = adoptions(
            looks(variables, variables["ansible_play_batch"], options["config"], labels),
            account_of(variables, options["account"], None, None),
            labels,
        )
        told = [one for one in found if one.action != NOTHING]
        lines = rows(("HOST", "ACTION", "WHY"), [(one.host, one.action, one.detail) for one in told]) if told else []
        counts = (
            f"{sum(one.action == ADOPT for one in found)} of {len(found)} hosts keep a client under their own label."
        )
        self.show("\n".join([*map(shown, lines), counts]))
        return {
            "changed": False,
            "renames": renames(found),
            "conflicts": [_entry(one) for one in found if one.action == CONFLICT],
        }


def _entry(one: Adoption) -> dict[str, t.Any]:
    return {"host": one.host, "label": one.label, "owner_label": one.owner_label, "reason": one.detail}
