# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write an agent's configuration on a host: one command for the facts, one more to write if something differs."""

from __future__ import annotations

import functools
import os
import typing as t

from ansible import constants
from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ansible_collections.monitor.cloud.plugins.doc_fragments._shared import ModuleDocFragment
from ansible_collections.monitor.cloud.plugins.module_utils._clients.changes import Change
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, TaskFailure
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import redact_all
from ansible_collections.monitor.cloud.plugins.modules import agent_config
from ansible_collections.monitor.cloud.plugins.plugin_utils import _core
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import decision, owners, remote_file, role
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.base import Completed, HostAction
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.client import ONE_CLIENT, Registered, secrets_in
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import KeyOwner, with_sentinels
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.shell import BEGUN

Options = t.Mapping[str, t.Any]
Variables = dict[str, t.Any]

_MOST_WARNINGS = 20
# A variable of the role's task that only inspects, and what the task before it registers.
_INSPECTS, _ACCOUNT = "monitor_agent_inspects", "monitor_agent_audit_account"


class ActionModule(HostAction):
    # Made once, before the forks for the hosts.
    VALIDATOR = _core.documented(
        agent_config.DOCUMENTATION,
        ModuleDocFragment.CLIENT,
        mutually_exclusive=[*ONE_CLIENT, ("registration", "restarted"), ("client", "restarted")],
        required_if=[("state", "present", ["client", "registration", "restarted"], True)],
    )
    _supports_async = False

    @classmethod
    def finalize_task_arg(cls, name: str, value: t.Any, templar: t.Any, context: t.Any) -> t.Any:
        """Leave ``content`` as it is: it is rendered later, when ``client`` and ``label`` are known."""
        return value if name == "content" else super().finalize_task_arg(name, value, templar, context)

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> dict[str, t.Any]:
        if not self._task.vars.get(_INSPECTS):
            return super().run(tmp, task_vars)
        try:
            result = super().run(tmp, task_vars)
        except AnsibleConnectionFailure as error:
            # As core makes it.
            result = {"unreachable": True, "msg": str(error)}
        # A later audit of the same run may leave the host out, and this result stays.
        return {**result, "use": (task_vars or {}).get(_ACCOUNT, {}).get("use")}

    def _checked_act(self, variables: Variables) -> dict[str, t.Any]:
        return role.configure(self, super()._checked_act, variables)

    def act(self, options: dict[str, t.Any], variables: Variables) -> dict[str, t.Any]:
        if options["restarted"] is not None:
            return self._remove_markers(options["path"], options["restarted"])
        given = [name for name in ("template", "content") if options[name] is not None]
        if len(given) > 1 or (not given and options["state"] == "present"):
            raise InputError("Give either template or content: it defines the text of the file.")
        if options["state"] == "absent":
            return self._remove(options["path"], options, variables)
        client = self.client(options, variables)
        if not self._task.check_mode:
            client.check_readable()
        unknown = client.pending or client.masked
        # Rendered in any case: check mode has to find a template that fails.
        text = self._render(options, client, variables, sentinels=unknown)
        desired = decision.desired_file(options, None if unknown else text)
        return self._converge(options, desired, client, variables)

    def act_on_windows(self, options: dict[str, t.Any], variables: Variables) -> dict[str, t.Any]:
        """Report ``absent`` for a Windows host: it has no configuration, but it may have a client."""
        if options["state"] != "absent":
            return super().act_on_windows(options, variables)
        nothing = Change("none", self.host_label(options, variables), {}, {})
        result = self._result(options["path"], decision.Decision(nothing, KeyOwner("no_file")))
        result.pop("diff", None)
        return result

    def _converge(
        self, options: Options, desired: decision.Desired, client: Registered, variables: Variables
    ) -> dict[str, t.Any]:
        # The host of a client that this run created has no file yet, most likely.
        created = self._create(desired) if client.new and not options["inspect_service"] else None
        found = self._inspect(desired.path, desired.service if options["inspect_service"] else "", created)
        if names := decision.other_owners(found, desired):
            done = self.shell(owners.same_owner_command(desired.path, names))
            found = found._replace(**owners.same_owner(done.stdout, names))
        text = None if desired.has_content(found) else self._read(desired.path, found)
        pattern = self._pattern(text, options, client, variables)
        decided = decision.decide(found, text, pattern, desired, client)
        result = {**self._result(desired.path, decided), "differs": decided.differences}
        if options["inspect_service"]:
            result["service_state"] = found.service
        if client.masked:
            # Check mode: the run would fail. The text is the same for every host, so that it is shown once.
            self._display.warning(client.predicted_problem)
            result.pop("diff", None)
        if decided.change.problem:
            raise TaskFailure(str(decided.change.problem), {**result, "changed": False})
        markers = found.markers
        if decided.writes and not self._task.check_mode:
            markers = self._put(desired, created, backup=options["backup"] and "content" in decided.differences)
        elif decided.writes and not self._task.vars.get(_INSPECTS):
            _check_done(self.shell(remote_file.enter_command(desired.path)), f"{desired.path} could not be written")
            self._warn_of_owner(desired, variables)
        if desired.service:
            result["restart_markers"] = list(markers)
        if decided.key.state == "other" and not client.masked:
            self._warn_of_clone(decided.key, client.label, variables)
        return result

    def _warn_of_owner(self, desired: decision.Desired, variables: Variables) -> None:
        """Warn in check mode if the host does not have the owner or group, or if this user can't give them files."""
        if not (desired.owner or desired.group):
            return
        done = self.shell(owners.owner_command(desired.owner, desired.group))
        if done.returncode == 1:
            host = variables["inventory_hostname"]
            self._warn(
                "owners",
                f"{desired.path} on {host} can't get its owner and group: {done.message} The run would fail, unless an "
                "earlier task of it adds them.",
                "More hosts do not have the owner or group, or can't give files to them.",
            )

    def _warn_of_clone(self, key: KeyOwner, label: str, variables: Variables) -> None:
        """Warn that the host carried another client's key. An audit reports it itself."""
        if self._task.vars.get(_INSPECTS) or (self._task.check_mode and not variables.get("ansible_check_mode")):
            return
        text = f"It now has the key of {label!r}."
        if self._task.check_mode:
            adopt = "If it was renamed, run monitor.cloud.adopt first: it keeps that client."
            text = f"It would get the key of {label!r}. {adopt}"
        self._warn(
            "clones",
            f"{variables['inventory_hostname']} carried the key of client {key.label!r}, so it reported as that one. "
            f"{text}",
            "More hosts carried keys of other clients: see key_owner in the results of the task.",
        )

    def _warn(self, kind: str, text: str, more: str) -> None:
        """Warn of the first hosts of a run; for the next one, show that there are ``more``."""
        # Each host has a process of its own: the length of a file in the run's own directory counts them.
        with open(os.path.join(constants.DEFAULT_LOCAL_TMP, f"monitor.cloud-{kind}"), "ab") as counter:  # type: ignore[attr-defined]
            counter.write(b".")
            counter.flush()
            number = counter.tell()
        if number <= _MOST_WARNINGS + 1:
            self._display.warning(text if number <= _MOST_WARNINGS else more)

    def _remove(self, path: str, options: Options, variables: Variables) -> dict[str, t.Any]:
        if options["registration"]:
            # The role's task that removes the clients runs once for all hosts, as the one that registers them.
            _core.check_linear(self._task)
        found = self._inspect(path)
        try:
            client = self.client(options, variables)
        except InputError:
            # The owner of the key is unknown; the file is removed in any case.
            client = None
        text = self._read(path, found)
        pattern = self._pattern(text, options, client, variables)
        decided = decision.decide_removal(found, text, pattern, path, self.host_label(options, variables), client)
        if decided.change.problem:
            raise decided.change.problem
        if decided.change.changed:
            command = remote_file.enter_command if self._task.check_mode else remote_file.remove_command
            _check_done(self.shell(command(path)), f"{path} could not be removed")
        return self._result(path, decided)

    def _remove_markers(self, path: str, markers: t.Sequence[str]) -> dict[str, t.Any]:
        """Remove the markers of restarts that were made."""
        command = remote_file.remove_command(path, markers)
        if markers and not self._task.check_mode:
            _check_done(self.shell(command), f"The restart markers of {path} could not be removed")
        return {"changed": False, "path": path}

    def _create(self, desired: decision.Desired) -> Completed | None:
        """Inspect the path and, if there is nothing, write the file; None if that takes more than one command."""
        if self._task.check_mode or not _core.takes_input(self._connection):
            return None
        write = _write_command(desired, backup=False)
        command = remote_file.create_command(desired.path, write(), create_directory=desired.create_directory)
        return self.shell(command, data=desired.data)

    def _inspect(self, path: str, service: str = "", created: Completed | None = None) -> remote_file.HostFile:
        """The facts of a path. A host that runs no command with standard input gives none when a file is created."""
        found = remote_file.parse_facts(created.stdout) if created else None
        if found is None:
            done = self.shell(remote_file.facts_command(path, service))
            found = remote_file.parse_facts(done.stdout)
            if found is None:
                raise InputError(f"Could not inspect {path}: {done.message}")
        return found

    def _read(self, path: str, found: remote_file.HostFile) -> str | None:
        """The text of the file, or None if there is none, or none that can be read."""
        if found.kind not in ("file", "link"):
            return None
        with _core.unlogged(self._connection):
            done = self.shell(remote_file.read_command(path))
        return remote_file.text_in(done.stdout) if done.returncode == 0 else None

    def _pattern(self, text: str | None, options: Options, client: Registered | None, variables: Variables) -> str:
        """The file rendered with placeholders, if that is needed to find a key in the text; empty if it fails."""
        has_template = options["template"] is not None or options["content"] is not None
        if text is None or client is None or not has_template:
            return ""
        return self._attempt(options, with_sentinels(client.client), client.label, variables)[0] or ""

    def _render(self, options: Options, client: Registered, variables: Variables, *, sentinels: bool) -> str:
        """The file for a client. Messages of core can hold its secrets, so those for placeholders are shown instead."""
        text = None
        if not sentinels:
            text, _error, shown = self._attempt(options, client.client, client.label, variables)
            if text is not None and not shown:
                return text
        predicted, error, shown = self._attempt(options, with_sentinels(client.client), client.label, variables)
        self._show(shown, client, variables)
        if sentinels:
            text = predicted
        if text is None and error is not None:
            what = "content" if options["template"] is None else f"the template {options['template']}"
            raise InputError(f"Could not render {what}: {error}") from None
        if text is None:
            raise InputError(
                "The template fails with the client's own api_key and install_code only. The reason is not shown, "
                "because it can hold them. Use a template that does nothing with them but write them."
            )
        return text

    def _show(self, calls: t.Sequence[_core.DisplayCall], client: Registered, variables: Variables) -> None:
        """Show the collected messages, without secrets of this client and of others in the variables."""
        held = "\n".join(str(text) for _name, texts, options in calls for text in (*texts, *options.values()))
        secrets = {**client.secrets, **secrets_in(held, variables)}
        for name, texts, options in calls:
            getattr(self._display, name)(*redact_all(texts, secrets), **redact_all(options, secrets))

    def _attempt(
        self, options: Options, client: t.Mapping[str, t.Any], label: str, variables: Variables
    ) -> _core.Rendered:
        # Core's own string as content, because only that is trusted as a template.
        content, own = self.arguments.get("content"), {"client": dict(client), "label": label}
        return _core.render_file(self, options["template"], content, variables, own)

    def _put(self, desired: decision.Desired, created: Completed | None, *, backup: bool) -> tuple[str, ...]:
        """Write the file unless the command ``created`` has, and return the markers that are beside it then."""
        write = _write_command(desired, backup=backup)
        done = created if created and BEGUN in created.stdout else None
        if done is None and _core.takes_input(self._connection):
            done = self.shell(write(), data=desired.data)
        if done is None or remote_file.got_no_input(done.returncode, done.stdout):
            done = self._put_through_a_file(write, desired.data)
        _check_done(done, f"{desired.path} could not be written")
        return remote_file.markers_in(done.stdout)

    def _put_through_a_file(self, write: t.Callable[..., str], data: bytes) -> Completed:
        """Write by a private temporary file, as core transfers modules: for connections without standard input."""
        directory = self._make_tmp_path()
        try:
            with _core.unlogged(self._connection):
                source = self._transfer_data(self._connection._shell.join_path(directory, "content"), data)
            # With this setting of core, all users of the host could read the file.
            self._connection._shell.set_option("world_readable_temp", False)
            try:
                self._fixup_perms2((directory, source))
            except AnsibleError as error:
                raise InputError(
                    f"The content can't be passed on privately: {error}. allow_world_readable_tmpfiles has no effect, "
                    "because the content holds keys. Install setfacl on the host, or use a become method that passes "
                    "standard input, such as sudo without requiretty."
                ) from None
            return self.shell(write(source=source))
        finally:
            self._remove_tmp_path(directory)

    def _result(self, path: str, decided: decision.Decision) -> dict[str, t.Any]:
        change, key = decided.change, decided.key
        result: dict[str, t.Any] = {
            "changed": change.changed,
            "path": path,
            "label": change.label,
            "key_owner": key.state,
            "owner_label": key.label,
            "key_fingerprint": key.fingerprint,
        }
        if self._task.diff:
            before, after = (
                {name: value for name, value in facts.items() if value is not None}
                for facts in (change.before, change.after)
            )
            result["diff"] = {"before": before, "after": after, "before_header": path, "after_header": path}
        return result


def _write_command(desired: decision.Desired, *, backup: bool) -> t.Callable[..., str]:
    """The writing command, which can be given the source of the content."""
    return functools.partial(
        remote_file.write_command,
        desired.path,
        len(desired.data),
        owner=desired.owner,
        group=desired.group,
        mode=desired.mode,
        backup=backup,
        restart=bool(desired.service),
    )


def _check_done(done: Completed, failure: str) -> None:
    if not remote_file.was_written(done.returncode, done.stdout):
        problem = remote_file.problem(done.returncode)
        message = done._replace(stdout=done.stdout.rpartition(BEGUN)[2]).message
        raise InputError(f"{failure}: {message if problem is None else problem + '.'}")
