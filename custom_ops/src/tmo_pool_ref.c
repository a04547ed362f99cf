#include "tmo/kernels.h"

static uint32_t add_taps(uint32_t sum, const int8_t *x, uint32_t step, uint32_t n) {
  for (; n > 0; --n, x += step) sum += (uint32_t)*x;
  return sum;
}

static uint32_t max_taps(uint32_t sum, const int8_t *x, uint32_t step, uint32_t n) {
  int32_t max = (int32_t)sum;
  for (; n > 0; --n, x += step) max = *x > max ? *x : max;
  return (uint32_t)max;
}

/* sum / count, halves away from zero. Sums that lie in the workspace may be anything if a damaged program overwrites them. */
static int32_t average(int32_t sum, int32_t count) {
  return tmo_wrapping_add(sum, sum > 0 ? count / 2 : -(count / 2)) / count;
}

/* count: pixels of the clipped window. */
static int8_t finish(const tmo_kernel *k, uint32_t sum, uint32_t count) {
  const tmo_op *op = k->op;
  if (op->kind == TMO_OP_MEAN) {
    const uint32_t zeros = (uint32_t)(int32_t)op->input_zero_point[0] * count;
    return tmo_channel_output(k, 0, sum - zeros);
  }
  const int32_t value = op->kind == TMO_OP_MAX_POOL ? (int32_t)sum : average((int32_t)sum, (int32_t)count);
  return tmo_clamp(value, op->act_min, op->act_max);
}

/* TFLM: kernels/internal/reference/integer_ops/pooling.h; MEAN: QuantizedMeanOrSum, kernels/internal/reference/reduce.h. */
void tmo_pool_row_s8(const tmo_kernel *k, const int8_t *const rows[], int8_t *out) {
  const bool is_max = k->op->kind == TMO_OP_MAX_POOL;
  const uint32_t initial = is_max ? (uint32_t)INT8_MIN : 0;
  const uint32_t window_rows = k->sums ? k->op->kernel_h : k->n_taps;
  const uint32_t channels = k->out_channels;
  uint32_t i = 0;
  for (uint16_t x = 0; x < k->out_width; ++x) {
    const tmo_taps taps = tmo_columns(k, x);
    for (uint32_t c = 0; c < channels; ++c, ++i) {
      const uint32_t pixel = taps.start * channels + c;
      uint32_t sum = tmo_sum_begin(k, i, initial);
      for (uint32_t r = 0; r < k->n_taps; ++r) {
        const int8_t *first = rows[r] + pixel;
        sum = is_max ? max_taps(sum, first, channels, taps.count) : add_taps(sum, first, channels, taps.count);
      }
      if (tmo_sum_end(k, i, sum)) out[i] = finish(k, sum, window_rows * taps.count);
    }
  }
}
