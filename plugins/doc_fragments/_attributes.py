# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the attributes of modules and action plugins."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
author:
  - monitor.cloud contributors (!UNKNOWN)
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and report what the run would change, without changing anything.
  diff_mode:
    description: Returns what has changed, or in C(check_mode) what would, when in diff mode. Never shows a key.
"""

    CHANGES = r"""
options: {}
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
"""

    INFO = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module does not change anything.
  diff_mode:
    support: N/A
    details:
      - This module does not change anything.
"""

    KEYS = r"""
options:
  include_keys:
    description:
      - Whether clients in the result carry C(api_key) and C(install_code).
      - The result is then kept out of the output and out of logs, whether or not the task sets C(no_log). A failure
        stays readable.
      - A client whose keys are masked never carries them, only RV(ignore:keys_masked=true).
    type: bool
    default: false
"""
