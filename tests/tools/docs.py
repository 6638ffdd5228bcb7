# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the collection's documentation and, without --lint, renders it as HTML. Needs no network."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, COLLECTION, PATH, copied_tree

OUTPUT = CHECKOUT / "build" / "docs"
NAME = "monitor.cloud"
SETTINGS = (
    f"project={NAME}",
    f"html_title={NAME}",
    "html_theme=furo",
    "html_copy_source=0",
    "html_css_files=site.css",
    "copyright=monitor.cloud contributors",
    "highlight_language=text",
    "antsibull_ext_color_scheme=default-autodark",
    "extensions=myst_parser,sphinx_antsibull_ext",
    "myst_heading_anchors=3",
    # Without intersphinx, which would fetch; references into Ansible's own guide stay plain text.
    "suppress_warnings=ref.ref",
)


def _run(root: Path, *command: str) -> int:
    environment = {**os.environ, "PATH": PATH, "ANSIBLE_COLLECTIONS_PATH": str(root.parents[len(COLLECTION.parts) - 1])}
    return subprocess.run(command, cwd=root, env=environment, check=False).returncode


def main() -> int:
    """Check, and render even if the check fails, so that its writer can see the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lint", action="store_true", help="check only")
    only_lint: bool = parser.parse_args().lint
    with copied_tree() as root:
        code = _run(root, "antsibull-docs", "lint-collection-docs", "--plugin-docs", ".")
        rendered = 0 if only_lint else _render(root)
    return code or rendered


def _for_the_menu(page: str) -> str:
    """Give a generated page a short title, and no contents, which the theme has beside the page."""
    # The role has no entry point main, whose description the index would show, and no other collections are here.
    page = re.sub(r" --[ ]*$|^\.\. seealso::\n\n +List of .*\n", "", page, flags=re.MULTILINE)
    page = re.sub(r"^\.\. contents::.*\n(?:   .*\n)*", "", page, flags=re.MULTILINE)
    return re.sub(rf"^{re.escape(NAME)}\.(\w+ \w+)(?: -- .*)?$", r"\1", page, count=1, flags=re.MULTILINE)


def _render(root: Path) -> int:
    pages = root.parent / "pages"
    (pages / "pages").mkdir(parents=True)
    code = _run(root, "antsibull-docs", "collection", "--use-current", "--no-indexes", f"--dest-dir={pages}", NAME)
    shutil.copy(root / "docs" / "docsite" / "index.rst", pages)
    for page in (*(root / "docs").glob("*.md"), root / "SECURITY.md", root / "CHANGELOG.rst"):
        # All of them are in one directory there.
        text = page.read_text(encoding="utf-8").replace("](docs/", "](")
        (pages / "pages" / page.name.lower()).write_text(text, encoding="utf-8")
    for page in pages.rglob("*.rst"):
        page.write_text(_for_the_menu(page.read_text(encoding="utf-8")), encoding="utf-8")
    settings = [*SETTINGS, f"html_static_path={root / 'docs' / 'docsite' / 'static'}"]
    options = [option for setting in settings for option in ("-D", setting)]
    code = code or _run(root, "sphinx-build", "-q", "-E", "-W", "--keep-going", "-C", *options, str(pages), str(OUTPUT))
    print(f"The site is {OUTPUT / 'index.html'}" if code == 0 else "The site could not be made.")
    return code


if __name__ == "__main__":
    sys.exit(main())
