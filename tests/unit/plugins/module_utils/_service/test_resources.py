# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What follows from the descriptions of the resources; that they are those of docs/openapi.yaml: tests/contract."""

from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import CLIENT, SUBSCRIPTION


def test_what_follows_from_a_description() -> None:
    assert (CLIENT.settable, CLIENT.secret) == (["label"], ["api_key", "install_code"])
    assert CLIENT.options == {}
    assert (CLIENT.list_all.path, CLIENT.get_one.path) == ("/{brand}/clients", "/{brand}/clients/{id}")
    assert CLIENT.get_one.purpose.format(id="1") == "read client '1'"
    assert CLIENT.list_all.access is not None and SUBSCRIPTION.list_all.access is None
    assert CLIENT.list_all.takes_page_size and not CLIENT.get_one.takes_page_size
