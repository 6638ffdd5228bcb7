# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Differences between versions of ansible-core, plain arguments, environments of tasks, and silent connections."""

from __future__ import annotations

import contextlib
import os
import re
import typing as t
from collections.abc import Iterator, Mapping

from ansible import errors
from ansible import template as ansible_template
from ansible.plugins.action import ActionBase
from ansible.plugins.connection import ConnectionBase
from ansible.utils.unsafe_proxy import wrap_var

# ansible-core 2.19 and newer render only trusted strings. Older versions render all strings except unsafe strings.
TRUSTS_MARKED = hasattr(ansible_template, "trust_as_template")
# Since ansible-core 2.19, reading a variable that is omitted can raise this error.
OMITTED: type[Exception] | tuple[()] = getattr(errors, "AnsibleValueOmittedError", ())
TEMPLATE = re.compile(r"\{[{%#]")


def as_data(value: t.Any) -> t.Any:
    """Mark a value of the service, so that Ansible does not render templates in the value."""
    # Mark only strings with template syntax, because ansible-inventory prints a marked string as a dictionary.
    if TRUSTS_MARKED or not TEMPLATE.search(str(value)):
        return value
    return wrap_var(value)


def plain(value: t.Any) -> t.Any:
    """Return an argument as plain JSON data: strings without attributes of core, vaulted strings decrypted."""
    if isinstance(value, dict):
        return {_plain_name(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, str):
        # str() would keep the mark of an unsafe string.
        return str.__str__(value)
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)
    return None if value is None else str(value)


def is_omitted(value: t.Any, variables: Mapping[str, t.Any]) -> bool:
    """Return whether a variable has the value of ``default(omit)``. ``variables``: the variables of the host."""
    # Since ansible-core 2.19, this value has a type of its own. Before, it is the text of the variable omit.
    return type(value).__name__ == "_OmitType" or value == variables.get("omit", object())


def _plain_name(name: t.Any) -> t.Any:
    """Return a key of a dictionary as text. Keep other YAML values such as ``off``, so that checks can refuse them."""
    if name is None or isinstance(name, bool):
        return name
    return str(name)


def without_null(arguments: Mapping[str, t.Any], options: Mapping[str, Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Return the arguments without null values of options that have a default, so that the default is used."""
    given = {}
    for name, argument in arguments.items():
        option = options.get(name, {})
        value = argument
        if "options" in option and isinstance(argument, dict):
            value = without_null(argument, option["options"])
        is_text = option.get("type", "str") in ("str", "raw", "path")
        # Before ansible-core 2.19, a template turns null into an empty string.
        is_null = value is None or (value == "" and not is_text)
        if not is_null or option.get("default") is None:
            given[name] = value
    return given


@contextlib.contextmanager
def without_logging(connection: ConnectionBase) -> Iterator[None]:
    """Hide commands, and also the reasons of failures, in the verbose output of the connection."""
    context = connection._play_context
    before = context.no_log
    context.no_log = True
    try:
        yield
    finally:
        context.no_log = before


def given_environment(action: ActionBase) -> dict[str, str]:
    """Return the task's keyword ``environment``. Core sets these variables for modules, but not for actions."""
    given: dict[str, t.Any] = {}
    action._compute_environment_string(given)
    return {name: str(value) for name, value in given.items()}


@contextlib.contextmanager
def without_token() -> Iterator[None]:
    """Remove the token from the environment of this process: programs of a local connection inherit the environment.

    The programs su and ``sudo -E`` pass the environment to another user.
    """
    token = os.environ.pop("MONITOR_API_TOKEN", None)
    try:
        yield
    finally:
        # The next attempt of a task with ``until`` runs in the same process, and may need the token.
        if token is not None:
            os.environ["MONITOR_API_TOKEN"] = token
