# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What agent_info and agent_config share: render the desired file, and compare it with the file on the host."""

from __future__ import annotations

import dataclasses

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._host import comparison, host_file
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.base import HostAction
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.key_detection import KeyOwner
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.options import Desired, desired_file
from ansible_collections.monitor.cloud.plugins.plugin_utils._host.render import Rendered


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The file on the host, the desired file, and the owner of the key on the host. ``differs``: what differs."""

    actual: host_file.HostFile
    desired: Desired
    key: KeyOwner
    differs: list[str]


class FileAction(HostAction):
    """An action on the configuration of an agent. Without ``template`` and ``content``, the file must not exist."""

    @property
    def has_file(self) -> bool:
        return self.options["template"] is not None or self.options["content"] is not None

    def compare(self) -> Comparison:
        """Inspect the host. Raise InputError if the file cannot be rendered."""
        if not self.has_file:
            return self._compare_with_none()
        # Also render if the host has no client, so that a faulty template fails before a client is created.
        rendered = Rendered(self, self.options, self.variables, self.client)
        is_known = self.client.state == "readable"
        desired = desired_file(self.options, rendered.text, is_known=is_known)
        actual = self._inspect(desired)
        pattern = ""
        if actual.text is not None:
            pattern = rendered.pattern
        key = comparison.key_owner(actual, self.client, rendered.text, pattern)
        differs = comparison.differences(actual, desired)
        if differs:
            rendered.check()
        return Comparison(actual, desired, key, differs)

    def _compare_with_none(self) -> Comparison:
        desired = desired_file({**self.options, "owner": None, "group": None}, "", is_known=False)
        actual = self._inspect(desired)
        key = comparison.key_owner(actual, self.client, "", "")
        differs = []
        if actual.kind != "missing":
            differs.append("content")
        return Comparison(actual, desired, key, differs)

    def _inspect(self, desired: Desired) -> host_file.HostFile:
        done = self.run_script(host_file.inspect_script(desired))
        actual = host_file.parse(done.stdout)
        if actual is None:
            raise InputError(
                f"Could not inspect {desired.path}: {done.message} Check that become and the login shell run commands."
            )
        # If the host has no tool such as sha256sum, the script prints the content. Then compare the content here.
        if actual.kind == "file" and actual.text and actual.text.encode("utf-8", "replace") == desired.data:
            return actual._replace(same=True, text=None)
        return actual
