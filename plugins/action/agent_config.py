# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes an agent's configuration on a host: one command to look, one more to write where something differs."""

from __future__ import annotations

import os
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.template import trust_as_template

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError, TaskFailure
from ansible_collections.monitor.cloud.plugins.plugin_utils import _agent_config as config
from ansible_collections.monitor.cloud.plugins.plugin_utils import _host_file as host_file
from ansible_collections.monitor.cloud.plugins.plugin_utils._host_action import HostAction, takes_input, unlogged
from ansible_collections.monitor.cloud.plugins.plugin_utils._registration import (
    CLIENT_OPTIONS,
    MASKED,
    ONE_CLIENT,
    Registered,
    registered_client,
)

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ansible_collections.monitor.cloud.plugins.module_utils._reconcile import Change

_OPTIONS: dict[str, t.Any] = {
    "path": {"type": "str", "required": True},
    "template": {"type": "str"},
    **CLIENT_OPTIONS,
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "owner": {"type": "str"},
    "group": {"type": "str"},
    "mode": {"type": "raw", "default": "0600"},
    "create_directory": {"type": "bool", "default": True},
    "backup": {"type": "bool", "default": False},
}
# Made once, before the forks for the hosts.
_VALIDATOR = ArgumentSpecValidator(
    _OPTIONS,
    mutually_exclusive=ONE_CLIENT,
    required_if=[("state", "present", ["client", "registration"], True)],
)


class ActionModule(HostAction):
    _supports_async = False

    @classmethod
    def finalize_task_arg(cls, name: str, value: t.Any, templar: t.Any, context: t.Any) -> t.Any:
        """Leave ``content`` as it is: it is rendered later, when ``client`` and ``label`` are known."""
        return value if name == "content" else super().finalize_task_arg(name, value, templar, context)

    def act(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        options = self.options(_VALIDATOR, unchecked=["content"])
        _check_content(options)
        path = host_file.absolute(options["path"])
        if options["state"] == "absent":
            return self._remove(options, path, task_vars)
        registered = registered_client(options, task_vars, self.host_label(options, task_vars))
        if not self._task.check_mode:
            registered.check_readable()
        unknown = registered.pending or registered.masked
        # Rendered in any case: check mode has to find a template that fails.
        text = self._render(options, registered, task_vars, sentinels=unknown)
        wanted = config.Wanted(
            label=registered.label,
            key_fingerprint=registered.key_fingerprint,
            content=None if unknown else text,
            owner=config.check_owner(options["owner"], "owner"),
            group=config.check_owner(options["group"], "group"),
            mode=config.file_mode(options["mode"]),
        )
        return self._write(options, path, wanted, registered, task_vars)

    def _write(
        self,
        options: Mapping[str, t.Any],
        path: str,
        wanted: config.Wanted,
        registered: Registered,
        task_vars: dict[str, t.Any],
    ) -> dict[str, t.Any]:
        found = self._look(path)
        config.check_place(found, path, create_directory=options["create_directory"])
        if wanted.content is not None and found.digest == wanted.digest:
            key, differs = config.KeyOwner("own", wanted.label, wanted.key_fingerprint), False
        else:
            text = self._read(path, found)
            key = self._whose(found, text, options, registered, task_vars)
            differs = found.digest is not None or text != wanted.content
        if registered.masked:
            differing = config.differences(found, wanted, content_differs=False)
            return {**self._unverifiable(path, registered, key, text), "differs": differing}
        change = config.file_change(found, wanted, key, content_differs=differs)
        result = self._result(change, path, key)
        result["differs"] = config.differences(found, wanted, content_differs=differs)
        try:
            config.check_writable(change, found, path)
        except InputError as error:
            raise TaskFailure(str(error), {**result, "changed": False}) from None
        if change.changed and not self._task.check_mode:
            self._put(path, wanted, backup=options["backup"], task_vars=task_vars)
        return result

    def _remove(self, options: Mapping[str, t.Any], path: str, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        found = self._look(path)
        config.check_place(found, path)
        label = self.host_label(options, task_vars)
        try:
            registered = registered_client(options, task_vars, label)
        except InputError:
            # Then it can't be told whose the key is, which is no reason to leave the file there.
            registered = None
        key = self._whose(found, self._read(path, found), options, registered, task_vars)
        change = config.removal_change(found, label, key)
        config.check_writable(change, found, path)
        if change.changed and not self._task.check_mode:
            done = self.shell(host_file.remove_command(path))
            if not host_file.was_written(done.returncode, done.stdout):
                raise InputError(f"{path} could not be removed: {done.said}")
        return self._result(change, path, key)

    def _look(self, path: str) -> host_file.HostFile:
        done = self.shell(host_file.facts_command(path))
        found = host_file.parse_facts(done.stdout)
        if found is None:
            raise InputError(f"Could not look at {path}: {done.said}")
        return found

    def _read(self, path: str, found: host_file.HostFile) -> str | None:
        """The text of the file, or None if there is none, or none that can be read."""
        if found.kind not in ("file", "link"):
            return None
        with unlogged(self._connection):
            done = self.shell(host_file.read_command(path))
        if done.returncode != 0:
            return None
        # A terminal, which ssh allocates for commands without input, ends lines its own way.
        return done.stdout.replace("\r\n", "\n")

    def _whose(
        self,
        found: host_file.HostFile,
        text: str | None,
        options: Mapping[str, t.Any],
        registered: Registered | None,
        task_vars: dict[str, t.Any],
    ) -> config.KeyOwner:
        if text is None:
            return config.KeyOwner("unverifiable" if found.kind == "file" else "no_file")
        if registered is None:
            return config.KeyOwner("unverifiable")
        pattern = ""
        if options["template"] is not None or options["content"] is not None:
            pattern = self._render(options, registered, task_vars, sentinels=True)
        return config.whose_key(text, pattern, registered.key_fingerprint, registered.key_owners, registered.label)

    def _render(
        self,
        options: Mapping[str, t.Any],
        registered: Registered,
        task_vars: dict[str, t.Any],
        *,
        sentinels: bool = False,
    ) -> str:
        """The file for a client, as ansible.builtin.template renders: same look-up, same trimming."""
        client = config.with_sentinels(registered.client) if sentinels else dict(registered.client)
        variables = {**task_vars, "client": client, "label": registered.label}
        overrides: dict[str, t.Any] = {}
        search = list(task_vars.get("ansible_search_path", []))
        text = options["content"]
        if options["template"] is not None:
            source = ActionBase._find_needle(self, "templates", options["template"])
            search += [self._loader.get_basedir(), os.path.dirname(source)]
            text = trust_as_template(self._loader.get_text_file_contents(source))
            overrides = {"trim_blocks": True, "newline_sequence": "\n"}
        paths = [place for root in search for place in (os.path.join(root, "templates"), root)]
        templar = self._templar.copy_with_new_env(searchpath=paths, available_variables=variables)
        rendered = templar.template(text, escape_backslashes=False, overrides=overrides)
        return "" if rendered is None else str(rendered)

    def _put(self, path: str, wanted: config.Wanted, *, backup: bool, task_vars: dict[str, t.Any]) -> None:
        data = (wanted.content or "").encode("utf-8")
        if takes_input(self._connection):
            command = host_file.write_command(
                path, len(data), owner=wanted.owner, group=wanted.group, mode=wanted.mode, backup=backup
            )
            done = self.shell(command, data=data)
            if host_file.was_written(done.returncode, done.stdout):
                return
            if not host_file.needs_other_way(done.returncode, done.stdout):
                raise InputError(f"{path} could not be written: {done.said}")
        self._copy(path, wanted, backup=backup, task_vars=task_vars)

    def _copy(self, path: str, wanted: config.Wanted, *, backup: bool, task_vars: dict[str, t.Any]) -> None:
        """The way that needs Python on the host: for connections without standard input, and for mounted files."""
        done = self.shell(host_file.narrow_command(path))
        if done.returncode != 0:
            raise InputError(f"{path} could not be written: {done.said}")
        task = self._task.copy()
        # A diff would show the text of the file.
        task.diff = False
        given = {"owner": wanted.owner, "group": wanted.group}
        task.args = {
            "content": wanted.content,
            "dest": path,
            "mode": f"{wanted.mode:04o}",
            "backup": backup,
            "unsafe_writes": True,
            **{name: value for name, value in given.items() if value is not None},
        }
        copy = self._shared_loader_obj.action_loader.get(
            "ansible.legacy.copy",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        with unlogged(self._connection):
            result = copy.run(task_vars=task_vars)
        if result.get("failed"):
            raise InputError(f"{path} could not be written: {result.get('msg', 'ansible.builtin.copy failed')}")

    def _unverifiable(
        self, path: str, registered: Registered, key: config.KeyOwner, text: str | None
    ) -> dict[str, t.Any]:
        """Check mode where the keys are masked: the run would fail, and this says so without failing."""
        # The same for every host, so that it is shown once.
        self._display.warning(MASKED)
        state = key.state
        if state in ("unknown", "own") or (state == "no_key" and config.may_hold_key(text or "")):
            state = "unverifiable"
        return self._facts(path, registered.label, config.KeyOwner(state, key.label, key.fingerprint), changed=False)

    def _result(self, change: Change, path: str, key: config.KeyOwner) -> dict[str, t.Any]:
        result = self._facts(path, change.label, key, changed=change.changed)
        if self._task.diff:
            headers = {"before_header": path, "after_header": path}
            result["diff"] = {"before": change.before, "after": change.after, **headers}
        return result

    def _facts(self, path: str, label: str, key: config.KeyOwner, *, changed: bool) -> dict[str, t.Any]:
        return {
            "changed": changed,
            "path": path,
            "label": label,
            "key_owner": key.state,
            "owner_label": key.label,
            "key_fingerprint": key.fingerprint,
        }


def _check_content(options: Mapping[str, t.Any]) -> None:
    given = [name for name in ("template", "content") if options[name] is not None]
    if len(given) > 1 or not given and options["state"] == "present":
        raise InputError("Give either template or content: what the file has to hold.")
