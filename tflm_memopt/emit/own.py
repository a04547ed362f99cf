"""Finds the user's custom kernels (ops/own.py) that a model needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tflm_memopt.errors import UsageError
from tflm_memopt.lower.program import HEADER, OP
from tflm_memopt.ops.custom import MADE, OwnKernel
from tflm_memopt.ops.kinds import Kind, traits
from tflm_memopt.runtime.regions import CustomOperator


def own_kernels(regions: Iterable[CustomOperator]) -> Mapping[int, OwnKernel]:
    """Return the custom kernels of a model's regions by identity. Raises UsageError if a kernel is not registered."""
    found: dict[int, OwnKernel] = {}
    for region in regions:
        header = np.frombuffer(region.program, HEADER, 1)[0]
        for op in np.frombuffer(region.program, OP, int(header["n_ops"]), int(header["ops"])):
            if not traits(Kind(op["kind"])).named:
                continue
            if (identity := int(op["identity"])) not in MADE:
                raise UsageError(
                    f"the model needs your custom kernel {identity:#x}, which is not registered",
                    code="unsupported_operator",
                    hint="import the module that describes it, and convert the original again",
                )
            found[identity] = MADE[identity]
    return found
