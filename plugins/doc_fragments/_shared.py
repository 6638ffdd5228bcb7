# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation that modules, action plugins and the inventory plugin share."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
author:
  - monitor.cloud contributors (!UNKNOWN)
attributes:
  check_mode:
    description: Can run in C(check_mode) and report what the run would change, without changing anything.
  diff_mode:
    description: Returns what has changed, or in C(check_mode) what would, when in diff mode. Never shows a key.
"""

    # For plugins only, whose environment variables core reads; modules read the environment themselves.
    ENVIRONMENT = r"""
options:
  base_url: {env: [{name: MONITOR_BASE_URL}]}
  api_token: {env: [{name: MONITOR_API_TOKEN}]}
  brand: {env: [{name: MONITOR_BRAND}]}
  validate_certs: {env: [{name: MONITOR_VALIDATE_CERTS}]}
  ca_path: {env: [{name: MONITOR_CA_PATH}]}
  allow_http: {env: [{name: MONITOR_ALLOW_HTTP}]}
  timeout: {env: [{name: MONITOR_TIMEOUT}]}
  retry_timeout: {env: [{name: MONITOR_RETRY_TIMEOUT}]}
"""

    CONNECTION = r"""
requirements:
  - Python library C(requests) for the interpreter that runs the module or plugin.
options:
  base_url:
    description:
      - Address of the service, version segment included, for example V(https://api.example.com/v4).
      - Must be C(https), unless its host is the loopback interface and no proxy on another host is used, or
        O(allow_http=true).
      - Required. If not set, the environment variable E(MONITOR_BASE_URL) is used.
    type: str
  api_token:
    description:
      - Personal access token or OAuth token. Required by all modules but M(monitor.cloud.monitor_subscription_info)
        and M(monitor.cloud.region_info), which never send the token.
      - If not set, the environment variable E(MONITOR_API_TOKEN) is used.
    type: str
  brand:
    description:
      - The product word that the service uses in paths, tier ids and the field of the plan.
      - If not set, the environment variable E(MONITOR_BRAND) is used.
    type: str
    default: monitor
  validate_certs:
    description:
      - Whether to check the certificate of the service.
      - If not set, the environment variable E(MONITOR_VALIDATE_CERTS) is used.
    type: bool
    default: true
  ca_path:
    description:
      - File or directory with certificates of the authorities to trust, in PEM format. A directory needs the links that
        C(openssl rehash) makes.
      - If not set, the environment variable E(MONITOR_CA_PATH) is used, or else E(REQUESTS_CA_BUNDLE),
        E(CURL_CA_BUNDLE) or E(SSL_CERT_FILE).
    type: path
  allow_http:
    description:
      - Whether O(base_url) may be C(http) to a host other than the loopback interface, with the token unencrypted.
      - If not set, the environment variable E(MONITOR_ALLOW_HTTP) is used.
    type: bool
    default: false
  timeout:
    description:
      - Seconds within which a whole response must arrive, in each attempt, connection included; at most a day.
        Connecting to an address takes 10 seconds at most.
      - A response, or all pages of a list, may have at most 64 MiB when decoded, and two million values.
        A list may have 10,000 pages, and take 15 minutes in addition to O(retry_timeout). More is an error.
      - If not set, the environment variable E(MONITOR_TIMEOUT) is used.
    type: float
    default: 30.0
  retry_timeout:
    description:
      - Seconds within which an operation is retried if the service or the network fails, or the service asks to wait;
        at most a day.
      - If there is no connection, and the service has not responded to this task before, a request is retried for 10
        seconds at most, because O(base_url) may be wrong.
      - If not set, the environment variable E(MONITOR_RETRY_TIMEOUT) is used.
    type: float
    default: 300.0
  page_size:
    description: Items per page when clients or tiers are listed. If not set, 500, or 100 if the service refuses 500,
      or the service's default if it refuses both.
    type: int
"""

    # DOCUMENTATION ends with its attributes, and this adds one. Annotated, because yamllint reads only literals.
    API: str = f"""{CONNECTION}{DOCUMENTATION}  action_group:
    description: Use C(group/monitor.cloud.api) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - monitor.cloud.api
"""

    CHANGES = r"""
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
"""

    INFO = r"""
attributes:
  check_mode:
    support: full
    details: This module does not change anything.
  diff_mode:
    support: N/A
    details: This module does not change anything.
"""

    KEYS = r"""
options:
  include_keys:
    description:
      - Whether clients in the result carry C(api_key) and C(install_code).
      - The result is then kept out of the output and out of logs, whether or not the task sets C(no_log). A failure
        stays readable.
      - A client with masked keys carries no keys, only RV(ignore:keys_masked=true) and the reason in
        RV(ignore:mask_reason). Some services mask keys in lists only, so with V(true) such clients are read one by one.
    type: bool
    default: false
"""

    SEALED = r"""
options:
  seal_keys:
    description:
      - Whether clients in the result carry their keys encrypted, as C(sealed_keys). Only plugins of this
        collection can decrypt them, in the same run of Ansible.
      - So the registered variable shows no key, in output, fact caches and callbacks. Cannot be used with C(async).
    type: bool
    default: false
"""

    CLIENT = r"""
options:
  client:
    description:
      - The client, as M(monitor.cloud.monitor_client) returns it with
        O(monitor.cloud.monitor_client#module:include_keys=true).
      - O(client) or O(registration) is required to write or to install.
    type: dict
  label:
    description:
      - Label of the client in O(registration).
      - If not set, the variable C(monitor_agent_label) of the host, else the result of the filter
        P(monitor.cloud.client_label#filter) for its name.
      - A number is refused, because YAML reads V(1.10) as V(1.1), and V(0123) as V(83). Use quotes.
    type: raw
  registration:
    description:
      - Name of the variable that holds the result of a M(monitor.cloud.monitor_clients) or
        M(monitor.cloud.monitor_client_info) task with O(monitor.cloud.monitor_clients#module:seal_keys=true) or
        O(monitor.cloud.monitor_clients#module:include_keys=true). Not the value, which would be rendered again
        for each host, and be shown among the arguments of the task.
    type: str
"""

    ACCOUNT = r"""
options:
  account:
    description: Name of the variable that holds the result of a M(monitor.cloud.monitor_client_info) task that read all
      clients.
    type: str
    required: true
"""
