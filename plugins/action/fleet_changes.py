# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide, once for all hosts of the batch, what happens to hosts and clients. Connects to nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from ansible.module_utils.common.yaml import yaml_load

from ansible_collections.monitor.cloud.plugins.doc_fragments._shared import ModuleDocFragment
from ansible_collections.monitor.cloud.plugins.modules import fleet_changes
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.action import FleetAction, Result
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.decide import Changes, HostChange, decide
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import account_of
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.read import read_run
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.base import documented

_SPECS = Path(__file__).parents[2] / "roles" / "monitor_agent" / "meta" / "argument_specs.yml"
_PREFIX = "monitor_agent_"
# A name that is at least so similar to a variable of the role counts as a typing error.
_SIMILAR = 0.9


class ActionModule(FleetAction):
    VALIDATOR = documented(fleet_changes.DOCUMENTATION, ModuleDocFragment.ACCOUNT)

    def act(self) -> Result:
        account = account_of(self.result_named_in("account"))
        run = read_run(self.variables, self.options["inspected"])
        changes = decide(
            run.hosts,
            account,
            run.inventory,
            orphan_pattern=self.options["orphan_pattern"],
            predicts=self._task.check_mode,
        )
        if not self.options["quiet"]:
            for warning in [*changes.warnings, *_typing_errors(run.names)]:
                self._display.warning(warning)
        batch = [changes.hosts[host.name] for host in run.hosts if host.decides]
        result = _result(changes, batch)
        result["unreadable"] = list(run.inventory.unreadable)
        if self.options["details"]:
            result["hosts"] = {change.host: change.as_dict() for change in changes.hosts.values()}
        return result


def _result(changes: Changes, batch: Iterable[HostChange]) -> Result:
    """Return the result. Each condition of each host renders the whole result, so the result is small."""
    steps = {}
    problems = {}
    for change in batch:
        if change.problem:
            problems[change.host] = change.problem
        if change.problem or change.steps:
            steps[change.host] = " ".join(change.steps)
    return {
        "changed": False,
        "steps": steps,
        "problems": problems,
        "create": changes.create,
        "renames": changes.renames,
        "orphans": changes.orphans,
        "orphan_problem": changes.orphan_problem,
    }


def _typing_errors(names: Iterable[str]) -> list[str]:
    """Return a warning for each name that is similar to a variable of the role, but not equal."""
    given = sorted(name for name in names if name.startswith(_PREFIX))
    specs = yaml_load(_SPECS.read_text(encoding="utf-8"))["argument_specs"]
    known = {name for spec in specs.values() for name in spec["options"]}
    warnings = []
    for name in given:
        close = difflib.get_close_matches(name, known, 1, _SIMILAR)
        if close and name not in known:
            warnings.append(f"The role has no variable {name}. If you mean {close[0]}, correct the name.")
    return warnings
