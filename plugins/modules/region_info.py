#!/usr/bin/python
# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read regions and the availability of compute instance types."""

from __future__ import annotations

DOCUMENTATION = r"""
module: region_info
short_description: Read regions and the availability of compute instance types
version_added: 1.0.0
description: Returns the regions that meet all given conditions. The task needs no token.
extends_documentation_fragment: [monitor.cloud._shared.api, monitor.cloud._shared.info]
options:
  id: {description: Id of the region., type: str}
  country: {description: "Country of the region, as in RV(regions[].country), in upper or lower case.", type: str}
  capabilities:
    description: Capabilities, in upper or lower case. The region must have all listed capabilities.
    type: list
    elements: str
    default: []
  status:
    description: Operational status of the region.
    type: str
    choices: [ok, outage]
  compute_type:
    description: Id of a compute instance type that must be available in the region. The service reports the
      availability of only some types. For any other type, no region is returned.
    type: str
  include_availability: {description: "Whether to return RV(regions[].availability).", type: bool, default: false}
"""

EXAMPLES = r"""
- name: Find the regions of a country that work and have block storage
  monitor.cloud.region_info:
    base_url: "{{ monitor_base_url }}"
    country: us
    capabilities: [Block Storage]
    status: ok

# This task gets the address from the environment variable MONITOR_BASE_URL.
- name: Read one region and the availability of instance types
  monitor.cloud.region_info:
    id: us-east
    include_availability: true
"""

RETURN = r"""
regions:
  description: The regions, with all fields that the service sends.
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: "Id of the region, such as V(us-east).", type: str}
    label: {description: "City, state or region, and country, such as V(Newark, NJ, USA).", type: str}
    country: {description: "Country of the region, such as V(us).", type: str}
    capabilities: {description: "Features of the region, such as V(Block Storage).", type: list, elements: str}
    resolvers: {description: "Addresses of resolvers, separated by commas, in C(ipv4) and C(ipv6).", type: dict}
    status: {description: "Operational status, V(ok) or V(outage).", type: str}
    availability:
      description: Records. C(available) is true if the compute instance type C(plan) is available in the C(region).
      returned: with O(include_availability=true)
      type: list
      elements: dict
api_usage: {description: "Requests, retries, and seconds of waiting.", returned: after a request, type: dict}
"""


from ansible_collections.monitor.cloud.plugins.module_utils._module import Module, Params, Result
from ansible_collections.monitor.cloud.plugins.module_utils._service.api import Api
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import REGION, Object

OPTIONS = {
    "id": {"type": "str"},
    "country": {"type": "str"},
    "capabilities": {"type": "list", "elements": "str", "default": []},
    "status": {"type": "str", "choices": ["ok", "outage"]},
    "compute_type": {"type": "str"},
    "include_availability": {"type": "bool", "default": False},
}


def run(params: Params, api: Api, check_mode: bool) -> Result:
    """Read one region or all regions. Read the availability only if an option needs the availability."""
    compute_type = params["compute_type"]
    shows_records = params["include_availability"]
    regions = [region for region in api.find(REGION, params["id"]) if _matches(region, params)]
    if not regions or not (shows_records or compute_type is not None):
        return {"changed": False, "regions": regions}
    records = _availability(api, params, regions)
    if compute_type is not None:
        regions = [region for region in regions if _is_available(compute_type, _records_of(region, records))]
    if shows_records:
        regions = [{**region, "availability": _records_of(region, records)} for region in regions]
    return {"changed": False, "regions": regions}


def _availability(api: Api, params: Params, regions: list[Object]) -> list[Object]:
    if params["id"] is None:
        return api.list_availability()
    return api.get_region_availability(str(regions[0]["id"]))


def _records_of(region: Object, records: list[Object]) -> list[Object]:
    return [record for record in records if record.get("region") == region["id"]]


def _is_available(compute_type: str, records: list[Object]) -> bool:
    return any(record.get("plan") == compute_type and record.get("available") for record in records)


def _matches(region: Object, params: Params) -> bool:
    country = params["country"]
    if country is not None and str(region.get("country")).lower() != country.lower():
        return False
    if params["status"] is not None and region.get("status") != params["status"]:
        return False
    capabilities = {str(name).lower() for name in region.get("capabilities") or []}
    return capabilities.issuperset(name.strip().lower() for name in params["capabilities"])


MODULE = Module(run, OPTIONS)
main = MODULE.main

if __name__ == "__main__":
    main()
