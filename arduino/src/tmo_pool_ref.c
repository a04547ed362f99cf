#include <stddef.h>

#include "tmo/packed.h"

static uint32_t add_taps(uint32_t sum, const int8_t *x, uint32_t step, uint32_t n) {
  for (; n > 0; --n, x += step) sum += (uint32_t)*x;
  return sum;
}

static uint32_t max_taps(uint32_t sum, const int8_t *x, uint32_t step, uint32_t n) {
  int32_t max = (int32_t)sum;
  for (; n > 0; --n, x += step) max = *x > max ? *x : max;
  return (uint32_t)max;
}

static uint32_t min_taps(uint32_t sum, const int8_t *x, uint32_t step, uint32_t n) {
  int32_t min = (int32_t)sum;
  for (; n > 0; --n, x += step) min = *x < min ? *x : min;
  return (uint32_t)min;
}

static bool is_extreme(const tmo_op *op) { return tmo_has_kind(TMO_OP_MAX_POOL) && op->kind == TMO_OP_MAX_POOL; }

/* sum / count, halves away from zero. Sums that lie in the arena may be anything if a damaged program overwrites them. */
static int32_t average(int32_t sum, int32_t count) {
  return tmo_wrapping_add(sum, sum > 0 ? count / 2 : -(count / 2)) / count;
}

/* A sum that slides is a mean's or an average's; of other kinds nobody has checked the multipliers. */
static bool is_mean(const tmo_op *op) {
  if (tmo_has_kind(TMO_OP_SLIDING_SUM) && op->kind == TMO_OP_SLIDING_SUM) return op->multipliers != 0;
  return tmo_has_kind(TMO_OP_MEAN) && op->kind == TMO_OP_MEAN;
}

int8_t tmo_pool_output(const tmo_kernel *k, uint32_t sum, uint32_t area) {
  const tmo_op *op = k->op;
  if (is_mean(op)) {
    const uint32_t zeros = (uint32_t)(int32_t)op->input_zero_point[0] * area;
    return tmo_channel_output(k, 0, sum - zeros);
  }
  const int32_t value = is_extreme(op) ? (int32_t)sum : average((int32_t)sum, (int32_t)area);
  return tmo_clamp(value, op->act_min, op->act_max);
}

static void add_pixels(int32_t *sums, const int8_t *pixels, uint32_t channels, uint32_t n) {
#if TMO_CORE_MVE
  tmo_mve_add_pixels(sums, pixels, channels, n);
#else
  for (; n > 0; --n) {
    for (uint32_t c = 0; c < channels; ++c) sums[c] = tmo_wrapping_add(sums[c], *pixels++);
  }
#endif
}

/* The same of taps that are added up in several calls, all channels of a tap after the other. */
static void add_up(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  int32_t *const sums = k->sums + i;
  const uint32_t channels = k->out_channels;
  for (uint32_t c = 0; k->first && c < channels; ++c) sums[c] = 0;
  for (uint32_t p = 0; p < v->count; ++p) add_pixels(sums, v->pixels[p] + v->offset, channels, tmo_by_row(k->op) ? v->columns : 1u);
  for (uint32_t c = 0; k->last && c < channels; ++c) out[i + c] = tmo_pool_output(k, (uint32_t)sums[c], v->area);
}

/* One output pixel; its channels are outputs i, i + 1, ..
 * TFLM: kernels/internal/reference/integer_ops/pooling.h; MEAN: QuantizedMeanOrSum, kernels/internal/reference/reduce.h. */
static void pool(const tmo_kernel *k, tmo_window v, uint32_t i, int8_t *out) {
  const bool extreme = is_extreme(k->op), is_min = extreme && k->op->param != 0;
  const uint32_t channels = k->out_channels;
  const uint32_t run = k->op->tile == 0 ? v.columns : 1; /* taps at each pointer */
  for (uint32_t c = 0; c < channels; ++c, ++i) {
    uint32_t sum = tmo_sum_begin(k, i, extreme ? (uint32_t)(is_min ? INT8_MAX : INT8_MIN) : 0);
    for (uint32_t p = 0; p < v.count; ++p) {
      const int8_t *first = v.pixels[p] + v.offset + c;
      sum = is_min ? min_taps(sum, first, channels, run) : extreme ? max_taps(sum, first, channels, run) : add_taps(sum, first, channels, run);
    }
    if (tmo_sum_end(k, i, sum)) out[i] = tmo_pool_output(k, sum, v.area);
  }
}

static void pool_pixel(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  if (k->sums != NULL && !is_extreme(k->op)) {
    add_up(k, v, i, out);
  } else {
    pool(k, *v, i, out);
  }
}

void tmo_pool_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, pool_pixel); }

void tmo_pool_pixel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { pool_pixel(k, window, 0, out); }
