# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import copy
import importlib
import json
import pkgutil
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins import modules
from ansible_collections.monitor.cloud.plugins.modules import (
    monitor_client,
    monitor_client_info,
    monitor_clients,
    monitor_plan,
    monitor_plan_info,
    monitor_subscription_info,
    region_info,
)
from ansible_collections.monitor.cloud.tests.emulator.contract import examples as contract_examples
from ansible_collections.monitor.cloud.tests.support.checks import SOAK, short_or_long
from ansible_collections.monitor.cloud.tests.support.servers import Account, Request

Path = tuple[str | int, ...]


def examples(short: int, long: int) -> settings:
    """Return settings of hypothesis. Only `make soak` has new examples in each run."""
    return settings(
        max_examples=short_or_long(short, long),
        derandomize=not SOAK,
        print_blob=SOAK,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


INVALID_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**30, -(10**30), 1e308, float("nan"), float("inf"), float("-inf"), "", " ", "x",
    "7", "web1", "a\0b", "\n", "\x1b[31m", "\ud800", "\udcff x", "é" * 40, "x" * 5000, "1" * 5000, "{{ 7 * 7 }}",
    [], {}, [None], [[]], [1, "a", None], {"id": 1}, {"": ""}, {"label": None},
)  # fmt: skip

# The modules that call the service.
MODULES = {
    name: module
    for _finder, name, _is_package in pkgutil.iter_modules(modules.__path__)
    if hasattr(module := importlib.import_module(f"{modules.__name__}.{name}"), "MODULE")
}
NEEDED: dict[str, dict[str, Any]] = {
    "monitor_client": {"label": "web1"},
    "monitor_clients": {"labels": ["web1"]},
    "monitor_plan": {"min_clients": 1},
}


def info_module(noun: str) -> Any:
    return MODULES.get(f"{noun}_info") or MODULES[f"monitor_{noun}_info"]


# Columns by call: the module, its options, and the method and the last path segment of a request.
CALLS: dict[str, tuple[Any, dict[str, Any], tuple[str, str]]] = {
    "list, register": (monitor_clients, {"labels": ["web1", "web9"]}, ("GET", "clients")),
    "list, prune": (
        monitor_clients,
        {"labels": ["web9"], "prune": True, "prune_pattern": "(web)+1", "renames": {"web1": "web2"}},
        ("GET", "clients"),
    ),
    "list, info": (monitor_client_info, {"label_pattern": "web(1)?", "include_keys": True}, ("GET", "clients")),
    "create": (monitor_clients, {"labels": ["web9"], "include_keys": True}, ("POST", "clients")),
    "create one": (monitor_client, {"label": "web9"}, ("POST", "clients")),
    "view": (monitor_client_info, {"id": 1}, ("GET", "client")),
    "view before delete": (monitor_client, {"label": "web1", "state": "absent"}, ("GET", "client")),
    "rename": (monitor_client, {"id": 1, "label": "web9"}, ("POST", "client")),
    "delete": (monitor_clients, {"labels": ["web1"], "state": "absent"}, ("DELETE", "client")),
    "plan": (monitor_plan_info, {}, ("GET", "plan")),
    "plan, capacity": (monitor_clients, {"labels": ["web9"]}, ("GET", "plan")),
    "switch": (monitor_plan, {"subscription": "monitor-3"}, ("PUT", "plan")),
    "tiers": (monitor_subscription_info, {}, ("GET", "subscriptions")),
    "tiers, switch": (monitor_plan, {"min_clients": 2}, ("GET", "subscriptions")),
    "tier": (monitor_subscription_info, {"id": "monitor-3"}, ("GET", "monitor-3")),
    "regions": (region_info, {"capabilities": ["Backups"], "country": "us", "status": "ok"}, ("GET", "regions")),
    "region": (region_info, {"id": "us-west", "compute_type": "g1-premium-amd-1"}, ("GET", "us-west")),
    "availability": (
        region_info,
        {"include_availability": True, "compute_type": "g1-premium-amd-1"},
        ("GET", "availability"),
    ),
}
# The API description can contain more resources. Add calls for each resource.
for _noun, _rows in contract_examples().items():
    CALLS[f"{_noun}s"] = (info_module(_noun), {}, ("GET", f"{_noun}s"))
    CALLS[_noun] = (info_module(_noun), {"id": _rows[0]["id"]}, ("GET", _rows[0]["id"]))
ONE_OF_EACH = {
    name: CALLS[name]
    for name in ("list, register", "view", "create one", "rename", "delete", "switch", "tiers", "regions")
}


def valid_response(call: str) -> Any:
    method, word = CALLS[call][2]
    if word == "plan":
        return dict(Account.TIER)
    target = "/clients/1" if word == "client" else f"/{word}"
    return json.loads(Account().respond(Request(method, target, b"", b'{"label": "web9"}'))[2])


def value_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from value_paths(inner, (*path, key))


def replaced(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    result = copy.copy(value)
    result[path[0]] = replaced(value[path[0]], path[1:], new)
    return result


texts = st.text(st.characters(exclude_categories=()), max_size=40)
_NAMES = st.sampled_from(["data", "id", "label", "pages", "results", "errors", "price"])
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts | st.sampled_from(INVALID_VALUES),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES | texts, inner),
    max_leaves=12,
)
