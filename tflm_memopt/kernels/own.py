"""An operator of your own: a description, put beside the library's operators by a decorator (docs/own-operator.md).

    @operator("CUMSUM", numbers)
    def cumsum(b: Builder) -> None: ...

It makes a pixel `y` of int8 of a pixel `x`, both of `channels`: what stands along the last dimension of a tensor. For
each operator of a model that has the form, its extents and numbers are put into the description, the NumPy reading is
run, which proves that no element outside of x and y is accessed, and C is written for them alone: whatever a damaged
program says, that C only ever sees its own numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels import meaning
from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.instructions import REF
from tflm_memopt.kernels.language import Index, KernelProgram, Memory, Operand, Reg, Type
from tflm_memopt.kernels.rewrites import bind
from tflm_memopt.kernels.write_c import lines
from tflm_memopt.ops import quant
from tflm_memopt.ops.own import DESCRIBED, Numbers, OwnOperator
from tflm_memopt.ops.site import Site

__all__ = [
    "MADE", "Builder", "Index", "Operand", "OwnKernel", "Reg", "Site", "Type",
    "last_dimension", "operator", "quant", "source",
]  # fmt: skip

TENSORS = (("x", False), ("y", True))
MADE: dict[int, OwnKernel] = {}
"""What the models needed that were read so far, by identity."""

FILE = """\
/* Kernels of the application's own, from their descriptions. Written by tflm-memopt (docs/own-operator.md). */
#include "tmo/own.h"

/* As in the library, whose own headers are not here. */
static inline int32_t tmo_high_mul(int32_t a, int32_t b) {{
  if (a == INT32_MIN && b == INT32_MIN) return INT32_MAX;
  return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}}

static inline int32_t tmo_shift_saturated(int32_t x, uint32_t left) {{
  const int32_t limit = INT32_MAX >> left;
  return x > limit ? INT32_MAX : x < -limit ? INT32_MIN : (int32_t)((uint32_t)x << left);
}}

static inline int32_t tmo_zeros_above(uint32_t x) {{
  int32_t n = 0;
  for (; n < 31 && x < (uint32_t)1 << 31; x <<= 1) ++n;
  return n;
}}

static inline int32_t tmo_high_scale(int32_t x, int32_t multiplier) {{
  return (int32_t)(((int64_t)x * multiplier + ((int64_t)1 << 30)) >> 31);
}}

static inline int32_t tmo_round_shift(int32_t x, uint32_t exponent) {{
  if (exponent == 0) return x;
  const int64_t half = (int64_t)1 << (exponent - 1);
  return (int32_t)(x < 0 ? -((half - x) >> exponent) : (half + x) >> exponent);
}}

static inline int32_t tmo_divide_rounded(int32_t x, int32_t divisor) {{
  const int32_t half = divisor / 2;
  return (int32_t)((uint32_t)x + (uint32_t)(x < 0 ? -half : half)) / divisor;
}}

static inline int32_t tmo_rescale(int32_t x, int32_t multiplier, int32_t shift) {{
  if (shift >= 0) return tmo_high_scale((int32_t)((uint32_t)x << shift), multiplier);
  return tmo_round_shift(tmo_high_scale(x, multiplier), (uint32_t)-shift);
}}

static inline int32_t tmo_clip16(int32_t x, int32_t exponent) {{
  const int32_t rounded = (int32_t)((uint32_t)x + (1u << exponent >> 1)) >> exponent;
  return rounded < INT16_MIN ? INT16_MIN : rounded > INT16_MAX ? INT16_MAX : rounded;
}}

static inline int8_t tmo_clamp(int32_t x, int8_t low, int8_t high) {{
  return (int8_t)(x < low ? low : x > high ? high : x);
}}

{functions}
static const tmo_own_kernel kernels[] = {{
{rows}
}};
static tmo_own_table table = {{kernels, sizeof kernels / sizeof kernels[0], 0}};

/* Call it before a model is prepared. */
void {name}(void);
void {name}(void) {{ tmo_own_use(&table); }}
"""


@dataclass(frozen=True, slots=True)
class OwnKernel:
    """A description for certain extents and numbers."""

    identity: int
    channels: int
    function: str
    """Its C, a function of this name: pixel_IDENTITY."""


def operator(name: str, numbers: Numbers = lambda site: {}) -> Callable[[Callable[[Builder], None]], KernelProgram]:
    """Runs all operators of a TFLite name by a description, from now on. numbers: its parameters for one of them."""

    def described(describe: Callable[[Builder], None]) -> KernelProgram:
        program = kernel(name)(describe)
        _is_of_pixels(program)
        DESCRIBED[name] = OwnOperator(numbers, lambda values: _made(program, values).identity)
        return program

    return described


def last_dimension(site: Site, k: int) -> bool:
    """Whether operand k, a constant, is the number of the last dimension."""
    operand, rank = site.tensor(k), len(site.input().shape)
    stated = [] if operand is None or operand.data is None else operand.data.reshape(-1).tolist()
    return len(stated) == 1 and stated[0] % rank == rank - 1


def source(name: str, made: Mapping[int, OwnKernel] = MADE) -> str:
    """A C file with a function of that name, which lets programs run the kernels."""
    rows = ",\n".join(f"  {{{k.identity:#x}u, {k.channels}, pixel_{k.identity:x}}}" for k in made.values())
    return FILE.format(name=name, functions="\n".join(k.function for k in made.values()), rows=rows)


def _is_of_pixels(program: KernelProgram) -> None:
    found = tuple((t.name, t.written) for t in program.tensors)
    plain = all(t.type is Type.INT8 and t.memory is Memory.RAM for t in program.tensors)
    if found != TENSORS or not plain or program.extents != ("channels",):
        raise KernelError(
            f"{program.name} is no kernel of pixels: extents {', '.join(program.extents)}; tensors "
            + ", ".join(f"{t.name} ({t.memory.value}, {t.type.c})" for t in program.tensors),
            code="kernel_own",
            hint='the extent "channels", an input x and an output y of it, int8; everything else is a parameter',
        )


def _made(program: KernelProgram, values: Mapping[str, int]) -> OwnKernel:
    """Written once for the same values; KernelError where the description contradicts itself for them."""
    missing = sorted({*program.extents, *program.parameters} ^ values.keys())
    if missing:
        raise KernelError(
            f"{program.name} and its numbers() differ in {', '.join(missing)}",
            code="kernel_numbers",
            hint="a number for each of b.parameters(), and no other",
        )
    bound = bind(values)(program)
    body = "\n".join(lines(bound, REF))
    identity = zlib.crc32(body.encode()) >> 1
    if identity not in MADE:
        for x in (-128, 127):
            meaning.run(bound, {}, {"x": np.full(values["channels"], x, np.int8)})
        head = f"static void pixel_{identity:x}(const int8_t *x, int8_t *y) {{"
        MADE[identity] = OwnKernel(identity, values["channels"], f"/* {program.name} */\n{head}\n{body}\n}}\n")
    return MADE[identity]
