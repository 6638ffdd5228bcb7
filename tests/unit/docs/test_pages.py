# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import configparser
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import jinja2
import pytest
import yaml
from packaging.version import Version

from ansible_collections.monitor.cloud.plugins.module_utils._module import VERSION
from ansible_collections.monitor.cloud.tests.support.documents import Block, blocks
from ansible_collections.monitor.cloud.tests.tools.links import targets
from ansible_collections.monitor.cloud.tests.tools.matrix import CONTROLLERS, PAIRS
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, tracked_files


def _text(path: str) -> str:
    return (CHECKOUT / path).read_text(encoding="utf-8")


PAGES = [CHECKOUT / path for path in tracked_files() if path.suffix in (".md", ".rst")]
SCHEMAS = {".gitlab-ci.yml": "gitlab-ci", ".github": "github-workflows"}


@pytest.mark.parametrize(
    "block", [block for page in PAGES for block in blocks(page) if block.language in ("ini", "jinja", "yaml")], ids=str
)
def test_samples_are_valid(block: Block, tmp_path: Path) -> None:
    name = block.file or f"sample.{block.language}"
    text = block.text
    if block.language == "jinja":
        client = {"api_key": "KEY", "install_code": "CODE"}
        text = jinja2.Template(text, trim_blocks=True).render(client=client, label="web-1", monitor_interval=60)
        assert "KEY" in text
    if block.language == "ini" or name.endswith(".ini.j2"):
        configparser.ConfigParser().read_string(text)
    else:
        assert yaml.safe_load(text)
    if schema := SCHEMAS.get(name.partition("/")[0]):
        sample = tmp_path / "sample.yml"
        sample.write_text(text, encoding="utf-8")
        command = [
            str(Path(sys.executable).with_name("check-jsonschema")),
            f"--builtin-schema=vendor.{schema}",
            str(sample),
        ]
        subprocess.run(command, check=True, timeout=60)


def test_links_of_the_repository_lead_to_files() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        linked = targets(text, page.relative_to(CHECKOUT))
        assert [path for path in linked if not (CHECKOUT / path).exists()] == [], page
        # GitHub and other forges do not render these roles of Sphinx.
        assert re.findall(r":(?:ref|doc|ansplugin|ansopt):`", text) == [], page


def is_in_archive(path: Path) -> bool:
    """Return whether ansible-galaxy puts a file of the repository into the archive."""
    left_out = yaml.safe_load(_text("galaxy.yml"))["build_ignore"]
    return not any(fnmatch(str(parent), pattern) for parent in (path, *path.parents) for pattern in left_out)


def test_links_of_the_archive_lead_to_files_of_the_archive() -> None:
    pages = [path for path in tracked_files() if path.suffix in (".md", ".rst") and is_in_archive(path)]
    assert len(pages) > 10
    for page in pages:
        linked = targets(_text(str(page)), page)
        assert [path for path in linked if not is_in_archive(Path(path))] == [], page


def test_specification_of_the_role_has_its_defaults_and_the_page_lists_all_variables() -> None:
    specification = yaml.safe_load(_text("roles/monitor_agent/meta/argument_specs.yml"))["argument_specs"]
    options = {name: option for entry in specification.values() for name, option in entry["options"].items()}
    documented = {name: option["default"] for name, option in options.items() if "default" in option}
    # Before ansible-core 2.19, core refuses null if the specification has a default, and a label can be null.
    label = {"monitor_agent_label": ""}
    assert {**documented, **label} == yaml.safe_load(_text("roles/monitor_agent/defaults/main.yml"))
    shown = re.findall(r"^\| `(\w+)` \|", _text("roles/monitor_agent/README.md"), re.MULTILINE)
    assert set(shown) == options.keys()


def test_versions() -> None:
    releases = yaml.safe_load(_text("changelogs/changelog.yaml"))["releases"]
    assert yaml.safe_load(_text("galaxy.yml"))["version"] == VERSION == max(releases, key=Version)
    oldest, *_others, newest = CONTROLLERS
    assert yaml.safe_load(_text("meta/runtime.yml"))["requires_ansible"] == f">={oldest}.0"
    assert f"ansible-core {oldest} to {newest}" in _text("README.md")
    jobs = yaml.safe_load(_text(".github/workflows/test.yml"))["jobs"]
    assert jobs["units"]["strategy"]["matrix"]["versions"] == ["/".join(pair) for pair in PAIRS]
    assert {pair.split("/")[0] for pair in jobs["fleet"]["strategy"]["matrix"]["versions"]} == CONTROLLERS.keys()
