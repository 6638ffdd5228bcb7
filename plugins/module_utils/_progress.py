# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How far a task is, told while it runs: in a file that somebody watches, for a module can't print."""

from __future__ import annotations

import json
import os
import signal
import threading
import typing as t

if t.TYPE_CHECKING:
    from types import TracebackType

    from ansible_collections.monitor.cloud.plugins.module_utils._api import Api

# The environment variable that names the file; without it nothing is told.
PROGRESS_FILE = "MONITOR_CLOUD_PROGRESS_FILE"
_EVERY = 0.5
# Which of them Ansible sends at Ctrl-C depends on how busy its processes are.
STOPS = (signal.SIGINT, signal.SIGTERM)


def _stop(number: int, frame: object) -> None:
    # One is enough: the next would break off what this one brings to its end.
    for each in STOPS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


class Progress:
    """Counts what is done, and tells it from within a ``with`` statement, to the end.

    The file holds one JSON object: ``total`` (null before it is known), ``done``, ``waits`` (seconds that the service
    still asks to wait) and ``ended``. It is there as long as somebody waits for the result: where its name is gone, no
    other request begins.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._path = os.environ.get(PROGRESS_FILE)
        self._lock = threading.Lock()
        self._total: int | None = None
        self._done = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._tell_often, daemon=True)

    def expect(self, total: int) -> None:
        """So many things are to be done."""
        self._total = total

    def count(self) -> None:
        """One of them is done. Called from several threads."""
        with self._lock:
            self._done += 1

    def __enter__(self) -> Progress:
        if self._path:
            for number in STOPS:
                signal.signal(number, _stop)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        if self._path:
            self._thread.join()

    def _tell_often(self) -> None:
        try:
            with open(str(self._path), "r+", encoding="ascii") as stream:
                self._tell(stream)
                while not self._end.wait(_EVERY):
                    if not os.path.exists(str(self._path)):
                        self._api.interrupt()
                    self._tell(stream)
                self._tell(stream)
        except FileNotFoundError:
            self._api.interrupt()
        except OSError:
            # A full disk, say: a run that can't be watched is a run all the same.
            pass

    def _tell(self, stream: t.TextIO) -> None:
        state = {
            "total": self._total,
            "done": self._done,
            "waits": round(self._api.waits, 1),
            "ended": self._end.is_set(),
        }
        stream.seek(0)
        stream.write(json.dumps(state))
        stream.truncate()
        stream.flush()
