# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read audits to join from files and variables on the controller, and write reports."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import secrets
import stat
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import matching
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.sealed_keys import plain
from ansible_collections.monitor.cloud.plugins.plugin_utils._audit.slices import Slice, parse

# Bytes: ten times the size of an audit of 10,000 hosts.
_LARGEST_AUDIT = 2**26


def read_slices(audits: Sequence[str], variables: Mapping[str, t.Any], pattern: str) -> list[Slice]:
    """Return audits from files (paths or patterns) and from matching variables. Does not render templates in audits."""
    names = sorted(matching(pattern, "audits_variables", list(map(str, variables))))
    if pattern and not names:
        raise InputError(
            f"No variable has a name that matches audits_variables {pattern!r}. Pass the artifacts of the audits on to "
            "this run."
        )
    paths = dict.fromkeys(os.path.realpath(path) for audit in audits for path in _paths(full_path(audit)))
    if not names and not paths:
        raise InputError(
            "There are no audits to join. Choose the files that monitor_agent_audit_json wrote: "
            """-e '{"audits": ["audit-1.json", "audit-2.json"]}'."""
        )
    documents = {f"The variable {name}": plain(variables[name]) for name in names} | {
        path: _read(path) for path in paths
    }
    return [parse(name, document) for name, document in documents.items()]


def full_path(path: str) -> str:
    """Return an absolute path. A relative path starts at the directory in which Ansible was started."""
    return os.path.abspath(os.path.expanduser(path))


def _paths(path: str) -> list[str]:
    """Return the path, or all matching paths if the path is a pattern."""
    paths = [path] if os.path.exists(path) or not glob.has_magic(path) else sorted(glob.glob(path))
    if not paths:
        raise InputError(f"No file matches {path}. Check the pattern, and that the audits have written their reports.")
    return paths


def _read(path: str) -> t.Any:
    try:
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
    target = full_path(path)
    # Use a random name: containers that write to one directory can have the same process id.
    temporary = f"{target}.{secrets.token_hex(4)}"
    try:
        if os.path.lexists(target) and not stat.S_ISREG(os.lstat(target).st_mode):
            # If root runs Ansible, os.replace would replace a device such as /dev/null by a file.
            raise InputError(
                f"The report could not be written to {target}: the path is not a regular file. Choose another path."
            )
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
            f"The report could not be written to {target}: {error.strerror or error}. Choose another path, or let the "
            "user that runs Ansible write there."
        ) from error
    return target
