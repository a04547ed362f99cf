"""Fills in the Jinja templates of the package's folder emit/."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=False,  # The templates are C, so no characters are escaped for HTML.
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def rendered(template: str, **context: Any) -> str:
    return TEMPLATES.get_template(template).render(**context)
