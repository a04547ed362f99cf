/* Packed convolutions for Helium: gather the bytes of a few pixels, multiply them with four channels, scale the sums. */
#include <string.h>

#include "tmo/packed.h"

#if TMO_RUNS_MVE

enum { VECTOR = 16, FOUR = 4 }; /* bytes of a vector; channels that a core takes at once */

static int8_t *tile_of(const tmo_kernel *k, uint32_t pixel) {
  return (int8_t *)k->scratch + pixel * (uint32_t)tmo_packed_values(k->op, k->in_channels);
}

/* In whole vectors. */
static void fill(int8_t *tile, int8_t zero, uint32_t values) {
  uint32_t *word = (uint32_t *)tile;
  for (uint32_t *const end = word + values / 4; word != end; ++word) *word = (uint8_t)zero * 0x01010101u;
}

void tmo_conv_mve_gather(const tmo_kernel *k, const tmo_window *w, uint32_t pixel) {
  const tmo_op *op = k->op;
  const uint32_t row = op->kernel_w * k->in_channels, columns = w->columns;
  const uint32_t rows = columns == 0 ? 0 : op->tile == 0 ? w->count : w->count / columns;
  int8_t *to = tile_of(k, pixel);
  if (rows < op->kernel_h || columns < op->kernel_w) fill(to, op->input_zero_point[0], (uint32_t)tmo_packed_values(op, k->in_channels));
  if (rows == 0) return;
  to += w->first_row * row + w->first_column * k->in_channels;
  if (op->tile == 0 && op->dilation_w == 1) {
    tmo_mve_copy(to, w->pixels, rows, w->offset, columns * k->in_channels, row);
    return;
  }
  for (uint32_t r = 0; r < rows; ++r, to += row) {
    for (uint32_t c = 0; c < columns; ++c) {
      const int8_t *const tap = op->tile == 0 ? w->pixels[r] + w->offset + c * op->dilation_w * k->in_channels : w->pixels[r * columns + c];
      if (k->in_channels == 1) {
        to[c] = *tap;
      } else {
        tmo_mve_copy(to + c * k->in_channels, &tap, 1, 0, k->in_channels, 0);
      }
    }
  }
}

static tmo_mve_job job_of(const tmo_kernel *k, uint32_t values, int8_t *out, uint32_t step) {
  const tmo_op *op = k->op;
  const tmo_mve_job job = {k->bias, out, step, values / VECTOR, k->out_channels, op->output_zero_point, op->act_min, op->act_max};
  return job;
}

/* The core for a job on a pixel, or on two. */
static tmo_mve_conv *core_for(const tmo_mve_job *job, uint32_t pixels) {
  const bool relu = job->zero == INT8_MIN && job->least == INT8_MIN && job->most == INT8_MAX;
  if (pixels == 2) return relu && job->channels % FOUR == 0 && job->step < UINT16_MAX - FOUR ? tmo_mve_relu_2 : tmo_mve_conv_2;
  return relu && job->channels % (2 * FOUR) == 0 ? tmo_mve_relu_1 : tmo_mve_conv_1;
}

void tmo_conv_mve_multiply(const tmo_kernel *k, const int8_t *bytes, uint32_t bytes_step, uint32_t pixels, int8_t *out, uint32_t step) {
  const tmo_mve_job job = job_of(k, (uint32_t)tmo_packed_values(k->op, k->in_channels), out, step);
  core_for(&job, pixels)(bytes != NULL ? bytes : tile_of(k, 0), bytes_step, k->weights, &job);
}

/* Pixels that are multiplied as they lie. */
static void pointwise(const tmo_kernel *k, const int8_t *bytes, int8_t *out) {
  const uint32_t step = k->op->stride_w * k->in_channels;
  tmo_mve_job job = job_of(k, k->in_channels, out, k->out_channels);
  tmo_mve_conv *const two = core_for(&job, 2);
  uint32_t left = k->out_width;
  for (; left > 1; left -= 2, bytes += 2 * step, job.out += 2 * job.step) two(bytes, step, k->weights, &job);
  if (left > 0) core_for(&job, 1)(bytes, step, k->weights, &job);
}

void tmo_conv_mve_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  const tmo_op *op = k->op;
  if (op->kernel_h == 1 && op->kernel_w == 1 && k->in_channels % VECTOR == 0) {
    pointwise(k, rows->pixels[0], out);
    return;
  }
  const uint32_t values = (uint32_t)tmo_packed_values(op, k->in_channels), row = op->kernel_w * k->in_channels;
  tmo_mve_job job = job_of(k, values, out, k->out_channels);
  tmo_run_of_columns inside = tmo_inside(k);
  if (op->dilation_w > 1 || rows->count < op->kernel_h) inside.count = 0;
  uint32_t n;
  for (uint32_t x = 0; x < k->out_width; x += n, job.out += n * job.step) {
    n = tmo_packed_pixels(op, values, k->out_width - x);
    for (uint32_t p = 0; p < n; ++p) {
      if (x + p - inside.first < inside.count) {
        const uint32_t offset = ((x + p) * op->stride_w - op->pad_left) * k->in_channels;
        tmo_mve_copy(tile_of(k, p), rows->pixels, op->kernel_h, offset, row, row);
      } else {
        const tmo_window window = tmo_column(k, rows, (uint16_t)(x + p));
        tmo_conv_mve_gather(k, &window, p);
      }
    }
    core_for(&job, n)(tile_of(k, 0), values, k->weights, &job);
  }
}

#if TMO_TWINS

static void conv_in_c(uint32_t pixels, const int8_t *bytes, uint32_t step, const int8_t *weights, const tmo_mve_job *job) {
  for (uint32_t c = 0; c < job->channels; ++c) {
    const int32_t *scales = job->scales + c / FOUR * 3 * FOUR + c % FOUR;
    for (uint32_t p = 0; p < pixels; ++p) {
      uint32_t sum = (uint32_t)scales[0];
      for (uint32_t i = 0; i < VECTOR * job->turns; ++i) {
        const uint32_t at = ((c / FOUR * job->turns + i / VECTOR) * FOUR + c % FOUR) * VECTOR + i % VECTOR;
        sum += (uint32_t)(weights[at] * bytes[p * step + i]);
      }
      const int32_t value = tmo_wrapping_add(tmo_mve_scaled((int32_t)sum, scales[FOUR], scales[2 * FOUR]), job->zero);
      job->out[p * job->step + c] = tmo_clamp(value, job->least, job->most);
    }
  }
}

#define TWIN(core, pixels)                                                                                       \
  void tmo_mve_##core##_##pixels(const int8_t *bytes, uint32_t step, const int8_t *weights, const tmo_mve_job *job) { \
    conv_in_c(pixels, bytes, step, weights, job);                                                                  \
  }
TWIN(conv, 1)
TWIN(conv, 2)
TWIN(relu, 1)
TWIN(relu, 2)

void tmo_mve_copy(int8_t *to, const int8_t *const *rows, uint32_t n, uint32_t offset, uint32_t bytes, uint32_t step) {
  for (uint32_t r = 0; r < n; ++r) memcpy(to + r * step, rows[r] + offset, bytes);
}

/* Sixteen channels of so many taps, of which the constants have a multiple of two; gives the next constants. */
static const int8_t *sixteen(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t at, uint32_t n_taps, const int8_t *range) {
  static const uint8_t order[VECTOR] = {0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15};
  int32_t bias[VECTOR], scales[2 * VECTOR];
  uint32_t sums[VECTOR];
  memcpy(bias, constants, sizeof bias);
  constants += sizeof bias;
  for (uint32_t i = 0; i < VECTOR; ++i) sums[order[i]] = (uint32_t)bias[i];
  for (uint32_t t = 0; t < n_taps; ++t) {
    for (uint32_t c = 0; c < VECTOR; ++c) sums[c] += (uint32_t)(constants[t * VECTOR + c] * taps[t][at + c]);
  }
  constants += (n_taps + 1) / 2 * 2 * VECTOR;
  memcpy(scales, constants, sizeof scales);
  for (uint32_t i = 0; i < VECTOR; ++i) {
    const int32_t value = tmo_wrapping_add(tmo_mve_scaled((int32_t)sums[order[i]], scales[i], scales[VECTOR + i]), range[0]);
    out[order[i]] = tmo_clamp(value, range[1], range[2]);
  }
  return constants + sizeof scales;
}

static void depthwise_in_c(uint32_t n_taps, const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t pixels, uint32_t channels,
                           uint32_t step, const int8_t *range) {
  for (uint32_t p = 0; p < pixels; ++p, out += channels) {
    const int8_t *next = constants;
    for (uint32_t c = 0; c < channels; c += VECTOR) {
      if (c + VECTOR > channels) c = channels - VECTOR;
      next = sixteen(taps, next, out + c, p * step + c, n_taps, range);
    }
  }
}

void tmo_mve_depthwise(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t pixels, uint32_t turns, uint32_t channels,
                       uint32_t step, const int8_t *range) {
  depthwise_in_c(2 * turns, taps, constants, out, pixels, channels, step, range);
}

void tmo_mve_depthwise_9(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t pixels, uint32_t turns, uint32_t channels,
                         uint32_t step, const int8_t *range) {
  (void)turns;
  depthwise_in_c(9, taps, constants, out, pixels, channels, step, range);
}

#endif /* TMO_TWINS */

#endif /* TMO_RUNS_MVE */

typedef int tmo_conv_mve_is_not_empty; /* ISO C wants something in every file */
