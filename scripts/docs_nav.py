"""Hooks of mkdocs: pages of the navigation that are not written yet are left out of it; links to files of the
repository that are no pages become their text; a link that is named after a page's file gets the page's title; header
and footer state the version.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tflm_memopt import __version__

OUTSIDE = re.compile(r"\[([^\]]+)\]\((\.\./[^)#]+)(?:#[^)]*)?\)")

NAMED = re.compile(r"\[([\w-]+\.md)\]\(([\w-]+\.md)(#[^)]*)?\)")
"""A link whose text is the name of a page's file."""
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Called by mkdocs with its configuration."""
    config["extra"]["version_said"] = f"version {__version__}"
    config["copyright"] = f"tflm-memopt {__version__}, Apache License 2.0"
    config["nav"] = _existing(config["nav"], Path(config["docs_dir"]))
    return config


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Called by mkdocs with the text of each page."""
    docs = Path(config["docs_dir"])
    inside = OUTSIDE.sub(lambda link: link[1] if (docs / link[2]).exists() else link[0], markdown)
    return NAMED.sub(lambda link: f"[{_title(docs / link[2])}]({link[2]}{link[3] or ''})", inside)


def _title(page: Path) -> str:
    found = TITLE.search(page.read_text(encoding="utf-8")) if page.exists() else None
    return found[1] if found else page.name


def _existing(nav: list[Any], docs: Path) -> list[Any]:
    kept = []
    for entry in nav:
        ((title, target),) = entry.items()
        if isinstance(target, list):
            kept.append({title: _existing(target, docs)})
        elif (docs / target).exists():
            kept.append(entry)
    return kept
