# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a file on a host may have as its path, owner and mode."""

import pytest

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import absolute, file_mode, file_owner


@pytest.mark.parametrize("path", ["", "agent.conf", "/", "//", "/etc/", "/etc/..", "~/agent.conf", "/etc/a\0b"])
def test_paths_that_are_refused(path: str) -> None:
    with pytest.raises(InputError, match="must be the absolute path of a file"):
        absolute(path)


@pytest.mark.parametrize("path", ["/a", "/etc/monitor/agent.conf", "/etc/with space"])
def test_paths_that_are_taken(path: str) -> None:
    assert absolute(path) == path


@pytest.mark.parametrize(
    ("given_mode", "bits"),
    [("0600", 0o600), ("600", 0o600), ("0o640", 0o640), (0o600, 0o600), ("4755", 0o4755), ("04755", 0o4755)],
)
def test_modes(given_mode: object, bits: int) -> None:
    assert file_mode(given_mode) == bits


@pytest.mark.parametrize(
    "given_mode", [0o400, 0o440, 0o444, 0o640, 0o644, 0o660, 0o664, 0o700, 0o750, 0o755, 0o775, 0o777]
)
def test_modes_that_yaml_read_as_octal(given_mode: int) -> None:
    assert file_mode(given_mode) == given_mode


@pytest.mark.parametrize(
    "given_mode", [-1, 0, 0o300, 0o1000, 400, 440, 444, 500, 600, 640, 644, 660, 700, 750, 755, 777, 0o10000]
)
def test_integers_that_are_not_a_valid_mode(given_mode: int) -> None:
    with pytest.raises(InputError, match=rf"mode {given_mode} is an integer.* mode: '0640'"):
        file_mode(given_mode)


@pytest.mark.parametrize("given_mode", ["", "u=rw", "9999", "-1", True, None, "0600\n", "60", 6.0])
def test_modes_that_are_refused(given_mode: object) -> None:
    with pytest.raises(InputError, match="must be octal digits such as '0600'"):
        file_mode(given_mode)


@pytest.mark.parametrize("name", ["root", "1000", "DOMAIN\\user", "user@domain", "a.b-c"])
def test_owners(name: str) -> None:
    assert file_owner("owner", name) == name


@pytest.mark.parametrize("name", ["", None])
def test_no_owner(name: str | None) -> None:
    assert file_owner("owner", name) is None


@pytest.mark.parametrize("name", ["a b", "root:wheel", "-R", "a\nb"])
def test_owners_that_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="^group .* must be a name or a number"):
        file_owner("group", name)
