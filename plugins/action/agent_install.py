# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run an agent's installer on a host, with the install code in its environment and nowhere else."""

from __future__ import annotations

from ansible_collections.monitor.cloud.plugins.doc_fragments._shared import ModuleDocFragment
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import redact
from ansible_collections.monitor.cloud.plugins.modules import agent_install
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import shell
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.base import (
    HostAction,
    Result,
    documented,
    passes_stdin,
)
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.client import ONE_CLIENT, Registered
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.sealed_keys import given_environment, without_logging

_ENDED = "monitor.cloud ended"
_EXISTS = "monitor.cloud exists"


class ActionModule(HostAction):
    VALIDATOR = documented(
        agent_install.DOCUMENTATION,
        ModuleDocFragment.CLIENT,
        mutually_exclusive=ONE_CLIENT,
        required_one_of=[("client", "registration")],
    )

    def act(self) -> Result:
        client, creates = self.client, self.options["creates"]
        if creates:
            done = self.shell(f'{shell.variable("p", creates)}; [ -e "$p" ] && {shell.echo(_EXISTS)}; :')
            if done.returncode != 0:
                raise InputError(f"Could not inspect {creates}: {done.message}")
            if _EXISTS in done.stdout:
                return {"changed": False, "label": client.label}
        if not passes_stdin(self._connection):
            become = self._connection.has_pipelining and self._connection.become
            kind, example = ("become method", "sudo") if become else ("connection", "ssh")
            name = become.name if become else self._connection.transport
            raise InputError(
                f"The {kind} {name!r} passes no standard input, and other users can read the install code on a command "
                f"line. Use a {kind} that passes standard input, such as {example}."
            )
        if not self._task.check_mode:
            client.check_readable()
            self._install(self.options["command"], client)
        return {"changed": True, "label": client.label}

    def _install(self, command: str, client: Registered) -> None:
        # The environment goes onto a command line, which other users can read, and the installer needs no token.
        given = {name: value for name, value in given_environment(self).items() if name != "MONITOR_API_TOKEN"}
        environment = "".join(f"{shell.variable(name, value)}; export {name}; " for name, value in given.items())
        script = (
            # A local connection inherits the controller's environment, with the token. With TMOUT, bash and ksh93 stop
            # reading the output of an installer that is silent for that long.
            f"{shell.echo(shell.BEGUN)}; {shell.DEFAULTS}; {environment}unset MONITOR_API_TOKEN TMOUT; "
            "IFS= read -r MONITOR_INSTALL_CODE || exit 1; export MONITOR_INSTALL_CODE; "
            f"exec </dev/null; {shell.variable('c', command)}; "
            # yash runs the command without the reader below, whose read fails for bytes that are invalid in the locale.
            '[ -z "$YASH_VERSION" ] || exec /bin/sh -c "$c"; '
            # Read the output up to the line _ENDED only, because an agent that the installer starts can keep it open.
            f'{{ /bin/sh -c "$c" 2>&1; printf "\\n%s\\n" "{_ENDED} $?"; }} | {{ r=1; while IFS= read -r l; do '
            f'case $l in "{_ENDED} "*) r=${{l##* }}; break;; esac; printf "%s\\n" "$l"; done; exit "$r"; }}'
        )
        with without_logging(self._connection):
            done = self.shell(script, data=f"{client.client['install_code']}\n".encode())
        if done.returncode != 0 or shell.BEGUN not in done.stdout:
            # Redact before the message cuts the text, and only its end, because redaction is slow.
            end = shell.Completed(done.returncode, *(redact(text[-50_000:], client.secrets) for text in done[1:]))
            raise InputError(f"The installer of {client.label!r} failed: {end.message}")
