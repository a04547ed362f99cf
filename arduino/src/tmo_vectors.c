/* Calls of kernels from descriptions: what a window and an operator are in their words. */
#include "tmo/vectors.h"

#if TMO_RVV

#include <stddef.h>

static const int32_t no_bias;

enum { TMO_ADD_LEFT_SHIFT = 20 }; /* that the description has */

/* A window's pointers: of rows, in which columns lie `apart`, or of single pixels. */
typedef struct {
  uint32_t rows, columns;
  int32_t next_row, next_column, apart;
} grid;

static grid grid_of(const tmo_kernel *k, const tmo_window *v) {
  const grid rows = {v->count, v->columns, 1, 0, (int32_t)(k->op->dilation_w * k->in_channels)};
  const grid pixels = {v->columns > 0 ? v->count / v->columns : 0, v->columns, v->columns, 1, 0};
  return k->op->tile == 0 ? rows : pixels;
}

/* Sums that go on in another call are not for vectors. */
static bool at_once(const tmo_kernel *k) { return k->sums == NULL; }

/* n output pixels, under windows `step` bytes apart. */
static TMO_ALWAYS_INLINE void conv_pixels(const tmo_kernel *k, const tmo_window *v, int8_t *out, uint32_t n, uint32_t step) {
  grid g = grid_of(k, v);
  uint32_t channels = k->in_channels;
  if (k->op->tile == 0 && k->op->dilation_w == 1 && k->tap_step == channels) { /* a row's bytes lie side by side, and so do its weights */
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
  if (!at_once(k) || op->tile != 0 || !whole) return false; /* !whole: some windows are clipped */
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
  const bool repeated = k->channel_step[0] != 1 || k->channel_step[1] != 1;
  const bool apart = k->out_width > 1 && (k->pixel_step[0] != k->out_channels || k->pixel_step[1] != k->out_channels);
  const bool left = k->shifts[0] > 0 || k->shifts[1] > 0 || k->shifts[2] > 0;
  if (repeated || apart || left || op->param != TMO_ADD_LEFT_SHIFT) return false;
  const tmo_add_operands o = {.x = a, .other = b, .y = out, .n = n, .zero_a = op->input_zero_point[0],
                              .zero_b = op->input_zero_point[1], .zero_out = op->output_zero_point, .low = op->act_min,
                              .high = op->act_max, .scale_a = k->multipliers[0], .scale_b = k->multipliers[1],
                              .scale_out = k->multipliers[2], .right_a = -k->shifts[0], .right_b = -k->shifts[1],
                              .right_out = -k->shifts[2]};
  tmo_add_rvv(&o);
  return true;
}

#else
typedef int tmo_vectors_is_not_empty; /* ISO C wants something in every file */
#endif
