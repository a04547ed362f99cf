"""The kernels that a model needs: flags for a build of the C library without others (tmo/build.h)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tflm_memopt.lower.program import HEADER, OP
from tflm_memopt.model.packing import Packing


def kernel_flags(programs: Iterable[bytes]) -> tuple[str, str]:
    """What defines TMO_KINDS and TMO_PACKINGS for a compiler.

    >>> kernel_flags([])
    ('-DTMO_KINDS=0x0ull', '-DTMO_PACKINGS=0x0ull')
    """
    kinds = packings = 0
    for program in programs:
        header = np.frombuffer(program, HEADER, 1)[0]
        for op in np.frombuffer(program, OP, int(header["n_ops"]), int(header["ops"])):
            if op["packing"] == Packing.NONE:
                kinds |= 1 << int(op["kind"])
            else:
                packings |= 1 << int(op["packing"])
    return f"-DTMO_KINDS={kinds:#x}ull", f"-DTMO_PACKINGS={packings:#x}ull"
