"""Draws random calls of kernels in the kernel language, and builds small kernels that break a rule of the language."""

from collections.abc import Callable

import numpy as np
import pytest

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Index, KernelProgram
from tflm_memopt.kernels.meaning import run


def kernel_of(write: Callable[[Builder, Index], None]) -> KernelProgram:
    @kernel("a test")
    def small(b: Builder) -> None:
        (n,) = b.extents("n")
        write(b, n)

    return small


def refused(code: str, act: Callable[[], object]) -> str:
    with pytest.raises(KernelError) as caught:
        act()
    assert caught.value.code == code and caught.value.hint
    return str(caught.value)


def executed(write: Callable[[Builder, Index], None]) -> Callable[[], object]:
    small = kernel_of(write)
    given = {t.name: np.arange(5, dtype=np.int8) for t in small.tensors if not t.written and t.name != "work"}
    return lambda: run(small, {"n": 5}, given)
