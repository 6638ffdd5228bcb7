# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tiers, regions and availability records, which are the same for all callers."""

from typing import Any

# Columns: number of clients, hourly price, monthly price.
_TIERS = ((3, 0.015, 10.0), (10, 0.03, 20.0), (40, 0.09, 60.0), (100, 0.18, 120.0))

_LOCATIONS = (
    ("ca-east", "Montreal, QC, Canada", "ca"),
    ("us-west", "Portland, OR, USA", "us"),
    ("us-south", "Austin, TX, USA", "us"),
    ("br-south", "Curitiba, PR, Brazil", "br"),
    ("uk-north", "Leeds, England, United Kingdom", "gb"),
    ("de-south", "Munich, Bavaria, Germany", "de"),
    ("se-east", "Uppsala, Sweden", "se"),
    ("it-north", "Turin, Piedmont, Italy", "it"),
    ("in-south", "Bengaluru, Karnataka, India", "in"),
    ("jp-west", "Kyoto, Japan", "jp"),
    ("au-east", "Brisbane, QLD, Australia", "au"),
    ("za-west", "Cape Town, Western Cape, South Africa", "za"),
)
_CAPABILITIES = ("Instances", "Firewalls", "Backups", "Block Storage", "GPU Instances", "Premium Plans")
_OUTAGE = "za-west"
_FAMILIES = ("premium-amd", "premium-intel", "gpu-small", "gpu-large")


def tiers(brand: str) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{brand}-{clients}",
            "label": f"{brand.capitalize()} {clients}",
            "clients_included": clients,
            "price": {"hourly": hourly, "monthly": monthly},
        }
        for clients, hourly, monthly in _TIERS
    ]


def regions() -> list[dict[str, Any]]:
    return [
        {
            "id": region,
            "label": label,
            "country": country,
            "capabilities": list(_CAPABILITIES[: 3 + number % 4]),
            "resolvers": {
                "ipv4": f"192.0.2.{number * 2 + 1}, 192.0.2.{number * 2 + 2}",
                "ipv6": f"2001:db8:{number + 1}::1, 2001:db8:{number + 1}::2",
            },
            "status": "outage" if region == _OUTAGE else "ok",
        }
        for number, (region, label, country) in enumerate(_LOCATIONS)
    ]


def availability(records: int) -> list[dict[str, Any]]:
    """Return the given number of availability records, for each compute type in each region."""
    result = []
    for number in range(records):
        type_number, location = divmod(number, len(_LOCATIONS))
        size, family = divmod(type_number, len(_FAMILIES))
        region = _LOCATIONS[location][0]
        # Each type, and each region without an outage, has available and unavailable records.
        available = region != _OUTAGE and (type_number + location) % 3 != 0
        result.append({"available": available, "plan": f"g1-{_FAMILIES[family]}-{size + 1}", "region": region})
    return result
