# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Templates: which strings are some, their variables, and the rendering of files and of other hosts' variables."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import typing as t
from collections.abc import Iterator, Mapping

import jinja2
from ansible import constants, template
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError

# Before 2.19 each string is a template unless it is marked as unsafe; since then, only one that is marked as trusted.
TRUSTS_ALL = not hasattr(template, "trust_as_template")
_TEMPLATE = re.compile(r"\{[{%#]")


def trusted(text: str) -> str:
    """A text of this collection or of its user as a template."""
    return text if TRUSTS_ALL else template.trust_as_template(text)


def as_data(value: t.Any) -> t.Any:
    """A value of the service, or of a host, as it may stand among variables: no string in it is a template.

    Others are not marked, because ``ansible-inventory`` prints a marked string as a dictionary.
    """
    return wrap_var(value) if TRUSTS_ALL and has_template(value) else value


def has_template(value: t.Any) -> bool:
    """Whether a value may be, or contain, a template."""
    return not isinstance(value, (int, float)) and bool(_TEMPLATE.search(str(value)))


def failed_to_render(rendered: t.Any) -> bool:
    """Whether what hostvars return is a template that fails: before 2.19 they return that unchanged."""
    return TRUSTS_ALL and has_template(rendered) and not getattr(rendered, "__UNSAFE__", False)


def plain(value: t.Any, *, decrypt: bool = True) -> t.Any:
    """An argument as JSON would carry it to a module: without what core keeps with strings, vaulted ones decrypted."""
    if isinstance(value, dict):
        return {str(name): plain(item, decrypt=decrypt) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, decrypt=decrypt) for item in value]
    if isinstance(value, str):
        # A string marked as unsafe remains so with str().
        return str.__str__(value)
    kind = next((kind for kind in (bool, int, float) if isinstance(value, kind)), str if decrypt else None)
    return value if value is None or kind is None else kind(value)


# A template that is only the name of a variable.
_VARIABLE = re.compile(r"\{\{\s*([a-z_][a-z0-9_]*)\s*\}\}")


def looked_up(value: t.Any, templar: t.Any) -> t.Any:
    """A variable's value for a template that is only its name: ``finalize_task_arg`` would compile each.

    That takes a hundred times as long: a steady run of 500 hosts takes 29.6 s of processor time instead of 26.8 s.
    """
    match = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
    return templar.available_variables.get(match[1], value) if match else value


# Of variables that are templates of other ones only.
_LONGEST_CHAIN = 10


def unrendered(value: t.Any, templar: t.Any) -> t.Any:
    """The value of the variable that a template names, or None; it may be data that no template is to be read from."""
    for _step in range(_LONGEST_CHAIN):
        match = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
        if not match:
            return value
        value = templar.available_variables.get(match[1])
    raise InputError(f"{value!r} names a variable that names itself. Set that variable to a value.")


def templar_with(action: ActionBase, variables: Mapping[str, t.Any], **options: t.Any) -> t.Any:
    """A templar with other variables than the action's."""
    own: t.Any = action._templar
    templar = own.copy_with_new_env(available_variables=variables, **options)
    if TRUSTS_ALL:
        # The copy has those of the original, which see its variables.
        lookups = {"lookup": templar._lookup, **dict.fromkeys(("query", "q"), templar._query_lookup)}
        templar.environment.globals = {**templar.environment.globals, **lookups}
    return templar


# The methods of core's display that show something.
_SHOWING = ("banner", "deprecated", "_deprecated_with_plugin_info", "display", "error", "system_warning", "warning")
# A call of such a method: its name and arguments.
DisplayCall = tuple[str, tuple[t.Any, ...], dict[str, t.Any]]


@contextlib.contextmanager
def collected_display(display: t.Any) -> Iterator[list[DisplayCall]]:
    """Collect what core and plugins would show, instead of showing it.

    They show parts of a template and of its variables by methods of the one display object, which no setting redirects.
    """
    calls: list[DisplayCall] = []

    def keep(name: str, *texts: t.Any, **options: t.Any) -> None:
        calls.append((name, texts, options))

    def keep_error(msg: str | None, exception: BaseException, **options: t.Any) -> None:
        keep("warning", f"{msg or ''} {exception}".strip())

    def keep_verbose(msg: str, host: str | None = None, caplevel: int = 2) -> None:
        # Core reports each step of a template here, mostly for a verbosity that is not set. 2.16 has one only.
        if max(display.verbosity, getattr(display, "log_verbosity", 0)) > caplevel:
            keep("verbose", msg, host=host, caplevel=caplevel)

    methods: dict[str, t.Any] = {name: functools.partial(keep, name) for name in _SHOWING}
    methods.update(error_as_warning=keep_error, verbose=keep_verbose, debug=lambda *texts, **options: None)
    printed = io.StringIO()
    vars(display).update(methods)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            yield calls
    finally:
        for name in methods:
            del vars(display)[name]
        if printed.getvalue():
            keep("warning", printed.getvalue())


# A rendered file, or the error, and the calls of the display during the rendering.
Rendered = tuple[str | None, Exception | None, list[DisplayCall]]


def render_file(
    action: ActionBase, template: str | None, content: t.Any, variables: Mapping[str, t.Any], own: Mapping[str, t.Any]
) -> Rendered:
    """Render a template file, or content, as ansible.builtin.template does: with the same look-up and trimming.

    ``own`` are data of the service beside the variables.
    """
    # The default of core's setting, which is deprecated, for the first line of many templates.
    known = {"ansible_managed": "Ansible managed", **variables, **as_data(own)}
    with collected_display(action._display) as shown:
        try:
            return _render(action, template, content, known), None, shown
        except Exception as error:
            return None, error, shown


def _render(action: ActionBase, template: str | None, content: t.Any, variables: dict[str, t.Any]) -> str:
    # Before 2.19 a text that resembles a dictionary or a list would become one.
    options: dict[str, t.Any] = {"convert_data": False} if TRUSTS_ALL else {}
    search = list(variables.get("ansible_search_path", []))
    text = content
    if template is not None:
        source = action._find_needle("templates", template)
        search += [action._loader.get_basedir(), os.path.dirname(source)]
        loader = action._loader
        # The first is new in 2.19.
        read = getattr(loader, "get_text_file_contents", lambda path: loader._get_file_contents(path)[0].decode())
        text = trusted(read(source))
        options["overrides"] = {"trim_blocks": True, "newline_sequence": "\n"}
    paths = [path for root in search for path in (os.path.join(root, "templates"), root)]
    templar = templar_with(action, variables, searchpath=paths)
    # A header sets options of a copy of the environment, which would inherit the function.
    if template is not None and not text.startswith("#jinja2:"):
        _share_compiled(templar, source, text)
    rendered = templar.template(text, escape_backslashes=False, **options)
    rendered = "" if rendered is None else str(plain(rendered))
    # 2.19 replaces bytes of a template file that are not UTF-8.
    if any("\ud800" <= character <= "\udfff" for character in rendered):
        raise InputError("it is not text in UTF-8. Convert it.")
    return rendered


def _share_compiled(templar: t.Any, path: str, text: str) -> None:
    """Let the first worker that compiles a template file leave the result to the others, each of which is for one host.

    In the private directory of the run. A steady run of 200 hosts takes 5.8 s of processor time instead of 6.2 s.
    """
    # Since 2.19 the public attribute is deprecated.
    environment: jinja2.Environment = templar.environment if TRUSTS_ALL else templar._engine.environment
    cache, compile_text = jinja2.FileSystemBytecodeCache(constants.DEFAULT_LOCAL_TMP), environment.compile  # type: ignore[attr-defined]

    def compiled(source: t.Any, *args: t.Any, **options: t.Any) -> t.Any:
        if source != text:
            return compile_text(source, *args, **options)
        # The disk may be full, and before Jinja 3.1.2 another worker may be writing the file. A template that fails to
        # compile fails again below.
        with contextlib.suppress(Exception):
            bucket = cache.get_bucket(environment, path, None, text)
            if bucket.code is None:
                bucket.code = compile_text(source, *args, **options)
                cache.set_bucket(bucket)
            return bucket.code
        return compile_text(source, *args, **options)

    environment.compile = compiled  # type: ignore[method-assign]
