/* Packed additions: three scalings of a few instructions each. */
#include <stddef.h>
#include <string.h>

#include "tmo/packed.h"

#if TMO_RUNS_DSP

#if TMO_CORE_MVE

/* For the core, which is in assembly. */
_Static_assert(offsetof(tmo_op, input_zero_point) == 2 && offsetof(tmo_op, output_zero_point) == 6 && offsetof(tmo_op, act_min) == 7 &&
                   offsetof(tmo_op, act_max) == 8,
               "as tmo_mve_add.S has it");

void tmo_add_packed(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  tmo_mve_add(window->pixels[0], window->pixels[1], out, k->out_width * k->out_channels, k->bias, k->op);
}

#else

/* scale: m2, c, e. See program.h. */
static int32_t scaled(int32_t x, const int32_t *scale) {
  const int32_t high = (int32_t)(((int64_t)x * scale[0] + ((int64_t)1 << 31)) >> 32);
  return (int32_t)((uint32_t)x + (uint32_t)(x >> 31) + (uint32_t)scale[1] + (uint32_t)high) >> scale[2];
}

static void add(const int8_t *a, const int8_t *b, int8_t *out, uint32_t n, const int32_t *scales, const int8_t *zeros) {
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t x = (uint32_t)(a[i] - zeros[0]) << scales[0], y = (uint32_t)(b[i] - zeros[1]) << scales[4];
    const int32_t sum = tmo_wrapping_add(scaled((int32_t)x, scales + 1), scaled((int32_t)y, scales + 5));
    out[i] = tmo_clamp(scaled(sum, scales + 8), INT8_MIN, INT8_MAX);
  }
}

/* Bytes are read before they are written, front to back. */
void tmo_add_packed(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_op *op = k->op;
  const int8_t *const a = window->pixels[0], *const b = window->pixels[1];
  const uint32_t n = k->out_width * k->out_channels, fours = n / 4 * 4;
  if (fours > 0) tmo_dsp_add(a, b, out, fours, k->bias, op->input_zero_point);
  add(a + fours, b + fours, out + fours, n - fours, k->bias, op->input_zero_point);
  tmo_packed_clamp(op, out, n);
}

#if TMO_TWINS

void tmo_dsp_add(const int8_t *a, const int8_t *b, int8_t *out, uint32_t n, const int32_t *scales, const int8_t *zeros) {
  add(a, b, out, n, scales, zeros);
}

#if TMO_RUNS_MVE
void tmo_mve_add(const int8_t *a, const int8_t *b, int8_t *out, uint32_t n, const int32_t *scales, const tmo_op *op) {
  add(a, b, out, n, scales, op->input_zero_point);
  tmo_packed_clamp(op, out, n);
}
#endif

#endif /* TMO_TWINS */

#endif

#endif /* TMO_RUNS_DSP */

typedef int tmo_add_packed_is_not_empty; /* ISO C wants something in every file */
