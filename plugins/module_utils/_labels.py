# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labels of monitoring clients: what is valid, and the label of a host. Pure.

Implements ``label`` of section 2.1 and the limits of section 8 of the API document.
"""

from __future__ import annotations

import hashlib
import re
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError

MIN_LENGTH = 3
MAX_LENGTH = 32
_DIGITS = 8
# The API document asks for a length only; some services take no other characters than these, so what we derive keeps
# to them.
_PORTABLE = re.compile(r"[A-Za-z0-9_-]{3,32}")
_NOT_PORTABLE = re.compile(r"[^A-Za-z0-9_-]+")


def check_label(label: str) -> None:
    """Raise InputError unless the label has 3 to 32 characters; any other rule is the service's to tell."""
    if not isinstance(label, str):
        raise InputError(f"The label {label!r} is no text. Put it in quotes.")
    if not MIN_LENGTH <= len(label) <= MAX_LENGTH:
        raise InputError(
            f"The label {label!r} has {len(label)} characters; a label has {MIN_LENGTH} to {MAX_LENGTH}. "
            "Choose another one; the filter monitor.cloud.client_label derives a valid one from any host name."
        )


def check_labels(labels: t.Iterable[str]) -> None:
    """Raise InputError for the first label that :func:`check_label` refuses, or that is there twice."""
    seen = set()
    for label in labels:
        check_label(label)
        if label in seen:
            raise InputError(f"The label {label!r} is listed twice. Labels are unique: give each host its own.")
        seen.add(label)


def client_label(host: str) -> str:
    """The label of a host: its name where that is portable, else a readable head, ``-`` and 8 hex digits of a hash."""
    if _PORTABLE.fullmatch(host):
        return host
    digest = hashlib.sha256(host.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    head = _NOT_PORTABLE.sub("-", host)[: MAX_LENGTH - _DIGITS - 1].strip("-") or "host"
    return f"{head}-{digest}"


def labels_of_hosts(
    hosts: t.Sequence[str], everyone: t.Iterable[str], own_label: t.Callable[[str], t.Any]
) -> dict[str, str]:
    """Host → label for ``hosts``. InputError for two hosts of ``everyone`` with one label, or a bad label.

    ``own_label`` gives the label that a host's inventory sets, or None.
    """
    wanted = set(hosts)
    labels: dict[str, str] = {}
    owners: dict[str, str] = {}
    for host in dict.fromkeys([*hosts, *everyone]):
        own = own_label(host)
        label = client_label(host) if own in (None, "") else str(own)
        if host in wanted:
            try:
                check_label(label)
            except InputError as error:
                raise InputError(f"monitor_agent_label of host {host}: {error}") from error
        if label in owners:
            raise InputError(
                f"The hosts {owners[label]} and {host} have the same label {label!r}. Each host needs a client of its "
                "own: set monitor_agent_label for one of them in the inventory."
            )
        owners[label] = host
        labels[host] = label
    return {host: labels[host] for host in hosts}
