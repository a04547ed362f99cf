"""Hooks of mkdocs: pages of the navigation that are not written yet are left out of it, and links to files of the
repository that are no pages become their text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]+)\]\((\.\./[^)#]+)(?:#[^)]*)?\)")


def on_config(config: Any) -> Any:
    """Called by mkdocs with its configuration."""
    config["nav"] = _existing(config["nav"], Path(config["docs_dir"]))
    return config


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Called by mkdocs with the text of each page."""
    docs = Path(config["docs_dir"])
    return OUTSIDE.sub(lambda link: link[1] if (docs / link[2]).exists() else link[0], markdown)


def _existing(nav: list[Any], docs: Path) -> list[Any]:
    kept = []
    for entry in nav:
        ((title, target),) = entry.items()
        if isinstance(target, list):
            kept.append({title: _existing(target, docs)})
        elif (docs / target).exists():
            kept.append(entry)
    return kept
