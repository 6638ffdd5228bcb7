# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Functions for the labels of clients and hosts: check a label, and derive a label from a host name. Pure.

The functions implement the schema Label of docs/openapi.yaml.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fingerprints import fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

# The names that ansible-core has for the machine itself.
LOCALHOST = ("localhost", "127.0.0.1", "::1")
# Names that cannot be labels: machines that run ansible-pull have the same name, and would share one client.
_LOCAL_NAMES = (*LOCALHOST, "localhost.localdomain")
_SHORTEST_LABEL = 3
_LONGEST_LABEL = 32
_HASH_DIGITS = 8
# docs/openapi.yaml (Label) limits only the length of a label, but some services accept only these characters.
_PORTABLE = re.compile(r"[A-Za-z0-9_-]{3,32}")
_NOT_PORTABLE = re.compile(r"[^A-Za-z0-9_-]+")
# Core splits the text '["web1", "web2"]' at the comma into wrong labels, so prune would delete web1 and web2.
_TEXT_OF_LIST = re.compile(r"\s*\[(\s*['\"].*|[^]]*,[^[]*)\]\s*", re.DOTALL)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def as_text(label: t.Any, of_host: str = "") -> str:
    """Return a label as text. Raise InputError if the label is not text, such as 0123, which YAML reads as 83."""
    if isinstance(label, (dict, list)):
        # The value can be a client with keys, so the message does not show the value.
        raise InputError(f"A label{of_host} is a list or dictionary. Give a text, such as the label of a client.")
    # Do not test for the type str, because core has another type for text from a vault.
    if label is None or isinstance(label, (bool, int, float)):
        raise InputError(f"The label {label!r}{of_host} is not text. Write the label in quotes.")
    return str(label)


def has_valid_length(label: str) -> bool:
    """Whether a label has 3 to 32 characters."""
    return _SHORTEST_LABEL <= len(label) <= _LONGEST_LABEL


def check_label(label: str) -> None:
    """Raise InputError unless the label has 3 to 32 characters. The service checks all other rules for labels."""
    if has_valid_length(label):
        return
    length = "1 character" if len(label) == 1 else f"{len(label)} characters"
    raise InputError(
        f"The label {label!r} has {length}; a label has {_SHORTEST_LABEL} to {_LONGEST_LABEL}. Choose another label. "
        "The filter monitor.cloud.client_label makes a valid label from any host name."
    )


def check_own(label: str) -> None:
    """Raise InputError for a name of localhost, such as ``127.0.0.1``, and for a label derived from such a name."""
    if label in _LOCAL_NAMES or label in map(client_label, _LOCAL_NAMES):
        raise InputError(
            f"{label!r} cannot be a label: every machine named localhost would share one key. Set monitor_agent_label "
            "to a name that no other machine has. The rollout guide has an example for ansible-pull."
        )


def check_labels(labels: t.Sequence[str]) -> None:
    """Raise InputError if a label is invalid or listed twice, or if ``labels`` was text such as ``["a", "b"]``."""
    seen = set()
    for label in labels:
        check_label(label)
        if label in seen:
            raise InputError(f"The label {label!r} is listed twice. Labels are unique: give each host its own label.")
        seen.add(label)
    if _TEXT_OF_LIST.fullmatch(",".join(labels)):
        raise InputError(
            f"labels is text that looks like a list; the first label is {labels[0]!r}. Give a list, as an extra "
            'variable in JSON: -e \'{"labels": ["web1", "web2"]}\'. Or give a text without brackets and quotes: '
            "web1,web2."
        )


def client_label(host: str, own: t.Any = None) -> str:
    """Return the label of a host. ``own`` is the label that the inventory or an option sets, or None.

    Without ``own``, return the host name, or :func:`derived_name` if not all services accept the host name as a label.
    Raise InputError if ``own`` is not text.
    """
    if own not in (None, ""):
        return as_text(own, f" of host {host}")
    if _PORTABLE.fullmatch(host):
        return host
    return derived_name(host)


def derived_name(name: str) -> str:
    """Return a label derived from a name: its beginning without special characters, ``-``, and 8 digits of a hash."""
    longest = _LONGEST_LABEL - _HASH_DIGITS - 1
    head = _NOT_PORTABLE.sub("-", name)[:longest].strip("-") or "host"
    return f"{head}-{fingerprint(name)[:_HASH_DIGITS]}"


def is_plain_name(name: str) -> bool:
    """Whether a name is safe: no program can read the name as an option, a pattern, a template or shell code."""
    return bool(_PLAIN_NAME.fullmatch(name))


def labels_of_hosts(
    hosts: t.Sequence[str], all_hosts: t.Iterable[str], own_label: t.Callable[[str], t.Any]
) -> dict[str, str]:
    """Return the labels of ``hosts``. Raise InputError if a label is invalid, or if another host has the label.

    ``all_hosts`` are all hosts of the inventory. ``own_label`` returns the label that the inventory sets for a host, or
    None.
    """
    requested = set(hosts)
    owners: dict[str, str] = {}
    for host in dict.fromkeys([*hosts, *all_hosts]):
        label = client_label(host, own_label(host))
        if host in requested:
            _check_label_of_host(host, label)
        owner = owners.setdefault(label, host)
        if owner != host and owner in requested:
            raise InputError(
                f"The hosts {owner} and {host} have the same label {label!r}, but each host needs its own client. Set "
                "another monitor_agent_label for one of the two hosts in the inventory."
            )
    return {host: label for label, host in owners.items() if host in requested}


def _check_label_of_host(host: str, label: str) -> None:
    try:
        check_label(label)
    except InputError as error:
        raise InputError(f"monitor_agent_label of host {host}: {error}") from error
