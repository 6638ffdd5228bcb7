# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The defaults of the role are those that meta/argument_specs.yml documents, and of the documented type."""

from typing import Any

import yaml

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT

ROLE = CHECKOUT / "roles" / "monitor_agent"
TYPES: dict[str, Any] = {"str": str, "bool": bool, "float": (int, float), "list": list, "dict": dict, "raw": str}


def test_defaults_and_argument_specs_agree() -> None:
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text(encoding="utf-8"))
    specification = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    options: dict[str, dict[str, Any]] = {}
    for entry in specification["argument_specs"].values():
        assert not options.keys() & entry["options"].keys()
        options.update(entry["options"])
    # One without a default is not set: module_utils/_module.py has the default of the connection.
    assert {name: option["default"] for name, option in options.items() if "default" in option} == defaults
    for name, value in defaults.items():
        assert isinstance(value, TYPES[options[name].get("type", "str")]), name
        assert value in options[name].get("choices", [value]), name
