"""The site has the files that pages link to outside docs/: CONTRIBUTING and CHANGELOG as pages, the others as they are.

A hook of MkDocs (https://www.mkdocs.org/user-guide/configuration/#hooks), named in mkdocs.yml.
"""

from __future__ import annotations

import importlib
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
OUTSIDE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "LICENSE", "schemas/channel.schema.json")
FOLDERS = ("ops", "channels")
LINK = re.compile(r"(\]\()([^)\s:]+)(\))")


def on_files(files: Any, config: Any) -> Any:
    """Add the files of the root that pages link to."""
    make = importlib.import_module("mkdocs.structure.files").File.generated
    names = [
        *OUTSIDE,
        *(f"{folder}/{path.name}" for folder in FOLDERS for path in (ROOT / folder).iterdir() if path.is_file()),
    ]
    for name in names:
        files.append(make(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Have links lead to where files are in the site: what is in docs/ and what is beside it share a root there."""
    source = page.file.src_uri
    return LINK.sub(lambda found: found[1] + within_the_site(found[2], source) + found[3], markdown)


def within_the_site(link: str, source: str) -> str:
    """The link of a page from where it is in the site; source: the page's path in the site."""
    path, mark, anchor = link.partition("#")
    if not path:
        return link
    folder = posixpath.dirname(source)
    folder = folder if source in OUTSIDE else posixpath.join("docs", folder)
    target = posixpath.normpath(posixpath.join(folder, path)).removeprefix("docs/")
    return posixpath.relpath(target, posixpath.dirname(source) or ".") + mark + anchor
