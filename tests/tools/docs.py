# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the collection's documentation, renders it as HTML, and follows its links. Needs no network."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

from ansible_collections.monitor.cloud.tests.tools.links import on_forge, rewritten
from ansible_collections.monitor.cloud.tests.tools.tree import CHECKOUT, COLLECTION, LONGEST, PATH, copied_tree

OUTPUT = CHECKOUT / "build" / "docs"
NAME = "monitor.cloud"
REFERENCE = "collections/monitor/cloud"
# Where the site has the files of the repository.
SITE = {
    r"README\.md": "index.html",
    r"docs/(\w+)\.md": r"pages/\1.html",
    r"docs/(\w+\.(png|svg))": r"\1",
    r"(SECURITY|CHANGELOG)\.\w+": r"pages/\1.html",
    r"docs/docsite/rst/(\w+)\.rst": rf"{REFERENCE}/docsite/\1.html",
    r"roles/(\w+)/README\.md": r"pages/\1.html",
    r"plugins/modules/(\w+)\.py": rf"{REFERENCE}/\1_module.html",
    r"plugins/(filter|inventory|lookup)/(\w+)\.\w+": rf"{REFERENCE}/\2_\1.html",
}
# README is the first page.
MENU = f"""
```{{toctree}}
:hidden:
:glob:
Guides and reference <{REFERENCE}/index>
Environment variables <collections/environment_variables>
pages/*
```
"""
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
    # Links are those of the HTML already.
    "myst_all_links_external=1",
    # References to Ansible's own guides stay plain text, because intersphinx would need the network.
    "suppress_warnings=ref.ref",
)


def _run(root: Path, *command: str) -> int:
    environment = {**os.environ, "PATH": PATH, "ANSIBLE_COLLECTIONS_PATH": str(root.parents[len(COLLECTION.parts) - 1])}
    return subprocess.run(command, cwd=root, env=environment, check=False, timeout=LONGEST).returncode


def main() -> int:
    """Check, and render even if the check fails, so that its writer can see the page."""
    with copied_tree() as root:
        code = _run(root, "antsibull-docs", "lint-collection-docs", "--plugin-docs", ".")
        code = _render(root) or code
    print("\n".join(broken := _broken_links()) or f"The site is {OUTPUT / 'index.html'}")
    return code or int(bool(broken))


def _on_site(path: str) -> str | None:
    for pattern, place in SITE.items():
        if found := re.fullmatch(pattern, path):
            return found.expand(place).lower()
    return None


def _for_the_menu(page: str) -> str:
    """Shorten the title of a generated page, and remove its contents: the theme shows them beside the page."""
    # The index has no description of the role, and the site has no other collections.
    page = re.sub(r" --[ ]*$|^\.\. seealso::\n\n +List of .*\n", "", page, flags=re.MULTILINE)
    page = re.sub(r"^\.\. contents::.*\n(?:   .*\n)*", "", page, flags=re.MULTILINE)
    return re.sub(rf"^{re.escape(NAME)}\.(\w+ \w+)(?: -- .*)?$", r"\1", page, count=1, flags=re.MULTILINE)


def _render(root: Path) -> int:
    pages = root.parent / "pages"
    (pages / "pages").mkdir(parents=True)
    shutil.rmtree(OUTPUT, ignore_errors=True)
    code = _run(root, "antsibull-docs", "collection", "--use-current", "--no-indexes", f"--dest-dir={pages}", NAME)
    for page in pages.rglob("*.rst"):
        page.write_text(_for_the_menu(page.read_text(encoding="utf-8")), encoding="utf-8")
    files = [
        *root.glob("*.[mr]*"),
        *root.glob("docs/*.*"),
        *root.glob("docs/docsite/rst/*.rst"),
        *root.glob("roles/*/*.md"),
    ]
    for path, place in [(file.relative_to(root), _on_site(str(file.relative_to(root)))) for file in files]:
        if place and place.endswith(".html"):

            def url(target: str, start: str = os.path.dirname(place)) -> str:
                return os.path.relpath(there, start or ".") if (there := _on_site(target)) else on_forge(target)

            text = rewritten((root / path).read_text(encoding="utf-8"), path, url)
            page = (pages / place).with_suffix(path.suffix)
            page.write_text(text + (MENU if place == "index.html" else ""), encoding="utf-8")
        elif place:
            shutil.copy(root / path, pages / place)
    settings = [*SETTINGS, f"html_static_path={root / 'docs' / 'docsite' / 'static'}"]
    options = [option for setting in settings for option in ("-D", setting)]
    sphinx = ("sphinx-build", "-q", "-E", "-W", "--keep-going", "-C", *options, str(pages), str(OUTPUT))
    return _run(root, *sphinx) or code


class _Page(HTMLParser):
    """The links of a page, and the ids that links can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.add(given.get("id", ""))
        link = given.get({"a": "href", "img": "src"}.get(tag, ""), "")
        if not re.match("[a-z]+:", link):
            self.links.append(unquote(link))


def _broken_links() -> list[str]:
    pages = {path: _Page(path) for path in OUTPUT.rglob("*.html")}
    broken = []
    for page, link in [(path, link) for path, parsed in pages.items() for link in parsed.links]:
        path, place = urldefrag(link)
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (target in pages and place not in pages[target].ids):
            broken.append(f"{page}: nothing at {link}")
    return broken


if __name__ == "__main__":
    sys.exit(main())
