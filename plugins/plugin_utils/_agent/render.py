# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The text of a configuration, from a template that sees placeholders in place of its client's secrets.

The secrets are put in after the rendering, so no error, warning or verbose output of a template can hold one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import string
import typing as t
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence

import yaml
from ansible import template as ansible_template
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import redact
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.client import Registered
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import SENTINELS
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import setting_texts

# Since 2.19 a string is a template only if it is marked as trusted; before, unless it is marked as unsafe.
TRUSTS_MARKED = hasattr(ansible_template, "trust_as_template")
# Two sets of placeholders do not notice each filter that reduces a key to one character.
_SETS = 4
# Characters of a kind among which placeholders choose. Others are added if the secret has fewer, those of hexadecimal
# and octal numbers first.
_CHOICES = 6
_KINDS = ("1234567890", string.ascii_uppercase, string.ascii_lowercase)
# Digits of all forms of numbers and dates but binary ones, whose letters have a meaning.
_OF_NUMBERS = dict.fromkeys(string.digits, "123450")
# Such as 0x: with other characters, YAML and number filters would read another type.
_PREFIX = re.compile(r"[-+]?0..|")
_ATTEMPTS = 100

_TEMPLATE = re.compile(r"\{[{%#]")

# A text or a placeholder by the name of its field.
Fields = Mapping[str, str]


def as_data(value: t.Any) -> t.Any:
    """A value of the service as it may stand among variables: no string in it is a template.

    Others are not marked, because ``ansible-inventory`` prints a marked string as a dictionary.
    """
    return wrap_var(value) if not TRUSTS_MARKED and _TEMPLATE.search(str(value)) else value


class Rendered(t.NamedTuple):
    """The text of a file, and the same with sentinels in place of the secrets: see :func:`key_detection.whose_key`.

    ``check`` raises InputError for a template that transforms a secret, or gives another text each time. It renders
    four times, so it is for hosts whose file is going to be written.
    """

    text: str
    pattern: str
    check: t.Callable[[], None]


def render(
    action: ActionBase,
    options: Mapping[str, t.Any],
    variables: Mapping[str, t.Any],
    client: Registered,
    formats: Fields,
) -> Rendered:
    """Render the template or the content that the options give. InputError if the template fails.

    ``formats`` are secrets by which the placeholders of a client are made that has none yet.
    """
    settings = setting_texts(options["settings"])
    if options["template"] is None:
        if settings:
            raise InputError("settings can't be used with content. Write them into content, or use template.")
        return _of_content(options["content"], client.secrets)
    secrets = {**SENTINELS, **formats, **client.secrets}
    sets = [
        dict(zip(secrets, values, strict=True)) for values in zip(*map(placeholders, secrets.values()), strict=True)
    ]
    name = f"the template {options['template']}"
    with _reported(name):
        render_with = _template_file(action, options["template"], variables)

    def raw(given: Fields) -> str:
        by_secret = {secrets[field]: placeholder for field, placeholder in given.items()}
        with _reported(name, given):
            seen = {**_in_all_strings(client.client, by_secret), **given}
            return _checked(render_with({"client": seen, "label": client.label, "agent_settings": settings}))

    first = raw(sets[0])
    text = _filled(first, sets[0], {**SENTINELS, **client.secrets})
    return Rendered(text, _filled(first, sets[0], SENTINELS), lambda: check_repeatable(raw, sets, name))


def check_repeatable(raw: t.Callable[[Fields], str], sets: Sequence[Fields], name: str) -> None:
    """Raise InputError unless renderings with different placeholders differ in nothing but these.

    A second may pass between two renderings of a group, for a template that writes the time. The next group has then
    one text.
    """
    groups = []
    for _group in range(2):
        groups.append([raw(given) for given in sets])
        if len({_filled(text, given, SENTINELS) for text, given in zip(groups[-1], sets, strict=True)}) == 1:
            return
    if groups[0] != groups[1]:
        raise InputError(
            f"Could not render {name}: its text is another one each time, as with now() or random, so every run would "
            "change the file. Leave out what changes, or give random a seed."
        )
    raise InputError(
        f"Could not render {name}: it transforms the api_key or the install_code, as with b64encode, a hash, a slice, "
        "upper or sort. A template sees placeholders, which are replaced afterwards. Write both as they are."
    )


def placeholders(secret: str) -> tuple[str, ...]:
    """Four texts in the format of a secret, which differ from each other in each letter and digit.

    They depend on the secret alone, and have its letters and digits if it has enough of a kind, and its type in YAML.
    """
    kept = _PREFIX.match(secret).end()  # type: ignore[union-attr]
    by_kind = {character: found for kind in _KINDS for found in [_choices(secret[kept:], kind)] for character in kind}
    for choices in (by_kind, _OF_NUMBERS):
        for attempt in range(_ATTEMPTS):
            data = f"{attempt} {secret}".encode("utf-8", "surrogatepass")
            numbers = hashlib.shake_256(data).digest(_SETS * len(secret))
            columns = [
                _picked(choices[character], numbers[position * _SETS :][:_SETS])
                if position >= kept and character in choices
                else [character] * _SETS
                for position, character in enumerate(secret)
            ]
            sets = tuple(map("".join, zip(*columns, strict=True)))
            if {*map(_yaml_type, sets)} == {_yaml_type(secret)}:
                return sets
    raise InputError("A secret of the client has the form of a binary number, for which there are no placeholders.")


def replaced(text: str, given: Mapping[str, str]) -> str:
    """A text with other values in place of those given, in one pass, also where they are quoted for a URL."""
    forms = {form(old): form(new) for form in (_slashes_quoted, urllib.parse.quote, str) for old, new in given.items()}
    # A secret may be a part of the other one.
    either = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
    return re.sub(either, lambda match: forms[match[0]], text)


def _slashes_quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _in_all_strings(value: t.Any, given: Mapping[str, str]) -> t.Any:
    if isinstance(value, str):
        return replaced(value, given)
    if isinstance(value, Mapping):
        return {_in_all_strings(name, given): _in_all_strings(item, given) for name, item in value.items()}
    return [_in_all_strings(item, given) for item in value] if isinstance(value, (list, tuple)) else value


def _choices(text: str, kind: str) -> list[str]:
    own = sorted({*text} & {*kind})
    return own + [character for character in kind if character not in own][: max(0, _CHOICES - len(own))]


def _picked(choices: t.Iterable[str], numbers: bytes) -> list[str]:
    rest = list(choices)
    return [rest.pop(number % len(rest)) for number in numbers]


def _yaml_type(text: str) -> str | None:
    resolvers = yaml.SafeLoader.yaml_implicit_resolvers.get(text[:1], ())
    return next((tag for tag, expression in resolvers if expression.match(text)), None)


def _filled(text: str, given: Fields, values: Fields) -> str:
    return replaced(text, {placeholder: values[field] for field, placeholder in given.items()})


def _of_content(content: t.Any, secrets: Fields) -> Rendered:
    """Content that core has rendered, with the task's other arguments: it has literal placeholders.

    It is not rendered again, because values in it may hold templates.
    """
    given = {field: f"@{field}@" for field in SENTINELS}
    # Before 2.19 core makes a dictionary or a list of a text that resembles one, as for ansible.builtin.copy.
    with _reported("content"):
        text = _checked(content if isinstance(content, str) else json.dumps(content))
    return Rendered(_filled(text, given, {**SENTINELS, **secrets}), _filled(text, given, SENTINELS), lambda: None)


@contextlib.contextmanager
def _reported(name: str, given: Fields | None = None) -> Iterator[None]:
    """Raise InputError for what fails. Placeholders are no secrets, but they mean nothing to a reader."""
    try:
        yield
    except Exception as error:
        raise InputError(f"Could not render {name}: {redact(str(error), given or {})}") from None


def _checked(text: str) -> str:
    """The text, or InputError if it has single surrogates, which no file can have."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError("it is not text in UTF-8. Convert it.") from None
    return text


def _template_file(
    action: ActionBase, template: str, variables: Mapping[str, t.Any]
) -> t.Callable[[Mapping[str, t.Any]], str]:
    """What renders a file as ansible.builtin.template does, with the same look-up and trimming, for more variables.

    The lookup ``template`` would copy all variables: 15 ms instead of 1.3 with 2,000 registered clients.
    """
    try:
        path = action._find_needle("templates", template)
    except AnsibleError:
        whole = f"{{{{ inventory_dir }}}}/templates/{os.path.basename(template)}"
        raise InputError(f"it is not found. Write its whole path, such as {whole!r}") from None
    roots = [*variables.get("ansible_search_path", ()), action._loader.get_basedir(), os.path.dirname(path)]
    search = [found for root in roots for found in (os.path.join(root, "templates"), root)]
    text = _text_of(action, path)
    # The default of core's setting, which is deprecated, for the first line of many templates.
    known = {"ansible_managed": "Ansible managed", **variables}
    options: dict[str, t.Any] = {"trim_blocks": True, "newline_sequence": "\n"}

    def render_with(own: Mapping[str, t.Any]) -> str:
        given = {**known, **(own if TRUSTS_MARKED else wrap_var(own))}
        templar = action._templar.copy_with_new_env(searchpath=search, available_variables=given)
        if TRUSTS_MARKED:
            source = ansible_template.trust_as_template(text)
            rendered = templar.template(source, escape_backslashes=False, overrides=options)
        else:
            # Lookups of the copy have the variables of the original.
            with action._templar.set_temporary_context(available_variables=given):
                # A text that resembles a dictionary or a list would become one.
                rendered = templar.template(text, escape_backslashes=False, overrides=options, convert_data=False)
        # Without what core keeps with a string.
        return "" if rendered is None else str.__str__(rendered) if isinstance(rendered, str) else str(rendered)

    return render_with


def _text_of(action: ActionBase, path: str) -> str:
    """The text of a file, which may be encrypted."""
    real = action._loader.get_real_file(path)
    try:
        with open(real, encoding="utf-8", newline="") as file:
            return file.read()
    except UnicodeDecodeError:
        raise InputError("it is not text in UTF-8. Convert it.") from None
    finally:
        with contextlib.suppress(OSError):
            action._loader.cleanup_tmp_file(real)
