# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from typing import Any

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._terminal import for_terminal

_QUIET = {"_ansible_verbose_override": True}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"changed": True, "msg": "two\nlines", "labels": ["wéb", 1, None]}, None),
        # Later tasks need the exact labels of a task that did not fail.
        ({"clients": {"a\x9bb": {}}}, {"clients": {"a\x9bb": {}}, **_QUIET}),
        ({"created": ["a\u202eb"]}, {"created": ["a\u202eb"], **_QUIET}),
        (
            {"failed": True, "failures": {"a\u202eb": "x\n\x9b"}, "label": "web-1", "more": ["\u200b"]},
            {"failed": True, "failures": {"a\\u202eb": "x\n\\x9b"}, "label": "web-1", "more": ["\\u200b"]},
        ),
        ({"unreachable": True, "msg": "\x1b[m"}, {"unreachable": True, "msg": "\\x1b[m"}),
        ({"failed": True, "label": "a\u202eb", "owner_label": "\x9b"}, {"failed": True, "owner_label": "\\x9b"}),
    ],
)
def test_no_control_character_is_printed(result: dict[str, Any], expected: dict[str, Any] | None) -> None:
    assert for_terminal(result) == (expected or result)
