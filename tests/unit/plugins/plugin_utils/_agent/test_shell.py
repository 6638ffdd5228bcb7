# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Text of shell commands, and the message of their outcome."""

import time

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.shell import (
    BEGUN,
    Completed,
    echo,
    escape_dollars,
    one_line,
    variable,
)
from ansible_collections.monitor.cloud.tests.support.host_files import NAME, SHELLS, in_shell, skip_without


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_texts_of_any_characters_reach_the_shell(shell: list[str]) -> None:
    skip_without(shell[0])
    text = f"{NAME}\n"
    command = f'{variable("v", text)}; {echo("two words")}; printf "%s" "$v"'
    for form in (command, escape_dollars(command)):
        assert in_shell(form, shell=shell).stdout == f"two words\n{text}"
    assert "$" not in escape_dollars(command) and "two words" not in command


def test_a_script_becomes_one_line() -> None:
    assert one_line("a\n  # no\n  if b\n then\n c\n fi\n d &&\n e") == "a; if b; then c; fi; d && e"


def test_the_message_is_the_end_of_the_output_on_one_line() -> None:
    output = f"Welcome!\n{BEGUN}\nout\x1b[m\n"
    errors = "no\r\n0+1 records in\n3 bytes copied\nShared connection to a closed.\n"
    assert Completed(3, output, errors).message == "no out [m (exit code 3)."
    assert Completed(1, "", "").message == "no message (exit code 1)."
    flood, begun = "x y" * 5_000_000, time.process_time()
    assert len(Completed(1, flood, flood).message) < 600
    assert time.process_time() - begun < 2
