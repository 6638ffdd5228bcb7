# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The contract is valid and has what is below; Schemathesis makes requests from it and checks the responses."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from openapi_spec_validator import validate

from ansible_collections.monitor.cloud.tests.emulator.contract import DOCUMENT, operation_ids
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator

READ, WRITE, PUBLIC = "monitor:read_only", "monitor:read_write", None

# Written by hand, so that no operation, path or scope of the API document changes by accident. Others may be added.
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
TIERS = ["monitor-3", "monitor-10", "monitor-40", "monitor-100"]

# Section 2, copied by hand as well: the fields of each object and their JSON types.
FIELDS = {
    "Client": "id integer, label string, api_key string, install_code string, apps object, "
    "created string, updated string",
    "Apps": "apache boolean, mysql boolean, nginx boolean",
    "Subscription": "id string, label string, clients_included integer, price object",
    "Price": "hourly number, monthly number",
    "Region": "id string, label string, country string, capabilities array, resolvers object, status string",
    "Availability": "available boolean, plan string, region string",
    "Envelope": "page integer, pages integer, results integer",
}


WRITTEN: dict[str, Any] = yaml.safe_load(DOCUMENT.read_text(encoding="utf-8"))
SCHEMAS: dict[str, Any] = WRITTEN["components"]["schemas"]
# Path, verb and description of each operation.
ITEMS = [
    (path, verb, item)
    for path, methods in WRITTEN["paths"].items()
    for verb, item in methods.items()
    if verb != "parameters"
]


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that is meant, behind one reference."""
    reference = schema.get("$ref") or (schema.get("allOf") or [{}])[0].get("$ref")
    return dict(SCHEMAS[reference.rpartition("/")[2]]) if reference else schema


def test_document_is_valid_openapi() -> None:
    validate(WRITTEN)


def test_operations_have_their_paths_and_scopes() -> None:
    found = {(item["operationId"], verb.upper(), path, repr(item["security"])) for path, verb, item in ITEMS}
    security: dict[str | None, str] = {PUBLIC: "[]"}
    security |= {scope: repr([{"personal_access_token": []}, {"oauth": [scope]}]) for scope in (READ, WRITE)}
    assert found >= {(*operation, security[scope]) for *operation, scope in OPERATIONS}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_of_section_2_are_promised(name: str) -> None:
    properties = SCHEMAS[name]["properties"]
    types = {field: _resolved(schema)["type"] for field, schema in properties.items()}
    expected = dict(pair.split() for pair in FIELDS[name].split(", "))
    assert types.items() >= expected.items()
    assert name == "Apps" or expected.keys() <= set(SCHEMAS[name]["required"]) <= types.keys()


@pytest.mark.parametrize("name", ["ClientPage", "SubscriptionPage", "RegionPage", "AvailabilityPage"])
def test_lists_have_the_envelope_of_section_2_5(name: str) -> None:
    envelope, data = SCHEMAS[name]["allOf"]
    assert envelope == {"$ref": "#/components/schemas/Envelope"}
    assert data["required"] == ["data"]
    assert data["properties"]["data"]["items"] == {"$ref": f"#/components/schemas/{name.removesuffix('Page')}"}


def test_limits_of_section_8() -> None:
    assert (SCHEMAS["Label"]["minLength"], SCHEMAS["Label"]["maxLength"]) == (3, 32)
    assert SCHEMAS["ClientInput"]["properties"]["label"] == {"$ref": "#/components/schemas/Label"}
    assert SCHEMAS["SubscriptionName"]["enum"] == TIERS
    assert SCHEMAS["PlanInput"]["properties"]["monitor_subscription"]["enum"] == [*TIERS, None]
    assert SCHEMAS["PlanInput"]["properties"]["monitor_subscription"]["nullable"] is True
    assert SCHEMAS["Region"]["properties"]["status"]["enum"] == ["ok", "outage"]


def test_grants_of_section_4_2() -> None:
    plan = WRITTEN["paths"]["/monitor/plan"]
    assert plan["get"]["x-grants"] == [
        {"account_access": "read_write"},
        {"account_access": "read_only"},
        {"monitor_subscription": True},
        {"add_monitor": True},
    ]
    assert plan["put"]["x-grants"] == [{"monitor_subscription": True}]


def test_page_parameters_are_on_operations_1_and_8_only() -> None:
    size = {"$ref": "#/components/parameters/PageSize"}
    paged = {item["operationId"] for _path, _verb, item in ITEMS if size in item.get("parameters", [])}
    assert paged & {operation for operation, *_rest in OPERATIONS} == {"list_clients", "list_subscriptions"}


def test_errors_of_section_7() -> None:
    entry = SCHEMAS["Errors"]["properties"]["errors"]["items"]
    types = {name: schema["type"] for name, schema in entry["properties"].items()}
    assert types == {"field": "string", "reason": "string"}
    for path, verb, item in ITEMS:
        assert "default" in item["responses"], f"{verb} {path} lacks the other errors"


CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
COMMAND = Path(sys.executable).with_name("schemathesis")


def test_schemathesis_finds_no_violation(emulator: Emulator, tmp_path: Path) -> None:
    done = subprocess.run(
        [COMMAND, "--config-file", CONFIGURATION, "run", DOCUMENT, "--url", emulator.base_url],
        # It leaves notes on its run in the working directory.
        cwd=tmp_path,
        env={**os.environ, **emulator.environment()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    # A run in which an operation was only ever refused would prove nothing about its responses.
    succeeded = {entry["operation"] for entry in emulator.requests() if entry["status"] == 200}
    assert succeeded == set(operation_ids())
