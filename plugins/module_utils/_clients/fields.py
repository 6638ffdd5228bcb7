# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Functions for the fields of a client: check labels, recognize masked keys, and show clients without keys. Pure.

The functions implement the schemas Label and Client of docs/openapi.yaml. The schemas do not define when and how a
service masks ``api_key`` and ``install_code``.
"""

from __future__ import annotations

import collections
import hashlib
import re
import typing as t
import unicodedata

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import LEAST_LETTERS, letters_in
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import CLIENT

Client = t.Dict[str, t.Any]  # noqa: UP006

SECRET_FIELDS = tuple(CLIENT.secret)
# In check mode, a new client has this text in place of keys, so that check mode can predict tasks that need a key.
PREDICTED = "assigned-when-the-client-is-created"

# Characters that only masks contain. JSON can contain a lone surrogate (\ud800-\udfff), but a file cannot.
_MASK_CHARACTERS = re.compile(r"[\s\x00-\x1f\x7f-\x9f*\[\]<>…•\ud800-\udfff]")
_SHORTEST_KEY = 16
# Characters that are not allowed in a key, because they can be invisible, or syntax of a configuration file.
_NOT_OF_KEYS = re.compile(r"[^A-Za-z0-9._~+/=:@-]")
# Control characters, and the characters at which str.splitlines ends a line.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_CHECK_ACCESS = (
    "A service masks keys if the token or its user lacks read-write access to the client: check the access of both. If "
    "both have this access, ask the operator of the service for the reason."
)
_SHORTEST_LABEL = 3
_LONGEST_LABEL = 32
_HASH_DIGITS = 8
# docs/openapi.yaml (Label) limits only the length of a label, but some services accept only these characters.
_PORTABLE = re.compile(r"[A-Za-z0-9_-]{3,32}")
# Core splits the text '["web1", "web2"]' at the comma into wrong labels, so prune would delete web1 and web2.
_TEXT_OF_LIST = re.compile(r"\s*\[(\s*['\"].*|[^]]*,[^[]*)\]\s*", re.DOTALL)
# Names that cannot be labels: machines that run ansible-pull have the same name, and would share one client.
_LOCAL_NAMES = ("localhost", "localhost.localdomain", "127.0.0.1", "::1")
_NOT_PORTABLE = re.compile(r"[^A-Za-z0-9_-]+")
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


def check_label(label: str) -> None:
    """Raise InputError unless the label has 3 to 32 characters. The service checks all other rules for labels."""
    if not has_valid_length(label):
        raise InputError(
            f"The label {label!r} has {len(label)} character{'s' * (len(label) != 1)}; a label has "
            f"{_SHORTEST_LABEL} to {_LONGEST_LABEL}. Choose another label. The filter monitor.cloud.client_label makes "
            "a valid label from any host name."
        )


def check_own(label: str) -> None:
    """Raise InputError for a name of localhost, such as ``127.0.0.1``, and for a label derived from such a name."""
    if label in _LOCAL_NAMES or label in map(client_label, _LOCAL_NAMES):
        raise InputError(
            f"{label!r} cannot be a label: every machine named localhost would share one key. Set monitor_agent_label "
            "to a name that no other machine has. The rollout guide has an example for ansible-pull."
        )


def has_valid_length(label: str) -> bool:
    """Whether a label has 3 to 32 characters."""
    return _SHORTEST_LABEL <= len(label) <= _LONGEST_LABEL


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
    return host if _PORTABLE.fullmatch(host) else derived_name(host)


def derived_name(name: str) -> str:
    """Return a label derived from a name: its beginning without special characters, ``-``, and 8 digits of a hash."""
    head = _NOT_PORTABLE.sub("-", name)[: _LONGEST_LABEL - _HASH_DIGITS - 1].strip("-") or "host"
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
            try:
                check_label(label)
            except InputError as error:
                raise InputError(f"monitor_agent_label of host {host}: {error}") from error
        if owners.setdefault(label, host) != host and owners[label] in requested:
            raise InputError(
                f"The hosts {owners[label]} and {host} have the same label {label!r}, but each host needs its own "
                "client. Set another monitor_agent_label for one of the two hosts in the inventory."
            )
    return {host: label for label, host in owners.items() if host in requested}


def listed(names: t.Sequence[str], limit: int = 20, form: t.Callable[[str], str] = repr) -> str:
    """Return names in quotes for a message: at most ``limit`` names, and the number of the other names."""
    more = len(names) - limit
    return ", ".join(map(form, names[:limit])) + (f" and {more} more" if more > 0 else "")


def compiled(pattern: str, option: str) -> re.Pattern[str]:
    """Compile the regular expression of an option. Raise InputError if the expression is invalid."""
    try:
        # Use DOTALL, because a label can contain a line break, and ".*" must match every label.
        return re.compile(pattern, re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"{option} {pattern!r} is not a valid regular expression: {error}.") from error


def matching(pattern: str, option: str, labels: t.Sequence[str]) -> list[str]:
    """Return the labels that completely match a pattern. Raise InputError if the pattern is invalid."""
    expression = compiled(pattern, option)
    return [label for label in labels if expression.fullmatch(label)]


def name_of(client: Client) -> str:
    """Return the label of a client, or ``client <id>`` if the client has no label."""
    return str(client["label"]) if client["label"] is not None else f"client {client['id']}"


def why_masked(value: object, field: str = "api_key") -> str:
    """Return the reason why a value is certainly a mask; empty if the value can be a real secret.

    An install code can be shorter than a key, and all clients can have the same install code.
    """
    if not isinstance(value, str):
        return f"The {field} is missing, or is not text."
    # A key with a line break at its end is not a mask: why_unusable refuses such a key.
    value = value.rstrip("\r\n")
    of_mask = _MASK_CHARACTERS.search(value)
    if of_mask:
        return f"The {field} contains {_name_of(of_mask[0])}, which only masks contain."
    if field == "install_code":
        letters = letters_in(value)
        if letters < LEAST_LETTERS:
            return f"The {field} has {letters} letters and digits; an install code has at least {LEAST_LETTERS}."
    elif len(value) < _SHORTEST_KEY:
        return f"The {field} has {len(value)} characters; a key has at least {_SHORTEST_KEY}."
    return ""


def mask_reason(client: t.Mapping[str, t.Any]) -> str:
    """Return the reason why the api_key or the install_code of a client is a mask; empty if both can be real.

    A client without an install code is valid, because most templates need only the key.
    """
    given = [name for name in SECRET_FIELDS if name == "api_key" or client.get(name) is not None]
    return next(filter(None, (why_masked(client.get(name), name) for name in given)), "")


def with_remedy(reason: str) -> str:
    """Return the reason why keys are masked, and advice to the user."""
    return f"{reason} {_CHECK_ACCESS}"


def secrets_of(client: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return the secrets of a client by field name. Leave out masks."""
    return {name: client[name] for name in SECRET_FIELDS if not why_masked(client.get(name), name)}


def why_unusable(client: t.Mapping[str, t.Any]) -> str:
    """Return the reason why a label or a key must not be written into a configuration; empty if both are safe.

    A line end in a label, or another character in a key, could change the syntax of a configuration.
    """
    control = _CONTROL.search(str(client.get("label")))
    if control:
        return f"the label contains {_name_of(control[0])}"
    for name in SECRET_FIELDS:
        value = client.get(name)
        if not isinstance(value, str) or why_masked(value, name):
            continue
        other = _NOT_OF_KEYS.search(value)
        if other:
            return f"the {name} contains {_name_of(other[0])}; only letters, digits and ._~+/=:@- are allowed"
        if letters_in(value) < LEAST_LETTERS:
            return f"the {name} has fewer than {LEAST_LETTERS} letters and digits"
    return ""


def for_templates(client: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the fields of a client that templates may use. Leave out fields with control characters.

    Other users of the account can set some values. A line end in a value would add lines to a configuration.
    """
    return {name: value for name, value in client.items() if not any(map(_CONTROL.search, _texts(value)))}


def _texts(value: t.Any) -> t.Iterator[str]:
    """Return all strings in a value, including the keys of dictionaries."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in [*value, *value.values()]:
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _name_of(character: str) -> str:
    """Return the code point and the Unicode name of a character, for messages."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()


def escaped(value: t.Any) -> t.Any:
    """Escape characters that control a terminal or the direction of text, so that a diff can show the value."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in value)


def fingerprint(key: str) -> str:
    """Return the fingerprint of a key: the first 12 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def masked(clients: t.Sequence[Client]) -> dict[t.Any, str]:
    """Return the ids of clients whose api_key or install_code is a mask, with the reasons.

    If several clients have the same key, this key is a mask: some services replace each key by the same text, which
    looks like a key. So ``clients`` must be all clients of the account.
    """
    counts = collections.Counter(str(client.get("api_key")) for client in clients)
    reasons = {}
    for client in clients:
        number = counts[str(client.get("api_key"))]
        same = f"The same api_key is on {number} clients." if number > 1 else ""
        reasons[client["id"]] = mask_reason(client) or same
    return {client_id: reason for client_id, reason in reasons.items() if reason}


class Views:
    """The clients of an account, for results and diffs. All clients of the account are needed to recognize masks.

    ``known`` are lists of clients, such as the clients before and after a task. If two lists contain the
    same id, use the client of the later list. A client that check mode predicts has the id None.
    """

    def __init__(self, *known: t.Iterable[Client], include_keys: bool = False) -> None:
        self._account = {
            client["id"]: client for clients in known for client in clients if client.get("id") is not None
        }
        self.masked = masked(list(self._account.values()))
        self._include_keys = include_keys

    def show(self, client: Client) -> Client:
        """Return a client for a result: without secrets, with ``key_fingerprint`` and ``keys_masked``.

        With ``include_keys``, keep api_key and install_code. But remove masks, so that a template with a mask fails.
        Without ``include_keys``, also remove each field that contains a secret, such as an install command.
        """
        if not client:
            return {}
        reason, key = self.masked.get(client["id"], ""), client.get("api_key")
        left_out = () if self._include_keys and not reason else SECRET_FIELDS
        secrets = [secret for name, secret in secrets_of(client).items() if name in left_out]
        predicted = dict.fromkeys(SECRET_FIELDS, PREDICTED) if client["id"] is None and not left_out else {}
        return {
            **predicted,
            **{
                name: value
                for name, value in client.items()
                if name in ("id", "label")
                or (name not in left_out and not any(secret in str(value) for secret in secrets))
            },
            "key_fingerprint": fingerprint(key) if isinstance(key, str) and not reason else None,
            "keys_masked": bool(reason),
            **({"mask_reason": with_remedy(reason)} if reason else {}),
        }

    def diff(self, changes: t.Iterable[tuple[Client, Client]]) -> dict[str, dict[str, t.Any]]:
        """Return a diff with the key fingerprint and the changed fields for each label. ``{}`` means no client."""
        sides: tuple[dict[str, t.Any], ...] = ({}, {})
        for pair in changes:
            settable = [name for name in CLIENT.settable if name != "label"]
            differs = [name for name in settable if pair[1] and pair[0].get(name) != pair[1].get(name)]
            for side, client in zip(sides, pair):
                if client:
                    key = "new" if client["id"] is None else self.show(client)["key_fingerprint"] or "masked"
                    values = {name: escaped(client.get(name)) for name in differs}
                    side[escaped(name_of(client))] = {"key": key, **values} if differs else key
        return {"before": sides[0], "after": sides[1]}

    def key_owners(self) -> dict[str, str]:
        """Return the label for each key fingerprint. Leave out clients without a readable key or a label."""
        readable = (client for client in self._account.values() if client["id"] not in self.masked)
        return {fingerprint(client["api_key"]): client["label"] for client in readable if client["label"] is not None}
