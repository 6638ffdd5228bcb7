# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Users and groups that a host knows, and what the group of a file may do."""

import grp
import os
import pwd
from pathlib import Path

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.owners import (
    UNKNOWN,
    owner_command,
    permissions_command,
    permissions_in,
)
from ansible_collections.monitor.cloud.tests.support.host_files import NAME, SHELLS, in_shell, old_file, skip_without


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_names_and_numbers_of_owners(tmp_path: Path, shell: list[str]) -> None:
    skip_without(shell[0])
    uid, gid = os.geteuid(), os.getegid()
    user, group = pwd.getpwuid(uid).pw_name, grp.getgrgid(gid).gr_name
    for owner, of, code in ((user, str(gid), 0), (str(uid), group, 0), (user, NAME, UNKNOWN), (NAME, None, UNKNOWN)):
        assert in_shell(owner_command(owner, of), shell=shell).returncode == code
    names = {"user": user, "group": NAME}
    for path, same in ((old_file(tmp_path), {"user": user}), (tmp_path / "missing", {})):
        done = in_shell(permissions_command(str(path), names), shell=shell)
        assert (done.returncode, permissions_in(done.stdout, names, None), done.stderr) == (0, same, "")


@pytest.mark.parametrize(("entry", "mode"), [("r--", 0o644), ("rwx", 0o674), ("-w-", 0o624), ("---", 0o604)])
def test_the_mode_of_a_file_with_an_acl(entry: str, mode: int) -> None:
    """stat shows the mask of the ACL as the permissions of the group."""
    found = permissions_in(f"user::rw-\r\ngroup::{entry}\r\nmask::rwx\r\n", {}, 0o674)
    assert found == {"mode": mode}
