# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later


"""Texts that are commands, templates, markup or documents in other contexts, and checks that none was taken for one.

What would run leaves a file behind, the canary, here or on the host: there is none in the end.
"""

import secrets
from pathlib import Path

from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.support.checks import assert_sound
from ansible_collections.monitor.cloud.tests.support.runs import CORE, Run

# Short, so that labels can hold it.
CANARY = f"/tmp/mc{secrets.token_hex(3)}"
ESCAPE = "\x1b"
TEXTS = tuple(
    text.replace("C", CANARY)
    for text in (
        "{{ lookup('pipe', 'touch C') }}", "{{lookup('ansible.builtin.pipe','touch C')}}", "{{ 7 * 7 }}",
        "{% set x = lookup('pipe', 'touch C') %}", "{%if lookup('pipe','touch C')%}x{%endif%}",
        "{# #}{{ query('pipe', 'touch C') }}",
        "{{ cycler.__init__.__globals__.os.system('touch C') }}",
        "$(touch C)", "`touch C`", "'; touch C #", '"; touch C; "',
        "| touch C", "&& touch C", "x\ntouch C\n", "x\r\nok: [web-1] => changed\n", "\x1b[2J\x1b]0;title\x07",
        "\x9b31m",
        "!!python/object/apply:os.system ['touch C']", "!unsafe {{ 1 }}", "</script><script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>', "]]></failure><failure>", "&lt;&#x41;&undefined;", '=cmd|" /C touch C"!A0',
        "%(touch C)s",
        "${IFS}touch${IFS}C", "- hosts: all", "a: {b: [c", "\u202eevil", "--check", "-e@C", "~", "all:!web-1",
        "*", "NULL", "0",
    )
)  # fmt: skip

# Names of hosts; before 2.19 core itself renders those that are templates (SECURITY.md).
TEMPLATES = ("web{{ 7*7 }}", "web{% x %}") if CORE >= (2, 19) else ("web( 7*7 )", "web(% x %)")


def assert_quiet(service: Emulator, *runs: Run, faults: int = len(TEXTS)) -> None:
    """The runs showed no secret, no escape sequence and no line of their own making, and ran nothing here."""
    for run in runs:
        assert_sound(service, run.output, faults=faults)
        assert ESCAPE not in run.output
        assert "\nok: [web-1] => changed" not in run.output
    assert not Path(CANARY).exists()
