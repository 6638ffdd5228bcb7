# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The text of an agent's configuration: rendered with placeholders, with the secrets put in afterwards.

So no message, warning or traceback of a template can show a secret, and the same rendering shows where a file has its
key.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import string
import typing as t
import urllib.parse
from collections.abc import Mapping

import yaml
from ansible import template
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import Pattern

# Before 2.19 each string is a template unless it is marked as unsafe; since then, only one that is marked as trusted.
_TRUSTS_ALL = not hasattr(template, "trust_as_template")
# Stand for the secrets of a client that has none yet, if no client of the account is readable.
UNKNOWN = {"api_key": "5E171A7E-0C3D-4A91-C0DE5E171A7EB2F6", "install_code": "5E171A7E-1B92-4A91-C0DE5E171A7E08D3"}
# Two were too few: they missed filters that reduce a key to one character.
_SETS = 4
_CLASSES = (string.ascii_uppercase, string.ascii_lowercase, string.digits)
# A number in YAML can begin so: 0x, 0o, 0b, or octal.
_PREFIX = re.compile(r"(0..)?")
_TRIES = 50

Secrets = Mapping[str, str]
Forms = tuple[t.Callable[[str], str], ...]
# As templates write values: plain, in quotes and in JSON they are the same for the characters of keys; and in URLs.
_FORMS: Forms = (str, urllib.parse.quote, lambda text: urllib.parse.quote(text, safe=""))


def as_data(value: t.Any) -> t.Any:
    """A value of the service as it may stand among variables: no string in it is a template.

    Others are not marked, because ``ansible-inventory`` prints a marked string as a dictionary.
    """
    return wrap_var(value) if _TRUSTS_ALL and re.search(r"\{[{%#]", str(value)) else value


class Template(t.NamedTuple):
    """A template file, or text with ``@api_key@`` and ``@install_code@``; its variables, and those of the service."""

    action: ActionBase
    file: str | None
    content: t.Any
    variables: Mapping[str, t.Any]
    client: Mapping[str, t.Any]
    # Of the client, or of another one with the same format.
    secrets: Secrets

    def text(self) -> str:
        """The text for a client that has the secrets; InputError if the template fails.

        It is rendered once: :func:`check` has to follow before the text is written.
        """
        return self._with(_placeholders(self.secrets)[0], self.secrets)

    def pattern(self) -> Pattern:
        """The text with placeholders."""
        placeholders = _placeholders(self.secrets)[0]
        return Pattern(self._rendered(placeholders), placeholders)

    def check(self) -> None:
        """InputError if the text depends on more than the secrets as they are, so that it could be a wrong one."""
        if self.file is None:
            return
        sets = _placeholders(self.secrets)
        # A second can pass between two renderings: a difference counts if it is there again.
        for _group in range(2):
            if len({self._with(placeholders, self.secrets) for placeholders in sets}) == 1:
                return
        if len({self._rendered(sets[0]) for _time in range(3)}) > 1:
            raise InputError(
                f"The template {self.file} makes another text each time, so each run would change the file. Take out "
                "what depends on time or chance."
            )
        raise InputError(
            f"The template {self.file} changes or encodes the api_key or the install_code, so the owner of a key could "
            "not be recognised. Write them as they are, without filters."
        )

    def _with(self, placeholders: Secrets, secrets: Secrets) -> str:
        """The text with the secrets in place of the placeholders, in one pass."""
        values = {form(placeholders[name]): form(secrets[name]) for name in placeholders for form in _FORMS}
        expression = "|".join(map(re.escape, sorted(values, key=len, reverse=True)))
        return re.sub(expression, lambda match: values[match[0]], self._rendered(placeholders))

    def _rendered(self, placeholders: Secrets) -> str:
        if self.file is None:
            content = self.content if isinstance(self.content, str) else json.dumps(self.content)
            for name, placeholder in placeholders.items():
                content = content.replace(f"@{name}@", placeholder)
            return content
        client = _replaced(self.client, {self.secrets[name]: value for name, value in placeholders.items()})
        # Those of a client without secrets are missing.
        own = {"client": {**client, **placeholders}, "label": self.client["label"]}
        try:
            return _render(self.action, self.file, {**self.variables, **as_data(own)})
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"Could not render the template {self.file}: {error}") from None


def _replaced(value: t.Any, placeholders: Mapping[str, str]) -> t.Any:
    """The value with placeholders in place of the secrets, in every string."""
    if isinstance(value, Mapping):
        return {name: _replaced(item, placeholders) for name, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, placeholders) for item in value]
    if not isinstance(value, str):
        return value
    expression = "|".join(map(re.escape, sorted(placeholders, key=len, reverse=True)))
    return re.sub(expression, lambda match: placeholders[match[0]], value)


def _render(action: ActionBase, file: str, variables: dict[str, t.Any]) -> str:
    """Render a template file as ansible.builtin.template does: with the same look-up and trimming."""
    try:
        source = action._find_needle("templates", file)
    except AnsibleError:
        path = f"{{{{ inventory_dir }}}}/templates/{os.path.basename(file)}"
        raise InputError(f"The template {file} is not found. Write its whole path, such as {path!r}.") from None
    loader = action._loader
    real = loader.get_real_file(source)
    try:
        with open(real, encoding="utf-8") as stream:
            text = stream.read()
    except ValueError:
        raise InputError(f"The template {file} is not text in UTF-8. Convert it.") from None
    finally:
        # A vaulted template has a decrypted copy.
        if real != source:
            loader.cleanup_tmp_file(real)
    search = [*variables.get("ansible_search_path", []), loader.get_basedir(), os.path.dirname(source)]
    paths = [path for root in search for path in (os.path.join(root, "templates"), root)]
    # The default of core's setting, which is deprecated, for the first line of many templates.
    known = {"ansible_managed": "Ansible managed", **variables}
    options: dict[str, t.Any] = {"overrides": {"trim_blocks": True, "newline_sequence": "\n"}}
    templar: t.Any = action._templar
    scope = contextlib.nullcontext()
    if _TRUSTS_ALL:
        # Lookups of the copy see the variables of the original. A text that resembles a dictionary would become one.
        scope = templar.set_temporary_context(available_variables=known)
        options["convert_data"] = False
    else:
        text = template.trust_as_template(text)
    with scope:
        copy = templar.copy_with_new_env(available_variables=known, searchpath=paths)
        rendered = copy.template(text, escape_backslashes=False, **options)
    # Without the marks of core.
    return "" if rendered is None else str.__str__(str(rendered))


def _placeholders(secrets: Secrets) -> list[Secrets]:
    """Sets of placeholders for secrets that have their format, and differ from each other in every place.

    A placeholder is made from its secret alone: equal secrets have equal ones, and check mode and run agree.
    """
    made = {secret: _placeholders_of(secret) for secret in secrets.values()}
    return [{name: made[secret][number] for name, secret in secrets.items()} for number in range(_SETS)]


def _placeholders_of(secret: str) -> list[str]:
    kind, prefix = type(_yaml(secret)), len(_PREFIX.match(secret)[0])  # type: ignore[index]
    for attempt in range(_TRIES):
        chance = random.Random(f"{secret} {attempt}")
        orders = [
            own * _SETS if place < prefix else _order(own, secret, chance, is_number=kind in (int, float))
            for place, own in enumerate(secret)
        ]
        found = ["".join(order[number] for order in orders) for number in range(_SETS)]
        if kind not in (str, int, float) or {type(_yaml(each)) for each in found} == {kind}:
            return found
    raise InputError("No placeholder could be made for a key of the client, because of its format. Report it.")


def _order(own: str, secret: str, chance: random.Random, *, is_number: bool) -> str:
    """The characters of the sets at a place: of the class of the secret's one, from the secret if it has enough."""
    members = next((each for each in _CLASSES if own in each), "")
    # Signs stay, and letters of what YAML reads as a number, which have a meaning.
    if not members or (is_number and not own.isdigit()):
        return own * _SETS
    if is_number:
        # Valid at each place of a number, also of one of hours, minutes and seconds.
        return "".join(chance.sample(sorted(set("12345") - {own}), _SETS))
    alphabet = (set(members) & set(secret)) - {own}
    return "".join(chance.sample(sorted(alphabet if len(alphabet) >= _SETS else set(members) - {own}), _SETS))


def _yaml(text: str) -> t.Any:
    with contextlib.suppress(ValueError, yaml.YAMLError):
        return yaml.safe_load(text)
    return text
