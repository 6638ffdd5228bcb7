# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Callback that records how long the last task of a run took, from its start to the end of the run."""

from __future__ import annotations

import json
import os
import resource
import time
import typing as t

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: last_task
type: aggregate
short_description: Time the last task for the benchmark
description: Writes its seconds, on the clock and of processors, to the file that the environment's LAST_TASK names.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "last_task"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        self._started = _now()

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        spent = [now - then for now, then in zip(_now(), self._started, strict=True)]
        with open(os.environ["LAST_TASK"], "w", encoding="utf-8") as file:
            json.dump(dict(zip(("wall", "cpu"), spent, strict=True)), file)


def _now() -> tuple[float, float]:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.monotonic(), sum(each.ru_utime + each.ru_stime for each in used)
