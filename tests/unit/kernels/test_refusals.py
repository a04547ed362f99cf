"""Wrong descriptions of kernels are refused with a message."""

import sys
from collections.abc import Callable

import numpy as np
import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "scripts"))

from descriptions.rows import batch_matmul
from schedules import scheduled, vectorise

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Index, KernelProgram, Type
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


def test_an_element_outside() -> None:
    def write(b: Builder, n: Index) -> None:
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        with b.loop("i", n) as i:
            b.ram_store(y, b.ram_load(x, i + 1), i)

    assert "'x' has 5 elements, but element 5" in refused("bad_kernel", executed(write))


def test_a_read_of_what_was_never_stored() -> None:
    def never(b: Builder, n: Index) -> None:
        x, y = b.ram("work", Type.INT8, n), b.output("y", Type.INT8, n)
        with b.loop("i", n) as i:
            b.ram_store(y, b.ram_load(x, i), i)

    refused("bad_kernel", executed(never))


def test_loops_that_cannot_be_vectorised() -> None:
    def shifted(b: Builder, n: Index) -> None:
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        with b.loop("i", n) as i, b.inside(i - 1, n):
            b.ram_store(y, b.ram_load(x, i - 1), i)

    def rewritten(var: str) -> Callable[[], object]:
        return lambda: scheduled(batch_matmul, [vectorise(var)])

    assert "'r1' goes from turn to turn" in refused("bad_kernel", rewritten("i"))
    assert "whether -1 + i lies inside" in refused(
        "bad_kernel", lambda: scheduled(kernel_of(shifted), [vectorise("i")])
    )
    assert "has 0 loops over 'z'" in refused("bad_kernel", rewritten("z"))


def test_an_output_that_is_stored_twice_or_not_everywhere() -> None:
    def twice(b: Builder, n: Index) -> None:
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        with b.loop("i", n) as i:
            b.ram_store(y, b.ram_load(x, i), 0)

    def once(b: Builder, n: Index) -> None:
        x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
        b.ram_store(y, b.ram_load(x, 0), 0)

    refused("bad_kernel", executed(twice))
    refused("bad_kernel", executed(once))
