# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Functions that read audits from files and variables on the controller, and write reports."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import secrets
import stat
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.patterns import matching
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._core import plain
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.slices import Slice, parse

# The limit in bytes is ten times the size of an audit of 10,000 hosts.
_LARGEST_AUDIT = 2**26


def read_slices(audits: Sequence[str], variables: Mapping[str, t.Any], pattern: str) -> list[Slice]:
    """Return audits from files (paths or patterns) and from matching variables. Do not render templates in audits."""
    names = sorted(matching(pattern, "audits_variables", list(map(str, variables))))
    if pattern and not names:
        raise InputError(
            f"No variable has a name that matches audits_variables {pattern!r}. Pass the artifacts of the audits to "
            "this run."
        )
    _check_no_facts(names, variables)
    given = [os.path.expanduser(audit) for audit in audits if audit]
    # The path of an existing file can contain characters such as *, so check for the file before the pattern.
    paths = [file for path in given for file in ([] if os.path.exists(path) else sorted(glob.glob(path))) or [path]]
    if not names and not paths:
        raise InputError(
            "There are no audits to join. Set audits to files that monitor_agent_audit_json wrote: "
            """-e '{"audits": ["audit-1.json", "audit-2.json"]}'."""
        )
    documents = {f"The variable {name}": plain(variables[name]) for name in names}
    documents |= {path: _read(path) for path in map(os.path.realpath, paths)}
    return [parse(name, document) for name, document in documents.items()]


def _check_no_facts(names: Sequence[str], variables: Mapping[str, t.Any]) -> None:
    """Raise InputError if the value of a variable comes from a fact: a host could forge the audits of other hosts."""
    facts = variables.get("ansible_facts") or {}
    for name in names:
        # Core removes the prefix from the names in ansible_facts.
        fact = facts.get(name, facts.get(name.removeprefix("ansible_")))
        if fact is not None and fact == variables[name]:
            raise InputError(
                f"The variable {name}, which matches audits_variables, is a fact of a host, so its audit cannot be "
                "trusted. No audit was joined. Choose another audits_variables, or set inject_facts_as_vars = false in "
                "ansible.cfg."
            )


def _read(path: str) -> t.Any:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            # To read a FIFO or a device, the task could wait forever.
            raise OSError(None, "the path is not a regular file")
        if os.path.getsize(path) > _LARGEST_AUDIT:
            raise ValueError
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except OSError as error:
        raise InputError(f"The audit {path} could not be read: {error.strerror}. Check the path.") from error
    except ValueError:
        raise InputError(
            f"The audit {path} is not valid JSON. Choose a file that monitor_agent_audit_json wrote, or audit again."
        ) from None


def write(path: str, text: str, mode: int | None = None) -> str:
    """Write a file on the controller atomically. If ``mode`` is None, the umask sets the permissions."""
    target = os.path.abspath(os.path.expanduser(path))
    # Use a random name: containers that write to one directory can have the same process id.
    temporary = f"{target}.{secrets.token_hex(4)}"
    try:
        if os.path.lexists(target) and not stat.S_ISREG(os.lstat(target).st_mode):
            # If root runs Ansible, os.replace would replace a device such as /dev/null by a file.
            raise FileExistsError(None, "the path is not a regular file")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(temporary, "x", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise InputError(
            f"The report could not be written to {target}: {error.strerror or error}. Choose another path, or give "
            "the user that runs Ansible write access."
        ) from error
    return target
