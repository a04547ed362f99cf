"""Rewrites .tflite models so that TensorFlow Lite Micro needs a fraction of the RAM, with the same output bits.

import tflm_memopt

result = tflm_memopt.optimize("model.tflite")
result.save("out")
assert tflm_memopt.verify("model.tflite", result.model).bit_exact
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tflm_memopt.answers.devices import DevicesExploration, OptimizedDevices
    from tflm_memopt.answers.exploration import Exploration
    from tflm_memopt.answers.fits import Fits
    from tflm_memopt.answers.inspection import Inspection
    from tflm_memopt.answers.optimized import Optimized
    from tflm_memopt.answers.report import Report
    from tflm_memopt.api import combine_registers, explore, explore_devices, fit, optimize, optimize_devices
    from tflm_memopt.apps.app import App, AppModel
    from tflm_memopt.apps.results import AppExploration, AppOptimized
    from tflm_memopt.convert.inspecting import inspect
    from tflm_memopt.convert.verify import verify
    from tflm_memopt.devices.verify import verify_devices
    from tflm_memopt.errors import (
        DoesNotFit,
        InterfaceError,
        MemoptError,
        ModelError,
        PlanError,
        RuntimeUnavailable,
        UsageError,
    )
    from tflm_memopt.runtime.verification import Verification

__version__ = "0.1.0"
__all__ = [
    "App",
    "AppExploration",
    "AppModel",
    "AppOptimized",
    "DevicesExploration",
    "DoesNotFit",
    "Exploration",
    "Fits",
    "Inspection",
    "InterfaceError",
    "MemoptError",
    "ModelError",
    "Optimized",
    "OptimizedDevices",
    "PlanError",
    "Report",
    "RuntimeUnavailable",
    "UsageError",
    "Verification",
    "combine_registers",
    "explore",
    "explore_devices",
    "fit",
    "inspect",
    "optimize",
    "optimize_devices",
    "verify",
    "verify_devices",
]
PLACES = (
    "errors", "api", "answers.inspection", "answers.report", "apps.app", "convert.inspecting", "convert.verify",
    "devices.verify", "runtime.verification",
)  # fmt: skip
"""Modules that together define all public names."""


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, so that importing `tflm_memopt.runtime` needs no solver."""
    if name in __all__:
        modules = (import_module(f"{__name__}.{place}") for place in PLACES)
        return next(getattr(module, name) for module in modules if hasattr(module, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__name__", "__version__"]
