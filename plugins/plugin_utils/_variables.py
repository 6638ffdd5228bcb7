# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables of a run: names that the role does not know, and clients with their secrets sealed (encrypted).

A registered variable is copied to all hosts, fact caches and callbacks, so only this run of Ansible can decrypt the
secrets in it. The key is made when the process that starts the workers loads a plugin, before the first fork; workers
inherit it, and it is written nowhere.
"""

from __future__ import annotations

import difflib
import json
import pathlib
import re
import typing as t
from collections.abc import Iterable, Mapping

from ansible.utils.display import Display

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import SECRET_FIELDS
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

try:
    from cryptography.fernet import Fernet, InvalidToken
except ImportError:
    # ansible-core requires it, so that this is true for sanity tests only.
    Fernet = None  # type: ignore[assignment, misc]

_FIELD = "sealed_keys"
if Fernet is not None:
    _FERNET = Fernet(Fernet.generate_key())
    # The first use takes 5 to 12 ms, each later one 0.7 ms: so the first one is here, and not in each worker.
    _FERNET.decrypt(_FERNET.encrypt(b""))
_ROLE = pathlib.Path(__file__).parents[2] / "roles" / "monitor_agent"
SPECS = (_ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
PREFIX = "monitor_agent_"
# Compared without the prefix, which all names have.
_SHORT = tuple(re.findall(rf"^ +{PREFIX}(\w+):$", SPECS, re.MULTILINE))
# The other names in the role's files are variables that it computes or registers. Read once, before the forks.
_KNOWN = {
    *(f"{PREFIX}{name}" for name in _SHORT),
    *(
        name
        for part in ("tasks", "vars", "handlers")
        for path in (_ROLE / part).glob("*.yml")
        for name in re.findall(r"\bmonitor_agent_\w+", path.read_text(encoding="utf-8"))
    ),
}


def warn_of_unknown(names: Iterable[str]) -> None:
    """Warn about each variable whose name resembles one of the role's. Core shows a text once for all hosts.

    Other variables with the prefix may be the user's own, for a template.
    """
    for name in names:
        if name.startswith(PREFIX) and name not in _KNOWN:
            short = name.removeprefix(PREFIX)
            # Words that are left out at the start make a long name differ much: html for audit_html.
            ends = [known for known in _SHORT if known.endswith(f"_{short}")]
            nearest = ends or difflib.get_close_matches(short, _SHORT, 1, cutoff=0.7)
            if nearest:
                Display().warning(
                    f"{name!r} is not a variable of the role monitor.cloud.monitor_agent; "
                    f"did you mean {' or '.join(repr(PREFIX + known) for known in nearest)}?"
                )


def seal(client: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The client with one sealed value in place of its secrets, if it has any."""
    secrets = {name: client[name] for name in SECRET_FIELDS if name in client}
    sealed = {_FIELD: _FERNET.encrypt(json.dumps(secrets).encode()).decode()} if secrets else {}
    return {**{name: value for name, value in client.items() if name not in secrets}, **sealed}


def unseal(client: Mapping[str, t.Any]) -> Mapping[str, t.Any]:
    """The client with its secrets; InputError if another run sealed them."""
    if _FIELD not in client:
        return client
    try:
        secrets = json.loads(_FERNET.decrypt(str(client[_FIELD])))
    except InvalidToken:
        raise InputError(
            f"The keys of client {client.get('label')!r} cannot be decrypted: another run of Ansible registered it. "
            "Register the clients again in this run."
        ) from None
    return {**{name: value for name, value in client.items() if name != _FIELD}, **secrets}
