/* Packed additions for the DSP extension: three scalings of a few instructions each. */
#include "tmo/packed.h"

#if TMO_RUNS_DSP

#if TMO_CORE_DSP
#include <arm_acle.h>
#endif

/* scale: m2, c, e. See program.h. */
static inline int32_t scaled(int32_t x, const int32_t *scale) {
  int32_t t = (int32_t)((uint32_t)x + (uint32_t)(x >> 31) + (uint32_t)scale[1]);
#if TMO_CORE_DSP
  __asm__("smmlar %0, %1, %2, %0" : "+r"(t) : "r"(x), "r"(scale[0]));
#else
  t = (int32_t)((uint32_t)t + (uint32_t)(((int64_t)x * scale[0] + ((int64_t)1 << 31)) >> 32));
#endif
  return t >> scale[2];
}

/* Bytes are read before they are written, front to back. */
void tmo_add_packed(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_op *op = k->op;
  const int8_t *a = window->pixels[0], *b = window->pixels[1];
  const int32_t *const scales = k->bias;
  const int32_t first[3] = {scales[1], scales[2], scales[3]}, second[3] = {scales[5], scales[6], scales[7]};
  const int32_t last[3] = {scales[8], scales[9], scales[10]};
  const uint32_t left_a = (uint32_t)scales[0], left_b = (uint32_t)scales[4];
  const int32_t zero_a = op->input_zero_point[0], zero_b = op->input_zero_point[1];
  for (const int8_t *const end = a + k->out_width * k->out_channels; a != end; ++a, ++b, ++out) {
    const int32_t x = scaled((int32_t)((uint32_t)(*a - zero_a) << left_a), first), y = scaled((int32_t)((uint32_t)(*b - zero_b) << left_b), second);
    *out = tmo_clamp(scaled(tmo_wrapping_add(x, y), last), op->act_min, op->act_max);
  }
}

#endif /* TMO_RUNS_DSP */

typedef int tmo_add_packed_is_not_empty; /* ISO C wants something in every file */
