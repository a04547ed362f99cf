"""Describe vMCU's inverted bottleneck (Figure 6), and run its C code in as many bytes as the paper's formula gives."""

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from papers.vmcu.vmcu import Module, distance, vmcu

from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.descriptions.windows import taps
from tflm_memopt.kernels.instructions import REF
from tflm_memopt.kernels.language import Index, KernelProgram, Type
from tflm_memopt.kernels.write_c import function, operands_struct

Int8s = NDArray[np.int8]


def bottleneck(*, residual: bool) -> Callable[[Builder], None]:
    """The kernel of Figure 6 makes one output pixel at a time, so that only 3 x 3 + 1 + 1 pixels of inner tensors
    exist. The kernel clamps sums instead of requantising them, which changes no address.
    """

    def describe(b: Builder) -> None:
        height, width, c_in, c_mid, c_out = b.extents("height", "width", "c_in", "c_mid", "c_out")
        out_h, out_w = b.extents("out_h", "out_w")
        a, e = b.ram("a", Type.INT8, height, width, c_in), b.output("e", Type.INT8, out_h, out_w, c_out)
        kernel_h, kernel_w = Index.name("kernel_h"), Index.name("kernel_w")
        window = b.workspace("b", Type.INT8, kernel_h, kernel_w, c_mid)
        middle, made = b.workspace("c", Type.INT8, c_mid), b.workspace("d", Type.INT8, c_out)
        expand, project = b.flash("expand", Type.INT8, c_mid, c_in), b.flash("project", Type.INT8, c_out, c_mid)
        filters = b.flash("filters", Type.INT8, kernel_h, kernel_w, c_mid)
        low, high = Index.of(-128), Index.of(127)
        with b.loop("p", out_h) as p, b.loop("q", out_w) as q:
            with taps(b, height, width, (p, q)) as (r, s, y, x), b.loop("m", c_mid) as m:
                total = b.broadcast(Type.INT32, Index.of(0))
                with b.loop("i", c_in) as i:
                    b.dot(total, b.ram_load(a, y, x, i), b.flash_load(expand, m, i))
                b.ram_store(window, b.clamp(total, (low, high)), r, s, m)
            sizes = b.sizes, b.numbers
            b.sizes, b.numbers = [], []
            with b.loop("j", c_mid) as j:
                total = b.broadcast(Type.INT32, Index.of(0))
                with taps(b, height, width, (p, q)) as (r, s, _, _):
                    b.dot(total, b.ram_load(window, r, s, j), b.flash_load(filters, r, s, j))
                b.ram_store(middle, b.clamp(total, (low, high)), j)
            b.sizes, b.numbers = sizes
            with b.loop("o", c_out) as o:
                total = b.broadcast(Type.INT32, Index.of(0))
                with b.loop("l", c_mid) as at:
                    b.dot(total, b.ram_load(middle, at), b.flash_load(project, o, at))
                b.ram_store(made, b.clamp(total, (low, high)), o)
            with b.loop("n", c_out) as n:
                value = b.broadcast(Type.INT32, b.ram_load(made, n))
                if residual:
                    value = b.compute("add", Type.INT32, value, b.ram_load(a, p, q, n))
                b.ram_store(e, b.clamp(value, (low, high)), p, q, n)

    return describe


inverted_bottleneck = kernel("e = d + a, d = project(window(expand(a))), a pixel at a time")(bottleneck(residual=True))
bottleneck_without_add = kernel("e = project(window(expand(a))), a pixel at a time")(bottleneck(residual=False))


def equals_whole_tensors(m: Module) -> bool:
    """Return whether the kernel's output equals that of separate layers on whole tensors.

    The output begins at the start of the memory and grows into the input. The kernel's workspaces follow the input.
    """
    random, stride = np.random.default_rng(1), m.strides[1]
    out, pad = -(-m.size // stride), (m.kernel - 1) // 2

    def drawn(*shape: int) -> Int8s:
        return random.integers(-9, 10, shape, np.int8)

    a, expand = drawn(m.size, m.size, m.c_in), drawn(m.c_mid, m.c_in)
    filters, project = drawn(m.kernel, m.kernel, m.c_mid), drawn(m.c_out, m.c_mid)
    pool = np.zeros(vmcu(m), np.int8)
    source = pool[distance(m) :][: a.size]
    source[:] = a.ravel()
    taps, between = len(filters) ** 2 * m.c_mid, max(distance(m) + a.size, out * out * m.c_out)
    places = {"a": source, "e": pool, "b": pool[between:], "c": pool[between + taps :], "d": pool[-m.c_out :]}
    arrays = {**places, "expand": expand, "project": project, "filters": filters}
    numbers = {"height": m.size, "width": m.size, "c_in": m.c_in, "c_mid": m.c_mid, "c_out": m.c_out}
    numbers |= {"out_h": out, "out_w": out, "kernel_h": m.kernel, "kernel_w": m.kernel, "pad_top": pad, "pad_left": pad}
    numbers |= {"stride_h": stride, "stride_w": stride, "dilation_h": 1, "dilation_w": 1}
    _run(inverted_bottleneck if m.residual else bottleneck_without_add, arrays, numbers)
    expected = _layers(m, a, expand, filters, project)
    return np.array_equal(pool[: expected.size], expected.ravel())


def _run(program: KernelProgram, arrays: Mapping[str, Int8s], numbers: Mapping[str, int]) -> None:
    pointers = [(t.name, ctypes.c_void_p) for t in program.tensors]
    values = [(name, ctypes.c_int32) for name in (*program.extents, *program.parameters)]
    operands = type("Operands", (ctypes.Structure,), {"_fields_": [*pointers, *values]})
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "kernel.c"), Path(folder, "kernel.so")
        source.write_text(f"#include <stdint.h>\n{operands_struct(program)}{function(program, REF)}")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        run = getattr(ctypes.CDLL(str(library)), f"tmo_{program.name}_{REF.name}")
        run(ctypes.byref(operands(**{name: array.ctypes.data for name, array in arrays.items()}, **numbers)))


def _layers(m: Module, a: Int8s, expand: Int8s, filters: Int8s, project: Int8s) -> Int8s:
    pad, stride = (m.kernel - 1) // 2, m.strides[1]
    expanded = np.pad(_clipped(a @ expand.T.astype(np.int32)), ((pad, pad), (pad, pad), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(expanded, (m.kernel, m.kernel), (0, 1))[::stride, ::stride]
    middle = _clipped(np.einsum("pqcrs,rsc->pqc", windows, filters.astype(np.int32)))
    made = _clipped(middle @ project.T.astype(np.int32))
    return _clipped(made.astype(np.int32) + a) if m.residual else made


def _clipped(sums: NDArray[np.int32]) -> Int8s:
    return np.clip(sums, -128, 127).astype(np.int8)
