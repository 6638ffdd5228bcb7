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
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import facts
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.client import Registered
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.facts import TRUSTS_MARKED
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import SENTINELS
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import setting_texts

# With two sets of placeholders, a filter that reduces a key to one character could go undetected.
_SETS = 4
# Placeholders choose among at least this many characters of a kind. If the secret has fewer, others are added, first
# those of hexadecimal and octal numbers.
_CHOICES = 6
_KINDS = ("1234567890", string.ascii_uppercase, string.ascii_lowercase)
# Digits that are valid in all forms of numbers and dates except binary; letters in these have a meaning, and stay.
_OF_NUMBERS = dict.fromkeys(string.digits, "123450")
# Prefixes such as 0x stay: with another prefix, YAML and number filters would read another type.
_PREFIX = re.compile(r"[-+]?0..|")
_ATTEMPTS = 100

_TEMPLATE = re.compile(r"\{[{%#]")

# Field name → secret or placeholder.
Fields = Mapping[str, str]


def as_data(value: t.Any) -> t.Any:
    """A value of the service for use as a variable: Ansible renders no string in it as a template.

    Values without template syntax are not marked, because ``ansible-inventory`` prints a marked string as a dictionary.
    """
    return wrap_var(value) if not TRUSTS_MARKED and _TEMPLATE.search(str(value)) else value


class Rendered(t.NamedTuple):
    """The text of a file, and ``pattern``, the text with sentinels, for :func:`key_detection.find_key_owner`.

    ``check`` raises InputError for a template that writes no secret, transforms one, or differs each time. It renders
    the template four times, so it is called only before a file is written.
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

    ``formats``: secrets of another client. If the client has no secrets yet, its placeholders have their format.
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
    text, pattern = (_filled(first, sets[0], values) for values in ({**SENTINELS, **client.secrets}, SENTINELS))

    def check() -> None:
        check_repeatable(raw, sets, name)
        if not any(sentinel in pattern for sentinel in SENTINELS.values()):
            raise InputError(
                f"Could not render {name}: it writes neither the api_key nor the install_code of client, so the agent "
                "would not report under this client. Write one or both, as {{ client.api_key }}."
            )

    return Rendered(text, pattern, check)


def check_repeatable(raw: t.Callable[[Fields], str], sets: Sequence[Fields], name: str) -> None:
    """Raise InputError if renderings with different placeholders differ in anything but the placeholders.

    A template that writes the time can differ within the first group of renderings, if a second passes; then the second
    group is equal.
    """
    groups = []
    for _group in range(2):
        groups.append([raw(given) for given in sets])
        if len({_filled(text, given, SENTINELS) for text, given in zip(groups[-1], sets, strict=True)}) == 1:
            return
    if groups[0] != groups[1]:
        raise InputError(
            f"Could not render {name}: the text differs each time, as with now() or random, so every run would change "
            "the file. Leave out what changes, or give random a seed."
        )
    raise InputError(
        f"Could not render {name}: it transforms the api_key or the install_code, as with b64encode, a hash, a slice, "
        "upper or sort. A template sees placeholders, which are replaced afterwards. Write the secrets unchanged."
    )


def placeholders(secret: str) -> tuple[str, ...]:
    """Four texts in the format of a secret that differ in each letter and digit; InputError if there are none.

    The texts depend on the secret alone. They have its type in YAML, and only its own letters, or digits, if
    it has six of them.
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
    raise InputError(
        "A secret of the client is a binary number to YAML, which no placeholder can replace in a template. Use "
        "content instead of template, or delete the client, so that the next run creates another."
    )


def replaced(text: str, given: Mapping[str, str]) -> str:
    """A text with each key of ``given`` replaced by its value, in one pass, plain and quoted for a URL."""
    forms = {form(old): form(new) for form in (_slashes_quoted, urllib.parse.quote, str) for old, new in given.items()}
    # Longest first, because one secret may be a part of the other.
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
    """The text of the option content, in which core has left @api_key@ and @install_code@.

    The text is not rendered again, because values in it may hold templates.
    """
    given = {field: f"@{field}@" for field in SENTINELS}
    # Before 2.19 core converts a text that resembles a dictionary or a list: convert it back, as ansible.builtin.copy.
    with _reported("content"):
        text = _checked(content if isinstance(content, str) else json.dumps(content))
    return Rendered(_filled(text, given, {**SENTINELS, **secrets}), _filled(text, given, SENTINELS), lambda: None)


@contextlib.contextmanager
def _reported(name: str, given: Fields | None = None) -> Iterator[None]:
    """Raise InputError for any error. The message has the names of fields instead of placeholders, for the reader."""
    try:
        yield
    except Exception as error:
        raise InputError(f"Could not render {name}: {redact(str(error), given or {})}") from None


def _checked(text: str) -> str:
    """The text; InputError if it has lone surrogates, which no file can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError("the text is not UTF-8. Convert the text.") from None
    return text


def _template_file(
    action: ActionBase, template: str, variables: Mapping[str, t.Any]
) -> t.Callable[[Mapping[str, t.Any]], str]:
    """A function that renders a file with more variables, by the look-up and trimming of ansible.builtin.template.

    The lookup ``template`` would copy all variables: with 2,000 registered clients it takes 15 ms instead of 1.3.
    """
    try:
        path = action._find_needle("templates", template)
    except AnsibleError:
        whole = f"{{{{ inventory_dir }}}}/templates/{os.path.basename(template)}"
        raise InputError(f"file not found. Write its whole path, such as {whole!r}") from None
    roots = [*variables.get("ansible_search_path", ()), action._loader.get_basedir(), os.path.dirname(path)]
    search = [found for root in roots for found in (os.path.join(root, "templates"), root)]
    text = _text_of(action, path)
    # The template reads the settings as agent_settings, which is not a variable, so facts in them are searched here.
    settings = {"agent_settings": variables.get("monitor_agent_settings")}
    names = facts.names_of_lookups([text], variables, settings)
    if message := facts.problem(variables["inventory_hostname"], variables, names):
        raise InputError(message)
    # Many templates begin with ansible_managed, core's deprecated setting; this is its default.
    known = {"ansible_managed": "Ansible managed", **variables}
    options: dict[str, t.Any] = {"trim_blocks": True, "newline_sequence": "\n"}

    def render_with(own: Mapping[str, t.Any]) -> str:
        given = {**known, **(own if TRUSTS_MARKED else wrap_var(own))}
        templar = action._templar.copy_with_new_env(searchpath=search, available_variables=given)
        if TRUSTS_MARKED:
            source = ansible_template.trust_as_template(text)
            rendered = templar.template(source, escape_backslashes=False, overrides=options)
        else:
            # Set the variables of the original templar too, because lookups in the copy read these.
            with action._templar.set_temporary_context(available_variables=given):
                # convert_data=False keeps a text that resembles a dictionary or a list.
                rendered = templar.template(text, escape_backslashes=False, overrides=options, convert_data=False)
        # Plain text, without the attributes that core keeps with a string.
        return "" if rendered is None else str.__str__(rendered) if isinstance(rendered, str) else str(rendered)

    return render_with


def _text_of(action: ActionBase, path: str) -> str:
    """The text of a file, which may be encrypted."""
    real = action._loader.get_real_file(path)
    try:
        with open(real, encoding="utf-8", newline="") as file:
            return file.read()
    except UnicodeDecodeError:
        raise InputError("the text is not UTF-8. Convert the text.") from None
    finally:
        with contextlib.suppress(OSError):
            action._loader.cleanup_tmp_file(real)
