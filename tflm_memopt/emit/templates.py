"""Fills in the templates of this folder."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

TEMPLATES = Environment(
    loader=PackageLoader("tflm_memopt", "emit"),
    autoescape=False,  # the templates are C, not HTML
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def rendered(template: str, **context: Any) -> str:
    """Return the text of a template of this folder. context: values of the template's variables."""
    return TEMPLATES.get_template(template).render(**context)
