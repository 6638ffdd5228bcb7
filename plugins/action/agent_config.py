# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write an agent's configuration on a host: one shell command reads its facts, another writes if something differs."""

from __future__ import annotations

import contextlib
import functools
import os
import typing as t

from ansible.errors import AnsibleError

from ansible_collections.monitor.cloud.plugins.doc_fragments._shared import ModuleDocFragment
from ansible_collections.monitor.cloud.plugins.module_utils._clients.fields import check_label, check_own, client_label
from ansible_collections.monitor.cloud.plugins.module_utils._module import ACCOUNT_OPTIONS, account_fingerprint
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError, TaskFailure
from ansible_collections.monitor.cloud.plugins.modules import agent_config
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import decision, owners, remote_file, render
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.base import (
    HostAction,
    Result,
    documented,
    passes_stdin,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.client import (
    ONE_CLIENT,
    Registered,
    registered_result,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.key_detection import SENTINELS, KeyOwner
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import (
    LARGEST_FILE,
    Desired,
    absolute,
    desired_file,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.sealed_keys import given_environment, without_logging
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.shell import Completed


class ActionModule(HostAction):
    # Built when core loads the plugin, before it forks: once, not for each host.
    VALIDATOR = documented(
        agent_config.DOCUMENTATION,
        ModuleDocFragment.CLIENT,
        mutually_exclusive=[*ONE_CLIENT, ("registration", "restarted"), ("client", "restarted")],
        required_if=[("state", "present", ["client", "registration", "restarted"], True)],
    )
    _supports_async = False

    def act(self) -> Result:
        options = self.options
        if options["restarted"] is not None:
            return self._remove_markers(options["restarted"])
        given = [name for name in ("template", "content") if options[name] is not None]
        if len(given) > 1 or (not given and options["state"] == "present"):
            raise InputError("Give either template or content: it defines the text of the file.")
        absolute(options["path"])
        self._check_use()
        if options["state"] == "absent":
            return self._remove(options["path"])
        check_own(self.client.label)
        self._show_derived()
        if not (self._task.check_mode or self.client.missing):
            self.client.check_readable()
        # Render for a host without a client too: a template that fails must be found before the client is created.
        text = self._rendered.text
        result = self._converge(desired_file(options, text, is_known=self.client.state == "readable"))
        if self.client.missing:
            # Without a client nothing was written, so there is no change to report.
            result.update(changed=False)
            result.pop("diff", None)
        return result

    def _show_derived(self) -> None:
        """Show the label of a host that has no client yet, if it is not the host's name."""
        host, label = self.variables["inventory_hostname"], self.host_label
        if self.client.missing and not self._audits and not self.options["inventory_label"] and label != host:
            text = (
                f"{host} gets a client with the label {label}, derived from its name; monitor_agent_label sets another."
            )
            # On standard error, because other programs may parse standard output as JSON.
            self._display.display(text, stderr=True)

    def _check_use(self) -> None:
        """InputError if label, account or an earlier use of the role would give the host another client than before."""
        options, host = self.options, self.variables["inventory_hostname"]
        own = options["inventory_label"]
        if own is not None and client_label(host, own) != self.host_label:
            raise InputError(
                f"The play, or a task, gives {host} the label {self.host_label!r}, the inventory {own or 'none'!r}. So "
                "several hosts could get one client. Set monitor_agent_label in the inventory."
            )
        # Compare the account for a removal too: the client would not be found in another account, and would stay.
        read = self._registration
        known = read.get("account_fingerprint")
        if known and any(options[name] is not None for name in ("inventory_label", *ACCOUNT_OPTIONS)):
            environment = {**os.environ, **given_environment(self)}
            chosen = {name: options[name] or environment.get(f"MONITOR_{name.upper()}") for name in ACCOUNT_OPTIONS}
            if account_fingerprint({**chosen, "brand": chosen["brand"] or "monitor"}) != known:
                raise InputError(
                    f"{host} uses another account than the first host of its batch: base_url, api_token or brand "
                    "differ. Split the play by account, or run once for each account with --limit."
                )
        if options["state"] == "absent" and read.get("read_only") and self._has_client():
            raise InputError(
                f"The token has read-only access, so the client of {host} can't be deleted. Nothing was removed. Use a "
                "token with read-write access."
            )
        removed = self.variables.get(str(options["removed"])) or ()
        if options["state"] == "present" and f"{known} {self.host_label}" in removed:
            raise InputError(
                f"This run has removed the client of {host} by monitor_agent_state: absent, and each run would delete "
                "and create it. To move a configuration, remove the old file with ansible.builtin.file instead."
            )
        if known and host not in self.variables["ansible_play_batch"]:
            # In rescue and always, after a task with run_once failed, core leaves out all hosts but the first.
            raise InputError(f"{host} is not in the batch any more, because an earlier task failed. Run again.")

    @property
    def _registration(self) -> t.Mapping[str, t.Any]:
        """The result that the option registration names; empty without the option."""
        name = self.options["registration"]
        return registered_result(name, self.variables) if name else {}

    def _has_client(self) -> bool:
        with contextlib.suppress(InputError):
            return not self.client.missing
        return False

    def _remove_markers(self, markers: t.Sequence[str]) -> Result:
        """Remove the markers of completed restarts."""
        command = remote_file.remove_command(self.options["path"], markers)
        if markers and not self._task.check_mode:
            remote_file.check_done(
                self.shell(command), f"The restart markers of {self.options['path']} could not be removed"
            )
        return {"changed": False, "path": self.options["path"]}

    def act_without_shell(self, kind: str) -> Result:
        """Report ``absent`` for a host without a POSIX shell: it has no configuration, but may have a client."""
        if self.options["state"] != "absent":
            return super().act_without_shell(kind)
        self._check_use()
        return self._result(decision.Decision(KeyOwner("no_file"), False, {}, {}), self.host_label)

    def _converge(self, desired: Desired) -> Result:
        client, path = self.client, desired.path
        required = {name: self.options[f"service_{name}"] for name in ("started", "enabled")}
        inspects = self.options["inspect_service"] and any(required.values())
        found = self._inspect(path, desired.service if inspects else "")
        if decision.permissions(found, desired):
            names = decision.other_owners(found, desired)
            done = self.shell(owners.permissions_command(path, names))
            found = found._replace(**owners.permissions_in(done.stdout, names, found.mode))
        # A file as desired has the host's own key only if the template writes the key of the client.
        is_own = SENTINELS["api_key"] in self._rendered.pattern and decision.has_content(found, desired)
        text, pattern = (None, "") if is_own else self._read(found, client)
        decided = decision.decide(found, text, pattern, desired, client)
        differences = {"differs": decided.differences, "permissions": decision.permissions(found, desired)}
        result = {**self._result(decided, client.label), **differences}
        if inspects:
            result["service_state"] = found.service
            result["service_differs"] = decision.service(found, **required)
        if client.state == "masked":
            # Check mode warns that the run would fail; the same text for every host, because core shows it once.
            self._display.warning(client.predicted_problem)
            result.pop("diff", None)
        if decided.problem:
            raise TaskFailure(decided.problem, {**result, "changed": False})
        markers = found.markers
        if decided.writes and not self._audits:
            self._check_machine(decided.key)
            self._rendered.check()
            backup = "content" in decided.differences and self._backs_up(found)
            if self._only_checks:
                done = self.shell(remote_file.enter_command(path))
                remote_file.check_done(done, f"{path} could not be written")
            result["owner_missing"] = self._lacks_owner(desired)
            if result["owner_missing"]:
                result["changed"] = self._task.check_mode
            elif not self._only_checks:
                markers = self._put(desired, backup=backup)
        if desired.service:
            result["restart_markers"] = list(markers)
        self._warn_of_clone(decided.key)
        return result

    def _backs_up(self, found: remote_file.HostFile) -> bool:
        """Whether a changed file is kept; InputError if it is too large, because its owner could fill the disk."""
        if self.options["backup"] and (found.size or 0) > LARGEST_FILE:
            raise InputError(f"{self.options['path']} is too large for a backup. Move it away, or set backup: false.")
        return bool(self.options["backup"])

    @property
    def _only_checks(self) -> bool:
        """Whether the host is only checked: in check mode, or because it has no client yet."""
        return self._task.check_mode or self.client.missing

    @property
    def _audits(self) -> bool:
        """Whether the task but not the run is in check mode: an audit, which reports facts and predicts nothing."""
        return self._task.check_mode and not self.variables.get("ansible_check_mode")

    def _lacks_owner(self, desired: Desired) -> bool:
        """Whether the host lacks the owner or group, which an installation after this task can add.

        InputError if no installation follows, or if this user can't give files to them; in check mode a warning,
        because an earlier task of the run may add them. A write needs no such check, because it fails by itself.
        """
        is_before = self.options["before_install"]
        if not (desired.owner or desired.group) or not (self._only_checks or is_before):
            return False
        done = self.shell(owners.owner_command(desired.owner, desired.group))
        if is_before and done.returncode == owners.UNKNOWN:
            return True
        if done.returncode in (1, owners.UNKNOWN):
            host = self.variables["inventory_hostname"]
            problem = f"{desired.path} on {host} can't get its owner and group: {done.message}"
            if not self._task.check_mode:
                raise InputError(f"{problem} Create them on the host, or choose others.")
            self._display.warning(f"{problem} The run would fail, unless an earlier task adds owner and group.")
        return False

    def _host_of(self, label: str | None) -> str | None:
        """Another host of the play whose name gives this label; None if there is none."""
        names = [name for name in self.variables["ansible_play_hosts_all"] if client_label(name) == label]
        return next((name for name in names if name != self.variables["inventory_hostname"]), None)

    def _check_machine(self, key: KeyOwner) -> None:
        """InputError if another host of the play is the same machine: each run would write one file for both hosts."""
        if key.state != "other":
            return
        other, host = self._host_of(key.label), self.variables["inventory_hostname"]
        if other is None:
            return
        # No clone can carry the key of a client that this run created, so the other host wrote it into the same file.
        if key.label in (self._registration.get("created") or ()) or self._address(host) == self._address(other):
            raise InputError(
                f"{host} and {other} are one machine: {self.options['path']} has the key of {other}. The file was not "
                f"changed. Remove {host} from the inventory, then its client: monitor.cloud.retire -e labels="
                f"{self.client.label}."
            )

    def _address(self, host: str) -> tuple[t.Any, ...]:
        """The inventory variables that locate the file of a host; equal for two names of one machine."""
        own = self.variables["hostvars"][host]
        names = ("ansible_port", "ansible_connection", "monitor_agent_config_path")
        return (own.get("ansible_host") or host, *(own.get(name) for name in names))

    def _warn_of_clone(self, key: KeyOwner) -> None:
        """Warn if the host carried another client's key; in an audit its report has a finding instead."""
        host, label = self.variables["inventory_hostname"], self.client.label
        if key.state != "other" or self.client.state == "masked" or self.client.missing or self._audits:
            return
        text = f"The host now has the key of {label!r}."
        if self._task.check_mode:
            adopt = "If the host was renamed, run monitor.cloud.adopt first: the host then keeps its client."
            text = f"The host would get the key of {label!r}. {adopt}"
        if other := self._host_of(key.label):
            text += f" If {host} and {other} are one machine, keep one of them in the inventory."
        self._display.warning(f"{host} carried the key of client {key.label!r}, so it reported as that client. {text}")

    def _remove(self, path: str) -> Result:
        # An invalid label has to fail before the file is removed.
        label = self.host_label
        check_label(label)
        found = self._inspect(path)
        try:
            client = self.client
        except InputError:
            # Without a client only the owner of the key is unknown, and the file can be removed.
            client = None
        text, pattern = self._read(found, client)
        decided = decision.decide_removal(found, text, pattern, path, client)
        if decided.problem:
            raise InputError(decided.problem)
        if decided.changed:
            check = self._task.check_mode or self.options["before_uninstall"]
            command = remote_file.enter_command(path) if check else remote_file.remove_command(path)
            remote_file.check_done(self.shell(command), f"{path} could not be removed")
        result = self._result(decided, label)
        if result["before_uninstall"]:
            result.update(changed=False)
            result.pop("diff", None)
        return result

    def _inspect(self, path: str, service: str = "") -> remote_file.HostFile:
        done = self.shell(remote_file.facts_command(path, service))
        found = remote_file.parse_facts(done.stdout)
        if found is None:
            hint = "Check that the user's login shell, and become, run commands."
            if done.message.startswith("no message"):
                hint += " If sshd permits no terminal, set ansible_ssh_use_tty: false."
            raise InputError(f"Could not inspect {path}: {done.message} {hint}")
        return found

    def _read(self, found: remote_file.HostFile, client: Registered | None) -> tuple[str | None, str]:
        """The text of the file, None if it can't be read, and the pattern of :func:`decision.decide`.

        The pattern is empty if no owner of a key is to be found, or if the template fails.
        """
        if found.kind not in ("file", "link"):
            return None, ""
        with without_logging(self._connection):
            done = self.shell(remote_file.read_command(self.options["path"], link=found.kind == "link"))
        if done.returncode != 0:
            return None, ""
        pattern = ""
        if client and (self.options["template"] is not None or self.options["content"] is not None):
            with contextlib.suppress(InputError):
                pattern = self._rendered.pattern
        return remote_file.text_in(done.stdout), pattern

    @functools.cached_property
    def _rendered(self) -> render.Rendered:
        """The file for the task's client. Without secrets, placeholders have the format of another client's secrets."""
        return render.render(self, self.options, self.variables, self.client, self.client.sample())

    def _put(self, desired: Desired, *, backup: bool) -> tuple[str, ...]:
        """Write the file, and return the restart markers that are then beside it."""
        done = None
        if passes_stdin(self._connection):
            done = self.shell(remote_file.write_command(desired, backup=backup), data=desired.data)
        if done is None or remote_file.got_no_input(done):
            done = self._put_through_a_file(desired, backup=backup)
        remote_file.check_done(done, f"{desired.path} could not be written")
        return remote_file.markers_in(done.stdout)

    def _put_through_a_file(self, desired: Desired, *, backup: bool) -> Completed:
        """Write from a private temporary file, as core transfers modules: for connections without standard input."""
        directory = self._make_tmp_path()
        try:
            with without_logging(self._connection):
                path = self._connection._shell.join_path(directory, "content")
                source = str(self._transfer_data(path, desired.data or b""))
            # With these options core would let all users of the host, or a group, read the file. No group is named ":",
            # and without a value core would read the option from its configuration again.
            self._connection._shell.set_option("world_readable_temp", False)
            self._connection._shell.set_option("common_remote_group", ":")
            try:
                self._fixup_perms2((directory, source))
            except AnsibleError as error:
                raise InputError(
                    f"The content can't be sent privately: {error}. allow_world_readable_tmpfiles has no effect, "
                    "because the content holds keys. Install setfacl on the host, or use a become method that passes "
                    "standard input, such as sudo without requiretty."
                ) from None
            return self.shell(remote_file.write_command(desired, backup=backup, source=source))
        finally:
            self._remove_tmp_path(directory)

    def _result(self, decided: decision.Decision, label: str) -> Result:
        path, key = self.options["path"], decided.key
        result = {
            "changed": decided.changed,
            "path": path,
            "label": label,
            "state": self.options["state"],
            "before_uninstall": self.options["state"] == "absent" and self.options["before_uninstall"],
            "registered": self.options["state"] == "absent" or not self.client.missing,
            "service_differs": [],
            "key_owner": key.state,
            "owner_label": key.label,
            "key_fingerprint": key.fingerprint,
        }
        if self._task.diff:
            before, after = (
                {name: value for name, value in facts.items() if value is not None}
                for facts in (decided.before, decided.after)
            )
            result["diff"] = {"before": before, "after": after, "before_header": path, "after_header": path}
        return result
