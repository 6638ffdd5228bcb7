# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows on the controller's terminal how far a module is that runs there: a line every few seconds."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
import typing as t
from pathlib import Path

from ansible import constants
from ansible.utils.display import Display

from ansible_collections.monitor.cloud.plugins.module_utils._progress import PROGRESS_FILE, STOPS

if t.TYPE_CHECKING:
    from collections.abc import Iterator

_EVERY = 5.0
# How long an interrupted module is waited for: one that has said something already, and one that has not.
_LAST_WORDS = 5.0
_FIRST_WORDS = 1.0
_PREFIX = "monitor.cloud-progress-"


@contextlib.contextmanager
def watched(name: str) -> Iterator[None]:
    """Show the progress of the module that runs meanwhile, in lines that a log bears; none where it runs only briefly.

    For a worker process: the module is its child and finds the file in the environment. The directory is the run's
    own, and nobody else can read it.
    """
    path = _directory() / f"{_PREFIX}{os.getpid()}"
    end = threading.Event()
    thread = threading.Thread(target=_show_often, args=(name, path, end), daemon=True)
    path.touch(mode=0o600)
    os.environ[PROGRESS_FILE] = str(path)
    thread.start()
    try:
        yield
    finally:
        del os.environ[PROGRESS_FILE]
        end.set()
        thread.join()
        path.unlink(missing_ok=True)


def _show_often(name: str, path: Path, end: threading.Event) -> None:
    # They are for the process's main thread, which waits for the module and would not wake up for them.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    while not end.wait(_EVERY):
        state = _read(path)
        if state:
            # Not on standard output, where other programs may expect JSON and nothing else.
            Display().display(f"{name}: {_done(state)}{_waits(state)}", stderr=True)


def _done(state: t.Mapping[str, t.Any]) -> str:
    if not state["total"]:
        return "reading the account"
    return f"{state['done']} of {state['total']} clients done"


def _waits(state: t.Mapping[str, t.Any]) -> str:
    # A pause that is nearly over is no news.
    return f", waiting {state['waits']:.0f} s for the rate limit" if state["waits"] >= 1 else ""


def tell_interrupted(name: str) -> None:
    """Say how far modules came whose worker process was killed, as Ctrl-C does.

    For the end of the process that started the workers. The signal does not reach each module, so the file's new name
    is what stops it, once its last requests are answered.
    """
    for path in _renamed(_directory().glob(f"{_PREFIX}*")):
        if state := _last_state(path):
            Display().display(f"{name}: interrupted, {_done(state)}. Run again to do the rest.", stderr=True)


def _renamed(paths: t.Iterable[Path]) -> list[Path]:
    renamed = []
    for path in paths:
        # A module that ended meanwhile took its file along.
        with contextlib.suppress(FileNotFoundError):
            renamed.append(path.replace(path.with_name(f"interrupted-{path.name}")))
    return renamed


def _last_state(path: Path) -> dict[str, t.Any]:
    """What the module says at its end, or said last; empty where it had hardly begun."""
    started = time.monotonic()
    while True:
        state = _read(path)
        if state.get("ended") or time.monotonic() > started + (_LAST_WORDS if state else _FIRST_WORDS):
            return state
        time.sleep(0.05)


def _directory() -> Path:
    """The directory for temporary files of this run of Ansible, which it removes at its end."""
    # core sets its constants when it is imported, unseen by type checkers.
    return Path(constants.DEFAULT_LOCAL_TMP)  # type: ignore[attr-defined]


def _read(path: Path) -> dict[str, t.Any]:
    try:
        return dict(json.loads(path.read_text(encoding="ascii")))
    except (OSError, ValueError):
        # Not there yet, or being written.
        return {}
