# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labels of monitoring clients: valid labels, the label of a host, patterns, lists in messages. Pure.

Implements the schema Label of docs/openapi.yaml.
"""

from __future__ import annotations

import hashlib
import re
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

MIN_LENGTH = 3
MAX_LENGTH = 32
_DIGITS = 8
# docs/openapi.yaml limits the length only; some services accept no other characters than these.
_PORTABLE = re.compile(r"[A-Za-z0-9_-]{3,32}")
_NOT_PORTABLE = re.compile(r"[^A-Za-z0-9_-]+")


def check_label(label: str) -> None:
    """Raise InputError unless the label has 3 to 32 characters; the service checks all other rules."""
    if not isinstance(label, str):
        raise InputError(f"The label {label!r} is not text. Put it in quotes.")
    if not MIN_LENGTH <= len(label) <= MAX_LENGTH:
        raise InputError(
            f"The label {label!r} has {len(label)} characters; a label has {MIN_LENGTH} to {MAX_LENGTH}. "
            "Choose another one; the filter monitor.cloud.client_label derives a valid one from any host name."
        )


def check_labels(labels: t.Iterable[str]) -> None:
    """Raise InputError for the first label that :func:`check_label` refuses, or that is listed twice."""
    seen = set()
    for label in labels:
        check_label(label)
        if label in seen:
            raise InputError(f"The label {label!r} is listed twice. Labels are unique: give each host its own.")
        seen.add(label)


def client_label(host: str) -> str:
    """The label of a host: its name if that is portable, else the start of it, ``-`` and 8 hex digits of a hash."""
    if _PORTABLE.fullmatch(host):
        return host
    digest = hashlib.sha256(host.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    head = _NOT_PORTABLE.sub("-", host)[: MAX_LENGTH - _DIGITS - 1].strip("-") or "host"
    return f"{head}-{digest}"


def host_label(host: str, own: t.Any) -> str:
    """The label of a host: the one that the inventory or an option sets, else the one derived from its name."""
    return client_label(host) if own in (None, "") else str(own)


def labels_of_hosts(
    hosts: t.Sequence[str], all_hosts: t.Iterable[str], own_label: t.Callable[[str], t.Any]
) -> dict[str, str]:
    """Host → label for ``hosts``. InputError for two hosts of ``all_hosts`` with one label, or an invalid label.

    ``own_label`` returns the label that the inventory sets for a host, or None.
    """
    requested = set(hosts)
    labels: dict[str, str] = {}
    owners: dict[str, str] = {}
    for host in dict.fromkeys([*hosts, *all_hosts]):
        label = host_label(host, own_label(host))
        if host in requested:
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


def listed(names: t.Sequence[str], limit: int = 20, form: t.Callable[[str], str] = repr) -> str:
    """Names for a message, in quotes: the first ones up to the limit, and the number of the others."""
    more = len(names) - limit
    return ", ".join(map(form, names[:limit])) + (f" and {more} more" if more > 0 else "")


def compiled(pattern: str, option: str) -> re.Pattern[str]:
    """The regular expression of an option, or InputError."""
    try:
        # A label may hold any character, and ".*" means any label.
        return re.compile(pattern, re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"{option} {pattern!r} is not a valid regular expression: {error}.") from error


def matching(pattern: str, option: str, labels: t.Sequence[str]) -> list[str]:
    """Those of the labels that the whole expression matches, in their order; InputError if it is invalid."""
    expression = compiled(pattern, option)
    return [label for label in labels if expression.fullmatch(label)]
