"""Kernels of the user's own (ops/own.py) as a C file."""

from __future__ import annotations

from collections.abc import Mapping

from tflm_memopt.ops.described import MADE, OwnKernel

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

static inline int32_t tmo_rescale_wide(int64_t x, int32_t multiplier, int32_t shift) {{
  const uint64_t reduced = multiplier < 0x7FFF0000 ? (uint64_t)((multiplier + (1 << 15)) >> 16) : 0x7FFF;
  const uint32_t right = (uint32_t)(15 - shift);
  return (int32_t)((int64_t)((uint64_t)x * reduced + ((uint64_t)1 << (right - 1))) >> right);
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


def source(name: str, made: Mapping[int, OwnKernel] = MADE) -> str:
    """A C file with a function of that name, which lets programs run the kernels."""
    rows = ",\n".join(
        f"  {{{k.identity:#x}u, {k.channels}, {k.operands}, pixel_{k.identity:x}}}" for k in made.values()
    )
    return FILE.format(name=name, functions="\n".join(k.function for k in made.values()), rows=rows)
