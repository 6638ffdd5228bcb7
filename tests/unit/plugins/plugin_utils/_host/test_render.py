# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import base64
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.action.agent_config import ActionModule
from ansible_collections.monitor.cloud.plugins.module_utils._clients.placeholders import SENTINELS
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.client import Registered
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.render import Rendered
from ansible_collections.monitor.cloud.tests.unit.plugins.stub import action_of

_KEY = "0A1B2C3D-4E5F-6071-8293A4B5C6D7E8F9"
_CODE = "deadbeef0123456789deadbeef0123456789abcd"
_CLIENT = {"id": 1, "label": "web-1", "api_key": _KEY, "install_code": _CODE}


def _content(content: object, client: dict[str, Any] = _CLIENT) -> Rendered:
    unused: Any = None
    options = {"template": None, "content": content, "settings": None}
    return Rendered(unused, options, {}, Registered("web-1", client, {}))


def test_content_has_literal_placeholders() -> None:
    rendered = _content("key=@api_key@ {{ client.api_key }} @install_code@\n")
    assert rendered.text == f"key={_KEY} {{{{ client.api_key }}}} {_CODE}\n"
    sentinels = SENTINELS["api_key"], SENTINELS["install_code"]
    assert rendered.pattern == "key={} {{{{ client.api_key }}}} {}\n".format(*sentinels)
    assert _content({"key": "@api_key@"}).text == f'{{"key": "{_KEY}"}}'
    # Some services have no install codes.
    with pytest.raises(InputError, match="Could not render content: the client has no install_code"):
        assert _content("@install_code@", {**_CLIENT, "install_code": None}).text


Render = Callable[..., Rendered]


@pytest.fixture
def rendering(tmp_path: Path) -> Render:
    (tmp_path / "other.j2").write_text("{{ client.install_code }} of {{ label }}")
    variables = {"inventory_hostname": "web1", "ansible_search_path": [str(tmp_path)]}
    action = action_of(ActionModule, {}, variables)
    action._task = types.SimpleNamespace(async_val=0, get_search_path=lambda: [str(tmp_path)], _role=None)

    def render(text: str | bytes, client: dict[str, Any] | None = None, **settings: Any) -> Rendered:
        (tmp_path / "own.j2").write_bytes(text if isinstance(text, bytes) else text.encode())
        options = {"template": "own.j2", "content": None, "settings": settings}
        return Rendered(action, options, variables, Registered("web-1", client or _CLIENT, {}))

    return render


_RENDERED = {
    "api_key={{ KEY }}\n": f"api_key={_KEY}\n",
    "{% if true %}\n{{ label }} {{ client.label }} {{ client.id + 1 }}\n{% endif %}": "web-1 web-1 2\n",
    "{{ inventory_hostname }} {{ KEY | length }} {{ ansible_managed }}": "web1 35 Ansible managed",
    '#jinja2: variable_start_string: "[%", variable_end_string: "%]"\n[% KEY %] {{ label }}': f"{_KEY} {{{{ label }}}}",
    "{{ ('agent:' ~ KEY) | b64encode }}": base64.b64encode(f"agent:{_KEY}".encode()).decode(),
    "{{ KEY[:8] }}{{ 'same' if KEY == client.install_code else 'other' }}": f"{_KEY[:8]}other",
    "{{ lookup('template', 'other.j2') }} {% include 'other.j2' %}": f"{_CODE} of web-1 {_CODE} of web-1",
    "{{ lookup('vars', 'client').api_key }}": _KEY,
    "{{ client.command }}": f"install --key {_KEY}",
    "{{ agent_settings.b }}{{ agent_settings.a }} {{ agent_settings | list | first }} {{ KEY }}": f"1true a {_KEY}",
    "a\r\n{{ KEY }}": f"a\n{_KEY}",
}


@pytest.mark.parametrize(("text", "expected"), _RENDERED.items())
def test_a_template_uses_keys_as_other_variables(rendering: Render, text: str, expected: str) -> None:
    more = {"command": f"install --key {_KEY}", "notes": "rack 4\ncall Bob"}
    rendered = rendering(text.replace("KEY", "client.api_key"), {**_CLIENT, **more}, a=True, b=1)
    assert rendered.text == expected
    assert _KEY not in rendered.pattern and _CODE not in rendered.pattern
    assert (rendered.pattern != expected) is (not expected.startswith("web"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("api_key=a-key-as-text {{ label }}", "own.j2 writes neither the api_key nor the install_code"),
        ("{{ no | mandatory('none: ' ~ client.api_key) }}", "Could not render .*own.j2: .*none: <api_key>"),
        ("{{ client.more }}", "own.j2: .*surrogates not allowed"),
        ("{{ client.notes }}", "own.j2: .*no attribute 'notes'.* cannot use fields with control characters: 'notes'"),
        ("# café".encode("latin-1"), "own.j2: 'utf-8' codec can't decode"),
        ("{% if %}", "Could not render .*own.j2"),
    ],
)
def test_templates_that_are_refused(rendering: Render, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        rendering(text, {**_CLIENT, "more": "\ud800", "notes": "rack 4\ncall Bob"}).check()


def test_a_client_without_secrets_gets_placeholders(rendering: Render) -> None:
    rendered = rendering("{{ client.api_key }} {{ client.install_code | length }}", {"id": None, "label": "web-1"})
    rendered.check()
    key, length = rendered.text.split()
    assert (len(key), length) == (35, "35")
    assert key not in SENTINELS.values()
