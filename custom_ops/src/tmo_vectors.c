/* SPDX-License-Identifier: Apache-2.0 */
/* This file calls generated vector kernels for convolutions and additions. */
#include <string.h>

#include "tmo/packed.h"
#include "tmo/vectors.h"

#if TMO_RVV

#include <stddef.h>

static const int32_t no_bias;

enum { TMO_ADD_LEFT_SHIFT = 20 }; /* the left shift is a constant in the generated kernel */

/* Each address belongs to a pixel, or to a row whose columns are `apart` bytes apart. */
typedef struct {
  uint32_t rows, columns;
  int32_t next_row, next_column, apart;
} grid;

static grid grid_of(const tmo_kernel *k, const tmo_window *v) {
  const grid rows = {v->count, v->columns, 1, 0, (int32_t)(k->op->dilation_w * k->in_channels)};
  const grid pixels = {v->columns > 0 ? v->count / v->columns : 0, v->columns, v->columns, 1, 0};
  return tmo_by_row(k->op) ? rows : pixels;
}

/* Returns whether one kernel call computes the whole sum of an output, as the vector kernels require. */
static bool at_once(const tmo_kernel *k) { return k->sums == NULL; }

static TMO_ALWAYS_INLINE void conv_pixels(const tmo_kernel *k, const tmo_window *v, int8_t *out, uint32_t n, uint32_t step) {
  grid g = grid_of(k, v);
  uint32_t channels = k->in_channels;
  if (tmo_by_row(k->op) && k->op->dilation_w == 1 && k->tap_step == channels) { /* each row of the window has adjacent bytes and adjacent weights */
    channels *= g.columns;
    g.columns = 1;
  }
  const int32_t row_weights = (int32_t)(k->op->kernel_w * k->tap_step);
  tmo_conv_pixel_operands o = {
      .x = v->pixels, .y = out, .w = k->weights + tmo_first_tap(k, v), .bias = k->bias ? k->bias : &no_bias,
      .multipliers = k->multipliers, .shifts = k->shifts, .rows = g.rows, .columns = g.columns, .channels = channels,
      .filters = k->out_channels, .zero_in = k->op->input_zero_point[0], .zero_out = k->op->output_zero_point,
      .low = k->op->act_min, .high = k->op->act_max, .scale_step = k->op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0,
      .bias_step = k->bias ? 1 : 0, .next_row = g.next_row, .next_column = g.next_column, .apart = g.apart,
      .offset = (int32_t)v->offset, .row_weights = row_weights, .tap_weights = (int32_t)k->tap_step,
      .filter_weights = k->op->kernel_h * row_weights};
  for (; n > 0; --n, o.offset += (int32_t)step, o.y += k->out_channels) tmo_conv_pixel_rvv(&o);
}

bool tmo_conv_vectors(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  if (!at_once(k)) return false;
  conv_pixels(k, v, out + i, 1, 0);
  return true;
}

bool tmo_conv_row_vectors(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  const tmo_op *op = k->op;
  const bool whole = op->kernel_w == 1 && op->pad_left == 0 && (k->out_width - 1u) * op->stride_w < k->in_width;
  if (!at_once(k) || !tmo_by_row(op) || !whole) return false; /* the vector kernels need windows that are completely inside the input */
  const tmo_window first = tmo_column(k, rows, 0);
  conv_pixels(k, &first, out, k->out_width, op->stride_w * k->in_channels);
  return true;
}

bool tmo_depthwise_vectors(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  if (!at_once(k) || k->out_channels != k->in_channels) return false;
  const grid g = grid_of(k, v);
  const tmo_depthwise_pixel_operands o = {
      .x = v->pixels, .y = out + i, .w = k->weights + tmo_first_tap(k, v), .bias = k->bias ? k->bias : &no_bias,
      .multipliers = k->multipliers, .shifts = k->shifts, .rows = g.rows, .columns = g.columns, .channels = k->in_channels,
      .zero_in = k->op->input_zero_point[0], .zero_out = k->op->output_zero_point, .low = k->op->act_min, .high = k->op->act_max,
      .scale_step = k->op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0, .bias_step = k->bias ? 1 : 0, .next_row = g.next_row,
      .next_column = g.next_column, .apart = g.apart, .offset = (int32_t)v->offset,
      .row_weights = (int32_t)(k->op->kernel_w * k->tap_step), .tap_weights = (int32_t)k->tap_step};
  tmo_depthwise_pixel_rvv(&o);
  return true;
}

bool tmo_add_vectors(const tmo_kernel *k, const int8_t *a, const int8_t *b, int8_t *out) {
  const tmo_op *op = k->op;
  const uint32_t n = k->out_width * k->out_channels;
  const bool left = k->shifts[0] > 0 || k->shifts[1] > 0 || k->shifts[2] > 0;
  if (!tmo_is_elementwise(k) || left || op->left_shift != TMO_ADD_LEFT_SHIFT) return false;
  const tmo_add_operands o = {.x = a, .other = b, .y = out, .n = n, .zero_a = op->input_zero_point[0],
                              .zero_b = op->input_zero_point[1], .zero_out = op->output_zero_point, .low = op->act_min,
                              .high = op->act_max, .scale_a = k->multipliers[0], .scale_b = k->multipliers[1],
                              .scale_out = k->multipliers[2], .right_a = -k->shifts[0], .right_b = -k->shifts[1],
                              .right_out = -k->shifts[2]};
  tmo_add_rvv(&o);
  return true;
}

#endif /* TMO_RVV */

#if TMO_RUNS_RVV

/* On hosts, the library compiles the packed kernels without vector instructions. */
#if TMO_RVV
#define FROM_DESCRIPTION(name) tmo_##name##_rvv
#else
#define FROM_DESCRIPTION(name) tmo_##name##_ref
#define tmo_packed_conv_narrow_ref tmo_packed_conv_ref
#endif

enum { NARROW = 16 }; /* with more than NARROW channels, vectors of channels are faster than vectors of pixels */

static const int32_t *multipliers_of(const tmo_kernel *k) { return k->bias + k->out_channels; }
static const int16_t *rights_of(const tmo_kernel *k) { return (const int16_t *)(k->bias + 2 * k->out_channels); }

static uint32_t values_of(const tmo_kernel *k) { return (uint32_t)k->op->kernel_h * k->op->kernel_w * k->in_channels; }

void tmo_conv_rvv_multiply(const tmo_kernel *k, const int8_t *bytes, uint32_t bytes_step, uint32_t pixels, int8_t *out, uint32_t step) {
  const tmo_op *op = k->op;
  const tmo_packed_conv_operands o = {.x = bytes, .y = out, .w = k->weights, .bias = k->bias, .multipliers = multipliers_of(k),
                                      .rights = rights_of(k), .pixels = pixels, .values = values_of(k), .filters = k->out_channels,
                                      .apart = (int32_t)bytes_step, .step = (int32_t)step, .zero_out = op->output_zero_point,
                                      .low = op->act_min, .high = op->act_max};
  if (k->out_channels <= NARROW) {
    FROM_DESCRIPTION(packed_conv_narrow)(&o);
  } else {
    FROM_DESCRIPTION(packed_conv)(&o);
  }
}

/* Copies the input bytes under windows of whole rows, one window after another. The argument `offset` is the distance in bytes from the start of each
 * row to the first window. */
static void take_rows(const tmo_kernel *k, const tmo_window *rows, uint32_t pixels, uint32_t offset, uint32_t nbytes, int8_t *to) {
  const tmo_windows_operands o = {.x = rows->pixels, .y = to, .pixels = pixels, .rows = rows->count, .nbytes = nbytes, .first = (int32_t)offset,
                                  .apart = (int32_t)(k->op->stride_w * k->in_channels), .step = (int32_t)values_of(k),
                                  .next_row = (int32_t)(k->op->kernel_w * k->in_channels)};
  FROM_DESCRIPTION(windows)(&o);
}

static void take_pixels(const tmo_kernel *k, const int8_t *const *at, uint32_t n, uint32_t offset, int8_t *to) {
  const tmo_windows_operands o = {.x = at, .y = to, .pixels = 1, .rows = n, .nbytes = k->in_channels, .first = (int32_t)offset,
                                  .next_row = (int32_t)k->in_channels};
  FROM_DESCRIPTION(windows)(&o);
}

static void take(const tmo_kernel *k, const tmo_window *w, int8_t *to) {
  const tmo_op *op = k->op;
  const uint32_t pixel = k->in_channels, row = op->kernel_w * pixel, columns = w->columns;
  const uint32_t rows = columns == 0 ? 0 : tmo_reads_rows(k) ? w->count : w->count / columns;
  if (rows < op->kernel_h || columns < op->kernel_w) memset(to, op->input_zero_point[0], values_of(k));
  if (rows == 0) return;
  to += w->first_row * row + w->first_column * pixel;
  if (tmo_reads_rows(k) && op->dilation_w == 1) {
    take_rows(k, w, 1, w->offset, columns * pixel, to);
    return;
  }
  for (uint32_t r = 0; r < rows; ++r, to += row) {
    if (!tmo_reads_rows(k)) {
      take_pixels(k, w->pixels + r * columns, columns, 0, to);
      continue;
    }
    for (uint32_t c = 0; c < columns; ++c) take_pixels(k, w->pixels + r, 1, w->offset + c * op->dilation_w * pixel, to + c * pixel);
  }
}

void tmo_conv_rvv_gather(const tmo_kernel *k, const tmo_window *w, uint32_t pixel) { take(k, w, (int8_t *)k->scratch + pixel * values_of(k)); }

static void take_columns(const tmo_kernel *k, const tmo_window *rows, tmo_run_of_columns inside, uint32_t x, uint32_t n) {
  const tmo_op *op = k->op;
  const uint32_t pixel = k->in_channels;
  if (x >= inside.first && x + n <= inside.first + inside.count) {
    take_rows(k, rows, n, (x * op->stride_w - op->pad_left) * pixel, op->kernel_w * pixel, (int8_t *)k->scratch);
    return;
  }
  for (uint32_t p = 0; p < n; ++p) {
    const tmo_window column = tmo_column(k, rows, (uint16_t)(x + p));
    tmo_conv_rvv_gather(k, &column, p);
  }
}

void tmo_conv_rvv_columns(const tmo_kernel *k, const tmo_window *rows, const tmo_columns_job *columns) {
  const tmo_op *op = k->op;
  const uint32_t values = values_of(k);
  tmo_run_of_columns inside = tmo_inside(k);
  if (rows->count < op->kernel_h || op->dilation_w > 1) inside.count = 0;
  int8_t *out = columns->out;
  for (uint32_t x = columns->first, n; x < columns->end; x += n, out += n * columns->step) {
    n = tmo_packed_pixels(op, values, columns->end - x);
    if (n > columns->most) n = columns->most;
    take_columns(k, rows, inside, x, n);
    tmo_conv_rvv_multiply(k, (const int8_t *)k->scratch, values, n, out, columns->step);
  }
}

void tmo_conv_rvv_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  if (values_of(k) == k->in_channels) { /* single pixels without padding are read in place */
    tmo_conv_rvv_multiply(k, rows->pixels[0], k->op->stride_w * k->in_channels, k->out_width, out, k->out_channels);
    return;
  }
  const tmo_columns_job all = {0, k->out_width, TMO_PACKED_PIXELS, out, k->out_channels};
  tmo_conv_rvv_columns(k, rows, &all);
}

void tmo_depthwise_rvv(const tmo_kernel *k, const int8_t *const *taps, int8_t *out, uint32_t pixels, uint32_t step) {
  const tmo_op *op = k->op;
  const tmo_packed_depthwise_operands o = {
      .x = taps, .y = out, .w = k->weights, .bias = k->bias, .multipliers = multipliers_of(k), .rights = rights_of(k), .pixels = pixels,
      .taps = (uint32_t)op->kernel_h * op->kernel_w, .channels = k->out_channels, .apart = (int32_t)step,
      .zero_out = op->output_zero_point, .low = op->act_min, .high = op->act_max};
  FROM_DESCRIPTION(packed_depthwise)(&o);
}

#endif /* TMO_RUNS_RVV */
