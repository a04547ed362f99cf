/* QUANTIZE and DEQUANTIZE between float32, int16 and int8: each element is read before the one that it becomes is written.
 *
 * Elements may lie anywhere, so that wide ones are copied. Without a library of mathematics: what a core lacks of float32 its compiler adds. */
#include <string.h>

#include "tmo/build.h"
#include "tmo/elements.h"
#include "tmo/kernels.h"

#define FAR 65536 /* further than any int16 and zero point: whatever lies beyond saturates */

static float scale_of(const tmo_kernel *k) {
  float scale;
  memcpy(&scale, &k->op->param, sizeof scale);
  return scale;
}

/* std::round, of what is neither far away nor not a number: the difference is exact. */
static int32_t nearest(float x) {
  if (x >= (float)FAR) return FAR;
  if (x <= (float)-FAR) return -FAR;
  if (x != x) return 0;
  const int32_t whole = (int32_t)x;
  const float rest = x - (float)whole;
  return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/* TFLM: AffineQuantize, kernels/internal/reference/quantize.h. */
static int32_t quantized(const tmo_kernel *k, const int8_t *from, uint32_t i, float scale) {
  float x;
  memcpy(&x, from + 4 * (size_t)i, sizeof x);
  return nearest(x / scale) + k->op->output_zero_point;
}

/* TFLM: Dequantize, kernels/internal/reference/dequantize.h, whose product in double is exact: so is this one, but for its rounding. */
static void dequantize(const tmo_kernel *k, int32_t x, float scale, int8_t *out, uint32_t i) {
  const float y = scale * (float)(x - k->op->input_zero_point[0]);
  memcpy(out + 4 * (size_t)i, &y, sizeof y);
}

static void put_int16(int8_t *out, uint32_t i, int32_t x) {
  tmo_put_int16(out + 2 * (size_t)i, x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x);
}

static int8_t saturate8(int32_t x) { return tmo_clamp(x, INT8_MIN, INT8_MAX); }

#define FOR_EACH(bytes, statement)                                           \
  do {                                                                       \
    const uint32_t n = k->out_width * k->out_channels / (bytes);             \
    for (uint32_t i = 0; i < n; ++i) statement;                              \
  } while (0)

void tmo_convert(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const in = window->pixels[0];
  const float scale = scale_of(k);
  switch (k->op->kind) {
    TMO_CASE_KIND(TMO_OP_QUANTIZE, FOR_EACH(1, out[i] = saturate8(quantized(k, in, i, scale))));
    TMO_CASE_KIND(TMO_OP_QUANTIZE_S16, FOR_EACH(2, put_int16(out, i, quantized(k, in, i, scale))));
    TMO_CASE_KIND(TMO_OP_DEQUANTIZE, FOR_EACH(4, dequantize(k, in[i], scale, out, i)));
    TMO_CASE_KIND(TMO_OP_DEQUANTIZE_S16, FOR_EACH(4, dequantize(k, tmo_int16_at(in + 2 * (size_t)i), scale, out, i)));
    TMO_CASE_KIND(TMO_OP_WIDEN, tmo_widen(k, window, out));
    TMO_CASE_KIND(TMO_OP_NARROW, tmo_narrow(k, window, out));
    default: if (tmo_has_kind(TMO_OP_RESCALE_S16)) tmo_rescale_s16(k, window, out);
  }
}
