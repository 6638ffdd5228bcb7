# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the archive of the collection, and prints its path. Relative links become links to the repository."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ansible_collections.monitor.cloud.tests.tools.links import on_forge, rewritten
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, LONGEST, PATH, copied_tree, tracked_files

# Build from a copy of the tree, because the copy contains no file that git ignores.
with copied_tree() as root, tempfile.TemporaryDirectory() as temporary:
    for path in (path for path in tracked_files() if path.suffix in (".md", ".rst")):
        (root / path).write_text(rewritten((root / path).read_text(encoding="utf-8"), path, on_forge), encoding="utf-8")
    command = ["ansible-galaxy", "collection", "build", str(root), "--output-path", temporary]
    environment = {**os.environ, "PATH": PATH}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, timeout=LONGEST)
    (built,) = Path(temporary).glob("*.tar.gz")
    (CHECKOUT / "build").mkdir(exist_ok=True)
    print(shutil.copy2(built, CHECKOUT / "build"))
