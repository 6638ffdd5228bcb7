# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import yaml
from openapi_spec_validator import validate

from ansible_collections.monitor.cloud.tests.emulator.contract import DOCUMENT

READ = "monitor:read_only"
WRITE = "monitor:read_write"
PUBLIC = None

# Columns: operation, method, path, scope.
OPERATIONS = [
    ("list_clients", "GET", "/monitor/clients", READ),
    ("create_client", "POST", "/monitor/clients", WRITE),
    ("get_client", "GET", "/monitor/clients/{clientId}", READ),
    ("update_client", "POST", "/monitor/clients/{clientId}", WRITE),
    ("delete_client", "DELETE", "/monitor/clients/{clientId}", WRITE),
    ("get_plan", "GET", "/monitor/plan", READ),
    ("update_plan", "PUT", "/monitor/plan", WRITE),
    ("list_subscriptions", "GET", "/monitor/subscriptions", PUBLIC),
    ("get_subscription", "GET", "/monitor/subscriptions/{subscriptionId}", PUBLIC),
    ("list_regions", "GET", "/regions", PUBLIC),
    ("list_region_availability", "GET", "/regions/availability", PUBLIC),
    ("get_region", "GET", "/regions/{regionId}", PUBLIC),
    ("get_region_availability", "GET", "/regions/{regionId}/availability", PUBLIC),
]
REQUIRED = {
    "Client": "id label api_key install_code apps created updated",
    "Subscription": "id label clients_included price",
    "Price": "hourly monthly",
    "Region": "id label country capabilities resolvers status",
    "Availability": "available plan region",
    "Envelope": "page pages results",
}

WRITTEN: dict[str, Any] = yaml.safe_load(DOCUMENT.read_text(encoding="utf-8"))
SCHEMAS: dict[str, Any] = WRITTEN["components"]["schemas"]
ITEMS = [
    (path, verb, item)
    for path, methods in WRITTEN["paths"].items()
    for verb, item in methods.items()
    if verb != "parameters"
]


def test_document_is_valid_openapi() -> None:
    validate(WRITTEN)


def test_operations_have_their_paths_and_scopes() -> None:
    operations = {(item["operationId"], verb.upper(), path, repr(item["security"])) for path, verb, item in ITEMS}
    security: dict[str | None, str] = {PUBLIC: "[]"}
    security |= {scope: repr([{"personal_access_token": []}, {"oauth": [scope]}]) for scope in (READ, WRITE)}
    assert operations >= {(*operation, security[scope]) for *operation, scope in OPERATIONS}


def test_fields_and_limits_are_promised() -> None:
    for name, fields in REQUIRED.items():
        assert set(fields.split()) <= set(SCHEMAS[name]["required"]) <= SCHEMAS[name]["properties"].keys(), name
    assert (SCHEMAS["Label"]["minLength"], SCHEMAS["Label"]["maxLength"]) == (3, 32)
    tiers = ["monitor-3", "monitor-10", "monitor-40", "monitor-100"]
    assert SCHEMAS["SubscriptionName"]["enum"] == tiers
    assert SCHEMAS["PlanInput"]["properties"]["monitor_subscription"]["enum"] == [*tiers, None]


def test_grants_of_the_plan() -> None:
    plan = WRITTEN["paths"]["/monitor/plan"]
    reading = [{"account_access": "read_write"}, {"account_access": "read_only"}]
    assert plan["put"]["x-grants"] == [{"monitor_subscription": True}]
    assert plan["get"]["x-grants"] == [*reading, {"monitor_subscription": True}, {"add_monitor": True}]
