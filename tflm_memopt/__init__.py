"""Rewrites .tflite models so that TensorFlow Lite Micro needs a fraction of the RAM, with the same output bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tflm_memopt.api import explore, fit, inspect, optimize, verify

__version__ = "0.1.0"
__all__ = ["explore", "fit", "inspect", "optimize", "verify"]


def __getattr__(name: str) -> Any:
    """The functions of api.py, imported when first asked for: `runtime` alone needs no solver."""
    if name in __all__:
        from tflm_memopt import api  # noqa: PLC0415

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
