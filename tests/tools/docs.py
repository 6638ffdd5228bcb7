# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the collection's documentation, renders guides and reference as HTML, and checks links without a network."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag

from ansible_collections.monitor.cloud.tests.tools.links import on_forge, rewritten
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, COLLECTION, LONGEST, PATH, copied_tree

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
    "extensions=sphinx_antsibull_ext",
    # Sphinx resolves references to Ansible's own guides only with a network.
    "suppress_warnings=ref.ref",
)
CONTENTS = re.compile(r"^\.\. contents::.*\n(?:   .*\n)*", re.MULTILINE)


def main() -> int:
    """Render the pages even if the check fails, so that the author can see the pages."""
    with copied_tree() as root:
        pages = root.parent / "pages"
        pages.mkdir()
        code = _run(root, "antsibull-docs", "lint-collection-docs", "--plugin-docs", ".")
        code += _run(
            root, "antsibull-docs", "collection", "--use-current", "--squash-hierarchy", "--dest-dir", str(pages), NAME
        )
        for page in pages.rglob("*.rst"):
            # The theme furo shows its own table of contents, and reports this directive as an error.
            text = CONTENTS.sub("", page.read_text(encoding="utf-8"))
            page.write_text(rewritten(text, Path("docs/docsite/rst", page.name), _on_site), encoding="utf-8")
        shutil.rmtree(OUTPUT, ignore_errors=True)
        settings = [*SETTINGS, f"html_static_path={root / 'docs' / 'docsite' / 'static'}"]
        options = [option for setting in settings for option in ("-D", setting)]
        code += _run(root, "sphinx-build", "-q", "-E", "-W", "--keep-going", "-C", *options, str(pages), str(OUTPUT))
    print("\n".join(broken := _broken_links()) or f"The site is {OUTPUT / 'index.html'}")
    return int(bool(code or broken))


def _run(root: Path, *command: str) -> int:
    environment = {**os.environ, "PATH": PATH, "ANSIBLE_COLLECTIONS_PATH": str(root.parents[len(COLLECTION.parts) - 1])}
    return subprocess.run(command, cwd=root, env=environment, check=False, timeout=LONGEST).returncode


def _on_site(path: str) -> str:
    """Return the page of a guide on the site, or the address of another file in the public repository."""
    guide = re.fullmatch(r"docs/docsite/rst/(\w+)\.rst", path)
    return f"{guide[1]}.html" if guide else on_forge(path)


def _broken_links() -> list[str]:
    pages = {path: path.read_text(encoding="utf-8") for path in OUTPUT.rglob("*.html")}
    broken = []
    for page, text in pages.items():
        for link in re.findall(r'<(?:a|img)\b[^>]* (?:href|src)="((?![a-z]+:)[^"]*)"', text):
            path, anchor = map(unquote, urldefrag(link))
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (anchor and f'id="{anchor}"' not in pages.get(target, "")):
                broken.append(f"{page}: nothing at {link}")
    return broken


if __name__ == "__main__":
    sys.exit(main())
