"""Fills in the templates of this folder."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined


def rendered(template: str, **context: Any) -> str:
    """Return a template of this folder, filled in."""
    text: str = _templates().from_string(_source(template)).render(**context)
    return text


@cache
def _templates() -> Environment:
    return Environment(  # C, not HTML
        autoescape=False, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )


@cache
def _source(template: str) -> str:
    return resources.files(__package__).joinpath(template).read_text(encoding="utf-8")
