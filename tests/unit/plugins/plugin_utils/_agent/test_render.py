# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# mypy: ignore-errors

"""Placeholders, and files that are rendered with them: each is the one that the real secrets make, or is refused."""

import re
import string
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.monitor.cloud.plugins.action.agent_config import ActionModule
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import render
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.client import Registered
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import SENTINELS
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import action_of

_HEX, _PLAIN = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9", "deadbeef0123456789deadbeef0123456789abcd"
# Keys and codes: as services make them, then with each sign, as a number and a date of YAML, and one in the other.
_PAIRS = [
    (_HEX, "C0DEC0DE-1111-2222-3333444455556666"),
    ("sk_live.Zm9vYmFyYmF6cXV4Cg==", "a~key.with:all/signs+and=more@x"),
    ("+1.2345678901234e+10", "2001-12-14T21:59:43.10"),
    (_HEX, _HEX[:18]),
]
_LETTERS = {*string.ascii_letters, *string.digits}


@given(st.from_regex(r"\A[A-Za-z0-9._~+/=:@-]{16,40}\Z").filter(lambda key: sum(c in _LETTERS for c in key) >= 8))
def test_placeholders_have_the_format_of_the_secret_and_differ_everywhere(secret: str) -> None:
    sets = render.placeholders(secret)
    assert {*"".join(sets)} <= {*secret, *"123456abcdefABCDEF"}
    assert len(sets) == 4 and sets == render.placeholders(secret)
    # In quotes or not: as text that YAML would read as a number needs them.
    assert {yaml.safe_dump(each).replace(each, secret) for each in sets} == {yaml.safe_dump(secret)}
    kept = 3 if re.match("[+-]?0", secret) else 0
    for position, (character, *others) in enumerate(zip(secret, *sets, strict=True)):
        if character not in _LETTERS:
            assert {*others} == {character}
        elif position > kept:
            assert len({*others}) == 4
            assert all(other.isdigit() == character.isdigit() for other in others)
            assert all(other.isupper() == character.isupper() for other in others)


def test_a_binary_number_has_no_placeholders() -> None:
    with pytest.raises(InputError, match="is a binary number to YAML"):
        render.placeholders("0b10101010101010101")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("key=@api_key@ {{ client.api_key }} @install_code@\n", f"key={_HEX} {{{{ client.api_key }}}} {_PLAIN}\n"),
        ({"key": "@api_key@"}, f'{{"key": "{_HEX}"}}'),
        (5, "5"),
    ],
)
def test_content_has_literal_placeholders(content: object, text: str) -> None:
    client = Registered("web1", {"id": 1, "api_key": _HEX, "install_code": _PLAIN}, {})
    unused: Any = None
    rendered = render.render(unused, {"template": None, "content": content, "settings": {}}, {}, client, {})
    rendered.check()
    assert rendered.text == text
    assert rendered.pattern == render.replaced(text, {_HEX: SENTINELS["api_key"], _PLAIN: SENTINELS["install_code"]})


Render = Callable[..., render.Rendered]


@pytest.fixture
def rendering(tmp_path: Path) -> tuple[Render, Callable[..., str]]:
    """A function that renders a text for a client, and one that does so with its secrets instead of placeholders."""
    path = tmp_path / "own.j2"
    (tmp_path / "other.j2").write_text("{{ client.install_code }} of {{ label }}")
    variables = {"inventory_hostname": "web1", "ansible_search_path": [str(tmp_path)]}
    action = action_of(ActionModule, {}, variables)
    action._task = types.SimpleNamespace(async_val=0, get_search_path=lambda: [str(tmp_path)], _role=None)
    options: dict[str, Any] = {"template": str(path), "content": None, "settings": {}}

    def with_placeholders(text: str, client: dict[str, Any], formats: dict[str, str] | None = None) -> render.Rendered:
        path.write_text(text)
        return render.render(action, options, variables, Registered("web-1", client, {}), formats or {})

    def directly(text: str, client: dict[str, Any]) -> str:
        path.write_text(text)
        return render._template_file(action, str(path), variables)({"client": client, "label": "web-1"})

    return with_placeholders, directly


# Written by each pair of secrets.
_WRITTEN = [
    "{{ KEY }}",
    "install_code={{ client.install_code }}\napi_key={{ KEY }}\n",
    "{{ label }} {{ client.label }} {{ client.id + 1 }} {{ client.apps.nginx }} {{ inventory_hostname }} {{ KEY }}",
    "{{ client | to_json }} {{ client | to_nice_json }}",
    "{{ {'key': KEY, 'code': client.install_code} | to_yaml }}",
    "{{ client | to_nice_yaml(indent=2) }}",
    "{{ (client | to_json | from_json).api_key }}",
    "curl https://x/?key={{ KEY | urlencode }}&{{ {'code': client.install_code} | urlencode }} {{ KEY | quote }}",
    "{{ client.command }}; {{ client.commands.0 }}",
    "{{ KEY }} {{ KEY | length }} {{ KEY is string }} {{ 'x' if KEY else 'y' }} {{ KEY is match('[A-Za-z0-9+~-]') }}",
    "{{ KEY | trim | string | default('x') | e }} {{ '%-60s' | format(KEY) }} {{ KEY | center(80) }}",
    "{% set key = KEY %}{% for each in [key, client.install_code] %}{{ each }};{% endfor %}",
    "{{ [KEY, client.install_code] | join(':') | indent(4) }} {{ KEY | list | join }}",
    "{{ KEY | regex_replace('^', 'x') }}",
    "{{ lookup('template', 'other.j2') }} {% include 'other.j2' %}",
    "{{ lookup('vars', 'client').api_key }} {{ lookup('items', client.install_code) }}",
    "{{ {'a': {'key': KEY}} | combine({'a': {'b': 1}}, recursive=true) | to_json }}",
    "{{ range(100) | random(seed=inventory_hostname) }} {{ now().strftime('%Y') }} {{ ansible_managed }} {{ KEY }}",
    "{# KEY #}{% raw %}{{ KEY }}{% endraw %} {{ KEY }}",
]
# Refused, unless they change nothing in this pair of secrets.
_TRANSFORMED = [
    *(f"{{{{ KEY | {each} }}}}" for each in (
        "b64encode", "hash('sha256')", "md5", "checksum", "upper", "lower", "capitalize", "title", "reverse",
        "sort | join", "unique | join", "first", "last", "truncate(12)", "wordwrap(10)", "regex_replace('-', '')",
        "replace('1', '2')", "regex_escape", "int(base=16)", "float", "split('-') | last", "to_uuid",
        "urlencode | upper", "list", "batch(8) | list", "hash('md5') | first",
    )),
    *(f"{{{{ KEY[{each}] }}}}" for each in (":8", "0", "5", "-1", "4:", ":-1", "::2", "::-1")),
    "{{ {'key': KEY[:12]} | to_yaml }} {{ KEY }}",
    "{{ client | to_json | b64encode }}",
    "{{ client.install_code | upper | lower }}",
    "{{ 1000000 | random(seed=KEY) }}",
    "{{ KEY.encode().hex() }}",
]  # fmt: skip


@pytest.mark.parametrize(("key", "code"), _PAIRS)
def test_a_file_is_the_one_that_the_secrets_make_or_refused(
    rendering: tuple[Render, Callable[..., str]], key: str, code: str
) -> None:
    with_placeholders, directly = rendering
    more = {"command": f"sh -c {code}", "commands": [f"a {key} b"], "apps": {"nginx": True}}
    client = {"id": 1, "label": "web-1", "api_key": key, "install_code": code, **more}
    refused = 0
    for number, text in enumerate(each.replace("KEY", "client.api_key") for each in (*_WRITTEN, *_TRANSFORMED)):
        try:
            rendered = with_placeholders(text, client)
            rendered.check()
        except InputError as error:
            # The first character of a number is the same in all placeholders.
            assert re.search("transforms the api_key or the install_code|writes neither", str(error)), text
            assert number >= len(_WRITTEN), text
            refused += 1
            continue
        assert rendered.text == directly(text, client), text
        assert key not in rendered.pattern
    assert refused > 15


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{ now().microsecond }}", "the text differs each time, as with now"),
        ("{{ client.api_key | shuffle | join }}", "the text differs each time, as with now"),
        ("api_key=a-key-as-text {{ label }}", "it writes neither the api_key nor the install_code"),
        # The secret is named instead of its placeholder.
        (
            "{{ no | mandatory('none: ' ~ client.api_key) }}",
            "Could not render the template .*own.j2: .*none: <api_key>",
        ),
        ("{{ client.more }}", "own.j2: the text is not UTF-8"),
    ],
)
def test_templates_that_are_refused(rendering: tuple[Render, Callable[..., str]], text: str, problem: str) -> None:
    client = {"id": 1, "api_key": _HEX, "install_code": _PLAIN, "more": "\ud800"}
    with pytest.raises(InputError, match=problem):
        rendering[0](text, client).check()


def test_a_second_that_passes_between_two_renderings_is_no_difference() -> None:
    sets = [{"api_key": placeholder} for placeholder in render.placeholders(_HEX)]
    times = iter("11222222")
    render.check_repeatable(lambda placeholders: f"{next(times)} {placeholders['api_key']}", sets, "x")
    times = iter("12121212")
    with pytest.raises(InputError, match="transforms"):
        render.check_repeatable(lambda placeholders: next(times), sets, "x")


@pytest.mark.parametrize("formats", [{}, {"api_key": _PLAIN, "install_code": "A" * 20}])
def test_a_client_without_secrets_has_placeholders_of_another_ones_format(
    rendering: tuple[Render, Callable[..., str]], formats: dict[str, str]
) -> None:
    client = {"id": None, "label": "web-1"}
    rendered = rendering[0]("{{ client.api_key }} {{ client.install_code }}", client, formats)
    rendered.check()
    assert rendered.text == rendered.pattern == " ".join(SENTINELS.values())
    lengths = rendering[0]("{{ client.api_key | length }} {{ client.install_code | length }}", client, formats).text
    assert lengths == ("40 20" if formats else "35 35")


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.j2"
    path.write_bytes("# café".encode("latin-1"))
    with pytest.raises(InputError, match="the text is not UTF-8. Convert the text."):
        render._text_of(action_of(ActionModule, {}, {}), str(path))
