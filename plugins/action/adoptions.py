# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the renamed hosts that can keep their client, and show them."""

from __future__ import annotations

import typing as t

from ansible_collections.monitor.cloud.plugins.doc_fragments._shared import ModuleDocFragment
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.modules import adoptions
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.base import documented
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.base import FleetAction
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.findings import audit, natural, unknown_labels
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.table import rows


class ActionModule(FleetAction):
    VALIDATOR = documented(adoptions.DOCUMENTATION, ModuleDocFragment.ACCOUNT)

    def act(self) -> dict[str, t.Any]:
        inventory, pattern = self.inventory, self.options["orphan_pattern"]
        if inventory.unreadable:
            raise InputError(
                f"{unknown_labels(inventory.unreadable)} Its client would count as one without a host, so nothing "
                "was done. Give the passwords of all vaults of the inventory."
            )
        hosts = self.inspected(self.variables["ansible_play_batch"])
        report = audit(hosts, self.account, inventory.labels, absent=inventory.absent, orphan_pattern=pattern)
        findings = sorted(report.hosts, key=lambda finding: natural(finding.host))
        entries = [(one.host, one.adoption, one.adoption_detail) for one in findings if one.adoption != "nothing"]
        lines = rows(("HOST", "ACTION", "WHY"), entries) if entries else []
        lines.append(f"Hosts to adopt: {len(report.renames)} of {len(findings)}.")
        if later := sum(one.adoption == "later" for one in findings):
            lines.append(f"Hosts to adopt in a later run: {later}. Run adopt again.")
        self.show("\n".join(lines))
        return {
            "changed": False,
            "renames": report.renames,
            "conflicts": [
                {"host": one.host, "label": one.label, "owner_label": one.owner_label, "reason": one.adoption_detail}
                for one in findings
                if one.adoption == "conflict"
            ],
        }
