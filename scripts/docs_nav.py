"""These hooks for mkdocs generate pages from the code, and show the version in header and footer."""

import re
import runpy
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from tflm_memopt import __version__

SCRIPTS = Path(__file__).parent
OUTSIDE = re.compile(r"\[([^\]]+)\]\((\.\./[^)#]+)(?:#[^)]*)?\)")


def on_config(config: Any) -> Any:
    config["extra"]["version_said"] = f"version {__version__}"
    config["copyright"] = f"tflm-memopt {__version__}, Apache License 2.0"
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Add generated pages to the site, where they replace shorter pages of docs/ with the same names."""
    pages = {name: make() for name, make in runpy.run_path(str(SCRIPTS / "reference.py"))["SITE"].items()}
    for script, page in (("operators", "operators.md"), ("program_format", "program-format.md")):
        pages[page] = runpy.run_path(str(SCRIPTS / f"{script}.py"))["site_page"]()
    for name, content in pages.items():
        if written := files.get_file_from_path(name):
            files.remove(written)
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Replace links to files outside docs/ by their text, because the site has no files from outside docs/."""
    docs = Path(config["docs_dir"])
    return OUTSIDE.sub(lambda link: link[1] if (docs / link[2]).exists() else link[0], markdown)
