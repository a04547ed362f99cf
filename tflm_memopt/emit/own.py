"""Kernels of the user's own (ops/own.py) that a model needs, as a file beside it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tflm_memopt.emit.names import identifier
from tflm_memopt.emit.own_text import source
from tflm_memopt.errors import UsageError
from tflm_memopt.lower.records import HEADER, OP
from tflm_memopt.model.reader import Model
from tflm_memopt.ops.described import MADE, OwnKernel
from tflm_memopt.ops.kinds import KINDS, Kind
from tflm_memopt.runtime.regions import regions


def own_kernels(model: Model) -> Mapping[int, OwnKernel]:
    """By identity. Raises UsageError for one that this process does not know."""
    found: dict[int, OwnKernel] = {}
    for region in regions(model):
        header = np.frombuffer(region.program, HEADER, 1)[0]
        for op in np.frombuffer(region.program, OP, int(header["n_ops"]), int(header["ops"])):
            if not KINDS[Kind(op["kind"])].named:
                continue
            if (identity := int(op["param"])) not in MADE:
                raise UsageError(
                    f"the model needs a kernel of your own, {identity:#x}, which is not described here",
                    code="own_unknown",
                    hint="import the module that describes it, and convert the original again",
                )
            found[identity] = MADE[identity]
    return found


def own_file(name: str, model: Model, suffix: str) -> Mapping[str, str]:
    """NAME_own.c or NAME_own.cpp; nothing for a model that needs none."""
    kernels = own_kernels(model)
    return {f"{name}_own.{suffix}": source(_function(name), kernels)} if kernels else {}


def own_call(name: str, model: Model) -> tuple[str, str]:
    """The declaration of what it has, and the statement that calls it; empty for a model that needs none."""
    return (f"\nvoid {_function(name)}();", f"    {_function(name)}();\n") if own_kernels(model) else ("", "")


def own_c_call(name: str, model: Model) -> str:
    """The same in C, at the beginning of a function."""
    return f"  void {_function(name)}(void);\n  {_function(name)}();\n" if own_kernels(model) else ""


def no_own(kind: str, model: Model) -> None:
    """Raises UsageError for a model that needs kernels of the user's own."""
    if own_kernels(model):
        raise UsageError(f"--emit {kind} has no kernels of your own", code="own_emit", hint="--emit c, cpp, platformio")


def _function(name: str) -> str:
    return f"{identifier(name)}_own_kernels"
