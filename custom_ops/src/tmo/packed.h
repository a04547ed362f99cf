/* SPDX-License-Identifier: Apache-2.0 */
/* This internal header declares the kernels of operators that the converter packed (TMO_PACKING_*), and the inner loops of these kernels.
 *
 * Each inner loop (TMO_CORE) is written in assembly for an instruction set. A twin in portable C computes the same bits. Hosts use the twins in C to
 * run programs that are packed for other processors. Microcontrollers refuse programs that are packed for another processor. */
#ifndef TMO_PACKED_H_
#define TMO_PACKED_H_

#include "access.h"
#include "kernels.h"

/* The inner loops of packed kernels have the linkage TMO_CORE. Inner loops in assembly are never embedded in another file. */
#if TMO_TWINS
#define TMO_CORE TMO_LINKAGE
#else
#define TMO_CORE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the window of a packed convolution lists input rows instead of pixels. */
static inline bool tmo_reads_rows(const tmo_kernel *k) { return !tmo_has_part(TMO_PART_TILES) || k->whole_rows; }

/* Whether this library runs programs that are packed for a target. */
static inline bool tmo_runs_target(uint16_t target) {
  return target == TMO_TARGET_GENERIC || (target == TMO_TARGET_DSP && TMO_RUNS_DSP) || (target == TMO_TARGET_MVE && TMO_RUNS_MVE) ||
         (target == TMO_TARGET_RVV && TMO_RUNS_RVV) || (target == TMO_TARGET_ESP && TMO_RUNS_ESP);
}

/* Returns the number of values that an output channel of a packed convolution reads, including the padding of each row and of the whole window. */
static inline uint32_t tmo_packed_values(const tmo_op *op, uint32_t in_channels) {
  const uint32_t row = op->kernel_w * in_channels;
  if (tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) || tmo_is_packed_as(op, TMO_PACKING_ESP_CONV)) return (op->kernel_h * row + 15) / 16 * 16;
  if (tmo_is_packed_as(op, TMO_PACKING_RVV_CONV)) return op->kernel_h * row;
  return (op->kernel_h * ((row + 3) / 4 * 4) + 7) / 8 * 8;
}

/* Whether a packed operator multiplies its values as bytes instead of int16. */
static TMO_ALWAYS_INLINE bool tmo_packs_bytes(const tmo_op *op) {
  return tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) || tmo_is_packed_as(op, TMO_PACKING_RVV_CONV) ||
         tmo_is_packed_as(op, TMO_PACKING_ESP_CONV);
}

/* Returns the maximum number of input values that a packed convolution reads at once for two pixels together. For three or more pixels, the maximum
 * is three eighths of the returned number. */
static TMO_ALWAYS_INLINE uint32_t tmo_packed_tile(const tmo_op *op) { return tmo_packs_bytes(op) ? TMO_MVE_TILE : TMO_PACKED_TILE; }

/* Whether an operator computes two consecutive rows at once. Convolutions compute two rows at once if a row has five pixels. Depthwise convolutions
 * with 3x3 taps compute two rows at once for any width. */
static TMO_ALWAYS_INLINE bool tmo_makes_two_rows(const tmo_op *op) {
  if (!tmo_has_part(TMO_PART_TWO_ROWS) || !tmo_by_row(op) || op->at_once != 2) return false;
  return tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) || tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE);
}

/* Whether the scratch has room for all pixels that are computed at once, for any number of values per pixel. */
static inline bool tmo_has_wide_tile(const tmo_op *op) {
  return tmo_has_part(TMO_PART_DSP_WIDE) && tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) && (op->at_once == 1 || tmo_makes_two_rows(op));
}

/* Whether one pass over the weights computes the last five pixels of a row of `columns` pixels. A wide tile has room for five pixels. The kernel
 * computes three pixels and then two, while the cache keeps the weights of two channels. */
static inline bool tmo_makes_five(const tmo_op *op, uint32_t values, uint32_t columns) {
  return tmo_has_part(TMO_PART_DSP_PAIRS_5) && tmo_has_wide_tile(op) && tmo_by_row(op) && values <= TMO_FIVE_VALUES && columns >= TMO_FIVE_PIXELS && columns % TMO_PACKED_PIXELS == 1;
}

/* Returns the number of output pixels to compute at once. values: values of one pixel. left: number of remaining pixels. With the DSP extension,
 * the function leaves no single pixel for the end of the row, because a single pixel costs most. Six pixels are computed as twice three pixels if
 * windows are one pixel wide, because four and two pixels take more instructions. */
static inline uint32_t tmo_packed_pixels(const tmo_op *op, uint32_t values, uint32_t left) {
  if (tmo_is_packed_as(op, TMO_PACKING_ESP_CONV)) return 1;
  uint32_t most = tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) ? TMO_MVE_PIXELS : TMO_PACKED_PIXELS;
  if (left == TMO_FIVE_PIXELS && tmo_makes_five(op, values, left)) return left;
  if (!tmo_has_wide_tile(op)) {
    while (most > 1 && most * values > (most > 2 ? tmo_packed_tile(op) / 8 * 3 : tmo_packed_tile(op))) --most;
  }
  const bool threes = op->kernel_w == 1 && left == 2 * most - 2;
  if ((left == most + 1 || threes) && most > 2 && !tmo_packs_bytes(op)) --most;
  return left < most ? left : most;
}

/* Whether a packed convolution reads the bytes of its only pixel in place. */
static inline bool tmo_packed_direct(const tmo_op *op, uint32_t in_channels, uint32_t out_channels, uint32_t columns) {
  if (op->kernel_h != 1 || op->kernel_w != 1 || columns != 1 || tmo_is_packed_as(op, TMO_PACKING_ESP_CONV)) return false;
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) && !tmo_has_part(TMO_PART_DSP_DIRECT)) return false;
  if (tmo_is_packed_as(op, TMO_PACKING_RVV_CONV)) return true;
  return tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) ? in_channels % 16 == 0 : in_channels % 8 == 0 && out_channels >= 4;
}

/* Returns the number of groups of three interleaved pairs of channels in a dense layer. After the last group, two or four pairs may remain. */
static inline uint32_t tmo_dense_triples(uint32_t pairs) { return pairs / 3 - (pairs % 3 == 1 ? 1 : 0); }

static TMO_ALWAYS_INLINE bool tmo_packs_depthwise(const tmo_op *op) {
  return tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) || tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE) ||
         tmo_is_packed_as(op, TMO_PACKING_RVV_DEPTHWISE) || tmo_is_packed_as(op, TMO_PACKING_ESP_DEPTHWISE);
}

/* Returns the number of input columns under n adjacent windows, plus stride_w - 1 more columns that ESP-NN may read. */
static inline uint32_t tmo_esp_columns(const tmo_op *op, uint32_t n) { return n * op->stride_w + op->kernel_w - 1; }

/* Returns the channels of a depthwise convolution in ESP-NN, padded to whole vectors of int8. For few channels, or windows other than 3x3, ESP-NN
 * uses vectors of int16. */
static inline uint32_t tmo_esp_channels(const tmo_op *op, uint32_t channels) {
  return op->kernel_h == 3 && op->kernel_w == 3 && channels > 8 ? (channels + 15) / 16 * 16 : (channels + 7) / 8 * 8;
}

/* Returns the bytes of scratch that ESP-NN itself needs for n pixels, rounded up (esp_nn_get_depthwise_conv_scratch_size_esp32s3()). padded: number
 * of channels with padding. */
static inline uint32_t tmo_esp_depthwise_own(const tmo_op *op, uint32_t padded, uint32_t n) {
  const uint32_t filters = (uint32_t)op->kernel_h * op->kernel_w * padded;
  if (op->kernel_h == 3 && op->kernel_w == 3 && padded % 16 == 0) return filters + 32;
  return 2 * (filters + op->kernel_h * tmo_esp_columns(op, n) * padded) + 64;
}

/* Returns the bytes of all scratch of an ESP-NN call for n pixels. The scratch holds ESP-NN's own data, the input and the output of the call, and
 * some padding. */
static inline uint32_t tmo_esp_depthwise_bytes(const tmo_op *op, uint32_t padded, uint32_t n) {
  return tmo_esp_depthwise_own(op, padded, n) + (op->kernel_h * tmo_esp_columns(op, n) + n) * padded + 3 * 16;
}

/* Returns the number of pixels that one call of ESP-NN computes, which is at least one. columns: number of pixels of an iteration. */
static inline uint32_t tmo_esp_pixels(const tmo_op *op, uint32_t padded, uint32_t columns) {
  const uint32_t one = tmo_esp_depthwise_bytes(op, padded, 1), each = tmo_esp_depthwise_bytes(op, padded, 2) - one;
  if (one >= TMO_ESP_TILE || each == 0) return 1;
  const uint32_t n = 1 + (TMO_ESP_TILE - one) / each;
  return n < columns ? n : columns > 0 ? columns : 1;
}

/* Returns the number of consecutive iterations of one pixel each that may be computed at once. */
static TMO_ALWAYS_INLINE uint32_t tmo_at_once(const tmo_op *op) {
  const bool nine = tmo_has_part(TMO_PART_DSP_NINE) && tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) && (uint32_t)op->kernel_h * op->kernel_w == 9;
  if (!tmo_has_part(TMO_PART_AT_ONCE)) return 1;
  return op->tile == 1 && op->at_once > 1 && (nine || tmo_is_packed_as(op, TMO_PACKING_DSP_CONV)) ? (uint32_t)op->at_once : 1;
}

/* Returns the bytes of scratch of an operator that computes pixels of `out` from pixels of `in`. */
static inline uint32_t tmo_scratch_bytes(const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  const uint32_t values = tmo_packed_values(op, in->channels), columns = tmo_by_row(op) ? out->width : op->tile;
  if (tmo_is_packed_as(op, TMO_PACKING_ESP_DEPTHWISE)) {
    const uint32_t padded = tmo_esp_channels(op, in->channels);
    return tmo_esp_depthwise_bytes(op, padded, tmo_esp_pixels(op, padded, columns));
  }
  if (tmo_packs_depthwise(op)) return in->channels;
  if (tmo_is_packed_as(op, TMO_PACKING_ESP_CONV)) return values + 15;
  if (!tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) && !tmo_packs_bytes(op)) return 0;
  if (tmo_at_once(op) > 1) return 2 * values * tmo_at_once(op);
  if (tmo_makes_two_rows(op)) return 2 * values * 2 * columns;
  if (tmo_packed_direct(op, in->channels, out->channels, columns)) return 0;
  return (tmo_packs_bytes(op) ? 1 : 2) * values * (tmo_makes_five(op, values, columns) ? TMO_FIVE_PIXELS : tmo_packed_pixels(op, values, columns));
}

/* tmo_packed_clamps() returns whether the activation limits the outputs. tmo_packed_clamp() limits outputs if an inner loop does not apply the
 * activation. */
static inline bool tmo_packed_clamps(const tmo_op *op) { return tmo_has_part(TMO_PART_CLAMPS) && (op->act_min != INT8_MIN || op->act_max != INT8_MAX); }
TMO_LINKAGE void tmo_clamp_bytes(const tmo_op *op, int8_t *out, uint32_t n);
static inline void tmo_packed_clamp(const tmo_op *op, int8_t *out, uint32_t n) {
  if (tmo_packed_clamps(op)) tmo_clamp_bytes(op, out, n);
}

#if TMO_CORE_DSP
/* Computes a pixel like tmo_dsp_conv_run(). filter: number of bytes of the weights of a channel. */
static TMO_ALWAYS_INLINE void tmo_conv_fours(const tmo_kernel *k, const int8_t *x, uint32_t bytes, const int8_t *w, uint32_t filter, int8_t *out) {
  tmo_dsp_scales scales;
  tmo_dsp_job job;
  tmo_dsp_set(&job, k, w, filter, out, &scales);
  job.x = x;
  job.bytes = bytes;
  tmo_dsp_outputs(&job);
  if (tmo_dsp_moves_to_rest(&job, k, w, filter, out)) tmo_dsp_outputs(&job);
  tmo_packed_clamp(k->op, out, k->out_channels);
}

/* Computes a pixel of a depthwise convolution, four channels at once. tmo_makes_fours() must hold, and input and output have equal channels. */
static TMO_ALWAYS_INLINE void tmo_depthwise_fours(const tmo_kernel *k, const tmo_window *v, int8_t *out) {
  const bool by_row = tmo_reads_rows(k);
  const int8_t *const w = k->weights + tmo_first_tap(k, v);
  tmo_dsp_scales scales;
  tmo_dsp_window_job o;
  tmo_dsp_set(&o.job, k, w, k->tap_step, out, &scales);
  o.taps = v->pixels;
  o.columns = v->columns;
  o.rows = v->columns == 0 ? 0 : by_row ? v->count : v->count / v->columns;
  o.skipped = (k->op->kernel_w - v->columns) * k->tap_step;
  o.offset = v->offset;
  o.apart = by_row ? k->op->dilation_w * k->in_channels : 0;
  if (!by_row && o.skipped == 0) {
    o.columns = v->count;
    o.rows = v->count > 0 ? 1 : 0;
  }
  tmo_dsp_window_outputs(&o);
  if (tmo_dsp_moves_to_rest(&o.job, k, w, 1, out)) {
    o.offset = v->offset + k->out_channels - 4;
    tmo_dsp_window_outputs(&o);
  }
  tmo_packed_clamp(k->op, out, k->out_channels);
}
#endif

/* A range of output columns. */
typedef struct {
  uint32_t first, count;
} tmo_run_of_columns;

/* Returns the columns whose windows are inside an input of this width. */
static inline tmo_run_of_columns tmo_inside(const tmo_kernel *k) {
  const tmo_op *op = k->op;
  const uint32_t extent = (op->kernel_w - 1u) * op->dilation_w + 1, padded = (uint32_t)k->in_width + op->pad_left;
  const uint32_t inside = padded < extent ? 0 : (padded - extent) / op->stride_w + 1, end = inside < k->out_width ? inside : k->out_width;
  tmo_run_of_columns run = {(op->pad_left + op->stride_w - 1u) / op->stride_w, 0};
  if (end > run.first) run.count = end - run.first;
  return run;
}

/* A job that computes output columns [first, end) of one row. The outputs are `step` bytes apart, and the first output is at `out`. The scratch has
 * room for at most `most` columns at once. Only with TMO_PACKING_DSP_CONV, `outs` may list the addresses of all outputs; otherwise `outs` is NULL. */
typedef struct {
  uint32_t first, end, most;
  int8_t *out;
  uint32_t step;
  int8_t *const *outs;
} tmo_columns_job;

/* Computes the output columns of a job from whole input rows. */
typedef void tmo_make_columns(const tmo_kernel *k, const tmo_window *rows, const tmo_columns_job *columns);

/* These functions compute a CONV with TMO_PACKING_DSP_CONV. tmo_conv_dsp_gather() collects the values under the window of one of `pixels` pixels.
 * tmo_conv_dsp_multiply() or tmo_conv_dsp_scatter() then computes all of these pixels at once. Output pixel p begins p times step bytes after `out`,
 * or at outs[p]. */
TMO_LINKAGE void tmo_conv_dsp_gather(const tmo_kernel *k, const tmo_window *window, uint32_t pixel, uint32_t pixels);
/* Gathers the windows of adjacent pixels that are inside the input. offset: bytes from the start of a row to the first window. */
TMO_LINKAGE void tmo_conv_dsp_gather_inside(const tmo_kernel *k, const tmo_window *rows, uint32_t offset, uint32_t pixels);
TMO_LINKAGE void tmo_conv_dsp_multiply(const tmo_kernel *k, uint32_t pixels, int8_t *out, uint32_t step);
TMO_LINKAGE void tmo_conv_dsp_scatter(const tmo_kernel *k, uint32_t pixels, int8_t *const *outs);
TMO_LINKAGE tmo_kernel_s8 tmo_conv_dsp_row;    /* computes a whole output row */
TMO_LINKAGE tmo_make_columns tmo_conv_dsp_columns;
TMO_LINKAGE void tmo_conv_dsp_two_rows(const tmo_kernel *k, const tmo_window *rows, int8_t *const *outs); /* computes two rows of five pixels */
TMO_LINKAGE tmo_kernel_s8 tmo_conv_dsp_direct; /* computes one pixel, if tmo_packed_direct() holds */
TMO_LINKAGE tmo_kernel_s8 tmo_conv_dsp_dense;  /* CONV, TMO_PACKING_DSP_DENSE */

/* A tmo_mve_job has all arguments of a tmo_mve_conv except pixels and weights. */
typedef struct {
  const int32_t *scales;
  int8_t *out;   /* address of the outputs of pixel 0; the outputs of pixel p begin p times step bytes later */
  uint32_t step;
  uint32_t turns; /* number of 16-byte vectors of a pixel */
  uint32_t channels;
  int32_t zero, least, most; /* zero point, minimum and maximum of the output */
  uint32_t pairs;            /* number of pairs of pixels, if a call computes two pixels at a time */
} tmo_mve_job;

/* Returns the number of vectors that contain tmo_packed_values() values, for operators packed for Helium. */
static inline uint32_t tmo_mve_turns(const tmo_op *op, uint32_t in_channels) { return (op->kernel_h * op->kernel_w * in_channels + 15) / 16; }

static inline tmo_mve_job tmo_mve_job_of(const tmo_op *op, const int32_t *scales, uint32_t in_channels, uint32_t out_channels, int8_t *out, uint32_t step) {
  const uint32_t turns = tmo_mve_turns(op, in_channels);
  const tmo_mve_job job = {scales, out, step, turns, out_channels, op->output_zero_point, op->act_min, op->act_max, 1};
  return job;
}

/* These functions compute a CONV with TMO_PACKING_MVE_CONV, like the functions for TMO_PACKING_DSP_CONV. `bytes` points to the
 * first of several pixels, which are bytes_step bytes apart. If `bytes` is NULL, the function reads the gathered values. */
TMO_LINKAGE void tmo_conv_mve_gather(const tmo_kernel *k, const tmo_window *window, uint32_t pixel);
TMO_LINKAGE void tmo_conv_mve_multiply(const tmo_kernel *k, const int8_t *bytes, uint32_t bytes_step, uint32_t pixels, int8_t *out, uint32_t step);
TMO_LINKAGE tmo_kernel_s8 tmo_conv_mve_row;
TMO_LINKAGE tmo_make_columns tmo_conv_mve_columns;

/* These functions compute a CONV with TMO_PACKING_RVV_CONV, like the functions for TMO_PACKING_DSP_CONV. */
TMO_LINKAGE void tmo_conv_rvv_gather(const tmo_kernel *k, const tmo_window *window, uint32_t pixel);
TMO_LINKAGE void tmo_conv_rvv_multiply(const tmo_kernel *k, const int8_t *bytes, uint32_t bytes_step, uint32_t pixels, int8_t *out, uint32_t step);
TMO_LINKAGE tmo_kernel_s8 tmo_conv_rvv_row;
TMO_LINKAGE tmo_make_columns tmo_conv_rvv_columns;

/* Computes adjacent output pixels of a DEPTHWISE with TMO_PACKING_RVV_DEPTHWISE. The taps of pixel p begin p times step bytes after taps[i]. */
TMO_LINKAGE void tmo_depthwise_rvv(const tmo_kernel *k, const int8_t *const *taps, int8_t *out, uint32_t pixels, uint32_t step);

/* These functions compute a CONV with TMO_PACKING_ESP_CONV, one pixel at a time. */
TMO_LINKAGE void tmo_conv_esp_gather(const tmo_kernel *k, const tmo_window *window);
TMO_LINKAGE void tmo_conv_esp_multiply(const tmo_kernel *k, int8_t *out);
TMO_LINKAGE void tmo_conv_esp_pixel(const tmo_kernel *k, const tmo_window *window, int8_t *out); /* copies the input pixels first if necessary */
TMO_LINKAGE tmo_kernel_s8 tmo_conv_esp_row;
TMO_LINKAGE tmo_make_columns tmo_conv_esp_columns;

/* tmo_depthwise_esp() computes adjacent output pixels of a DEPTHWISE with TMO_PACKING_ESP_DEPTHWISE, like tmo_depthwise_rvv(). The function
 * tmo_depthwise_esp_row() computes a row from whole input rows with ESP-NN. tmo_depthwise_esp_row() returns false if tmo_depthwise_esp() must compute
 * the row. */
TMO_LINKAGE void tmo_depthwise_esp(const tmo_kernel *k, const int8_t *const *taps, int8_t *out, uint32_t pixels, uint32_t step);
TMO_LINKAGE bool tmo_depthwise_esp_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out);

/* Adds n elements of an ADD with TMO_PACKING_DSP_ADD. Each element of an operand is read before its sum is written. */
TMO_LINKAGE void tmo_packed_add(const int8_t *a, const int8_t *b, int8_t *out, uint32_t n, const int32_t *scales, const tmo_op *op);
TMO_LINKAGE tmo_kernel_s8 tmo_add_packed;

/* tmo_half() returns the index of the operand with the greater scale. The greater scale is exactly 1/2, so that a shift suffices to scale the operand
 * with the greater scale. If both scales are equal, tmo_half() may return either index. tmo_half_shift() returns the left shift, in bits, of the
 * operand with the greater scale. */
static inline uint32_t tmo_half(const int32_t *scales) { return scales[1] == INT32_MIN ? 0 : 1; }
static inline int32_t tmo_half_shift(const int32_t *scale) { return scale[0] - scale[3] - 1; }

/* These functions compute a DEPTHWISE with any packing. */
TMO_LINKAGE tmo_kernel_s8 tmo_depthwise_packed_row, tmo_depthwise_packed_pixel;

/* Whether tmo_dsp_3x3() computes rows of this width. A block of tmo_dsp_3x3() takes as long as at least four single pixels. */
static inline bool tmo_dsp_has_3x3(const tmo_op *op, uint32_t width) {
  const bool fits = op->kernel_h == 3 && op->kernel_w == 3 && op->stride_w == 1 && op->dilation_w == 1;
  return fits && width >= TMO_BLOCK_PIXELS - 1 && width != TMO_BLOCK_PIXELS + 1;
}

/* Computes two rows of a DEPTHWISE with TMO_PACKING_DSP_DEPTHWISE and tmo_dsp_has_3x3(). */
TMO_LINKAGE void tmo_depthwise_two_rows(const tmo_kernel *k, const tmo_window *rows, int8_t *const *outs);

/* tmo_depthwise_multiply() computes one pixel from the taps of its window, which are listed row by row. tmo_depthwise_clear() sets all taps to
 * padding. */
TMO_LINKAGE uint32_t tmo_depthwise_taps(const tmo_kernel *k);
TMO_LINKAGE void tmo_depthwise_clear(const tmo_kernel *k, const int8_t **taps, uint32_t all);
TMO_LINKAGE void tmo_depthwise_multiply(const tmo_kernel *k, const int8_t *const *taps, int8_t *out);

/* Whether tmo_dsp_nine() computes the pixels of a tile. */
static inline bool tmo_has_nine_taps(const tmo_op *op) {
  return tmo_has_part(TMO_PART_DSP_NINE) && tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) && (uint32_t)op->kernel_h * op->kernel_w == 9;
}

/* These functions widen the bytes of two, three or four pixels to int16, and write a tile. Pixel p begins p times step bytes after `from` and has at
 * least 4 bytes. The functions return the tile's next column. The padding in the last quad of bytes is arbitrary. */
typedef int16_t *tmo_dsp_widen(const int8_t *from, uint32_t step, int16_t *tile, uint32_t bytes);
TMO_CORE tmo_dsp_widen tmo_dsp_widen_2, tmo_dsp_widen_3, tmo_dsp_widen_4;

/* Widens the bytes of four pixels. Pixel p is at from[p], and its number of bytes is a multiple of 4. Four bytes are read before their values are
 * written. */
TMO_CORE void tmo_dsp_widen_each(const int8_t *const *from, int16_t *tile, uint32_t bytes);

/* Widens at least one tap to int16, into a tile of one pixel. The number of bytes of a tap is a multiple of 4. */
TMO_CORE void tmo_dsp_widen_taps(const int8_t *const *taps, uint32_t n, int16_t *tile, uint32_t bytes);

/* These functions compute `pairs` pairs of output channels for 1 to 5 pixels. The tile has the values of all pixels two by two, in the packing's
 * order: values i and i + 1 of pixel 0, then values i and i + 1 of pixel 1, and so on. Five pixels are in a tile of three pixels and a tile of two
 * pixels. values: a multiple of 8. */
typedef void tmo_dsp_pairs(const int16_t *tile, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values, uint32_t pairs,
                           uint32_t step);
TMO_CORE tmo_dsp_pairs tmo_dsp_pairs_1, tmo_dsp_pairs_2, tmo_dsp_pairs_3, tmo_dsp_pairs_4, tmo_dsp_pairs_5;

/* Computes pairs of output channels for two rows of five pixels. The outputs of the second row begin `apart` bytes after the outputs of the first
 * row. `tile` has three tiles: one for the first four pixels of the first row, one for the first four pixels of the second row, and one for the last
 * pixels of both rows. */
TMO_CORE void tmo_dsp_pairs_rows(const int16_t *tile, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values, uint32_t pairs,
                                 uint32_t step, int32_t apart);

/* For CONV_S16 on the DSP extension, tmo_conv_two_s16() computes two pixels at once after reading both windows. The function tmo_conv_makes_two_s16()
 * returns whether tmo_conv_two_s16() supports an operator. apart: bytes from each value of the first window to the same value of the second window.
 * out_apart: bytes from the first output pixel to the second. */
TMO_LINKAGE bool tmo_conv_makes_two_s16(const tmo_kernel *k);
TMO_LINKAGE void tmo_conv_two_s16(const tmo_kernel *k, const tmo_window *window, uint32_t apart, uint32_t out_apart, int8_t *out);

enum { TMO_WIDE_VALUES = 32 }; /* number of values from the start of the first pixel to the start of the second pixel */

/* This job multiplies int16 values of one or two pixels by int8 weights. Sums of 32 bits may wrap. A quad has the sums of four channels of one pixel.
 * A quad of two pixels has two channels of the first pixel and then the same channels of the second pixel. */
typedef struct tmo_wide_job {
  const int32_t *bias, *multipliers; /* arrays of four values if all channels have one bias or one scale */
  const int8_t *shifts;
  int8_t *out;
  int32_t low, high;         /* each word has one limit of the output in both halves */
  const int32_t *x, *end;    /* four values take two words: the first and the third value, then the second and the fourth value */
  const int8_t *weights;
  uint32_t filter;           /* bytes from the weights of a channel to the weights of the next channel */
  int32_t *sums;             /* place of a quad of sums */
  int32_t channels;
  int32_t apart;             /* bytes from the output of the first pixel to the output of the second pixel */
  void (*rest)(struct tmo_wide_job *job, uint32_t pixels); /* writes the outputs of a quad whose sums do not fit 32 bits */
  uint32_t next;             /* number of sums from a quad to the next quad, or 0 if all quads use the same place */
  uint8_t first;             /* if 1, the sums begin with 0; if 0, the sums of the previous values continue */
  uint8_t last;              /* if 1, outputs are written after the products are added */
  uint8_t biased, scaled;    /* 1 if each channel has its own bias (`biased`) or scale (`scaled`) */
} tmo_wide_job;

/* Computes all channels of a job, and changes fields of the job. */
TMO_CORE void tmo_dsp_wide_one(tmo_wide_job *job);
TMO_CORE void tmo_dsp_wide_two(tmo_wide_job *job);

/* Computes at least two pairs of output channels for one pixel, whose `values` bytes are at `bytes`. */
TMO_CORE void tmo_dsp_direct(const int8_t *bytes, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values, uint32_t pairs);

/* Computes three pairs of output channels at once for one pixel. The weights of the three pairs are interleaved. */
TMO_CORE void tmo_dsp_dense(const int8_t *bytes, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values, uint32_t triples);

/* Computes all channels of adjacent output pixels of a depthwise convolution. turns: number of groups of three taps. The taps of pixel p begin p
 * times step bytes after taps[i]. */
TMO_CORE void tmo_dsp_depthwise(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t pixels, uint32_t turns, uint32_t channels,
                       uint32_t step);

/* Computes all channels of four adjacent pixels of a depthwise convolution with 3x3 taps and stride 1. grid: pointers to the pixels of six columns in
 * three rows. */
TMO_CORE void tmo_dsp_four(const int8_t *const *grid, int8_t *const *outs, const int8_t *constants, uint32_t channels);

enum { TMO_DSP_RUNS = 4 }; /* maximum number of runs in one call of tmo_dsp_nine() */

/* This record has a run of adjacent output pixels and the taps of the first pixel. */
typedef struct {
  int8_t *out;
  uint32_t pixels;
  const int8_t *taps[9];
} tmo_dsp_run;

/* Computes all channels of several runs of adjacent output pixels. Each window has nine taps. */
TMO_CORE void tmo_dsp_nine(const tmo_dsp_run *runs, const tmo_dsp_run *end, const int8_t *constants, uint32_t channels, uint32_t step);

/* This record has a run of adjacent blocks. A block has up to six adjacent output pixels with 3x3 taps and stride 1. `columns` has pointers to the
 * columns of the first block, in the order of tmo_dsp_column(). From each block to the next, the columns move on by `outputs` pixels. */
typedef struct {
  uint32_t blocks, outputs;
  int8_t *out; /* output of the first pixel; all outputs of a run are adjacent */
  const int8_t *columns[3 * (TMO_BLOCK_PIXELS + 2)];
} tmo_dsp_blocks;

/* Returns the index in tmo_dsp_blocks.columns of a column in one of three rows. The columns of the first two rows alternate, and the columns of the
 * third row come last. */
static inline uint32_t tmo_dsp_column(uint32_t row, uint32_t column) { return row < 2 ? 2 * column + row : 2 * (TMO_BLOCK_PIXELS + 2) + column; }

/* Computes all channels of the pixels in a run of blocks. */
TMO_CORE void tmo_dsp_3x3(const tmo_dsp_blocks *runs, const tmo_dsp_blocks *end, const int8_t *constants, uint32_t channels);

/* tmo_mve_conv_1() computes one pixel, whose number of output channels must be a multiple of 8. The function tmo_mve_conv_2() computes pairs of
 * pixels, whose number of output channels must be a multiple of 4. Pixel p has job->turns vectors of 16 bytes, which begin p times step bytes after
 * `bytes`. The outputs of two pixels must be less than 65,531 bytes apart. */
typedef void tmo_mve_conv(const int8_t *bytes, uint32_t step, const int8_t *weights, const tmo_mve_job *job);
TMO_CORE tmo_mve_conv tmo_mve_conv_1, tmo_mve_conv_2;

/* tmo_mve_relu_1() and tmo_mve_relu_2() compute outputs like tmo_mve_conv_1() and tmo_mve_conv_2() for a ReLU with the zero point -128 and all values
 * of int8. Hosts compute every range with the same C functions. */
#if TMO_TWINS
#define tmo_mve_relu_1 tmo_mve_conv_1
#define tmo_mve_relu_2 tmo_mve_conv_2
#else
TMO_CORE tmo_mve_conv tmo_mve_relu_1, tmo_mve_relu_2;
#endif

static inline bool tmo_mve_is_relu(const tmo_mve_job *job) { return job->zero == INT8_MIN && job->least == INT8_MIN && job->most == INT8_MAX; }

#if TMO_RUNS_MVE
/* Computes one pixel with any number of channels. */
TMO_LINKAGE tmo_mve_conv tmo_mve_one_of_any;
static inline tmo_mve_conv *tmo_mve_one_for(const tmo_mve_job *job) {
  return job->channels % 8 != 0 ? tmo_mve_one_of_any : tmo_mve_is_relu(job) ? tmo_mve_relu_1 : tmo_mve_conv_1;
}
#endif

/* This record has the parts of input rows that tmo_mve_copy() copies for adjacent windows. */
typedef struct {
  const int8_t *const *first;
  uint32_t n;     /* number of rows */
  uint32_t bytes; /* number of bytes of each row, at least one */
  uint32_t step;  /* bytes from one copied row to the next; if this number is 1, a row has 1 byte */
  uint32_t apart; /* bytes from one window to the next */
} tmo_mve_rows;

/* Copies the rows of several windows, one after the other. The rows of the first window begin at first[r] + offset. */
TMO_CORE void tmo_mve_copy(int8_t *to, const tmo_mve_rows *rows, uint32_t offset, uint32_t windows);

/* This record has the pixels under an operator's window, in a tensor with column windows. */
typedef struct {
  const tmo_column_window *column_window; /* column window of the first row */
  uint32_t column;      /* number of the first pixel, counted from the first period of the column window on */
  uint32_t row;         /* number of the window's first row inside the column window */
  uint32_t rows;        /* number of rows of the window, at least one */
  uint32_t pixel;       /* bytes of a pixel */
  const int8_t *base;
  uint32_t columns;     /* number of columns of the window, at least one */
  uint32_t dilation_w;
  const tmo_column_window *first, *end; /* list of all column windows; after the last one, the first one follows again */
  uint32_t dilation_h;
  uint32_t gap;         /* bytes from one copied row to the next */
  uint32_t width;
} tmo_mve_window;

TMO_CORE void tmo_mve_take(int8_t *to, const tmo_mve_window *window);

/* Fills n bytes with a value. n must be at least 1. */
TMO_CORE void tmo_mve_fill(int8_t *to, int8_t value, uint32_t n);

/* Fills n bytes with a value. The address must be a multiple of 4, and n must be at least 1. */
#if TMO_CORE_MVE
#define tmo_fill tmo_mve_fill
#else
TMO_LINKAGE void tmo_fill(int8_t *to, int8_t value, uint32_t n);
#endif

/* Adds n adjacent pixels to the sums of their channels. Only Helium uses tmo_mve_add_pixels(). */
TMO_LINKAGE void tmo_mve_add_pixels(int32_t *sums, const int8_t *pixels, uint32_t channels, uint32_t n);

/* Computes outputs like tmo_dsp_depthwise(), but with two taps per turn. range: zero point, minimum and maximum of the output. */
TMO_CORE void tmo_mve_depthwise(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t pixels, uint32_t turns, uint32_t channels,
                       uint32_t step, const int8_t *range);

/* A job that computes adjacent windows of 3x3 taps. */
typedef struct {
  struct {
    const int8_t *first; /* first pixel of the row, or a pixel at the zero point if the row does not exist */
    uint32_t pixel;      /* distance of pixels in bytes, or 0 for a row that does not exist */
  } rows[3];
  const int8_t *missing; /* pixel that is used for pixels outside the row */
  uint32_t width;        /* width of the row in pixels */
  uint32_t stride;
  uint32_t inside;       /* windows that begin before this input column have all taps; the field is 0 if a row of the window does not exist */
  uint32_t apart;        /* bytes from the end of a tap's last vector to the same tap of the next window, modulo 2^32 */
  const int8_t *constants;
  uint32_t first;        /* number of channels in complete vectors of sixteen, or all channels if no vector is complete */
  const int8_t *end;     /* end of all constants of the operator */
  uint32_t beyond;       /* bytes of the last vector beyond the last channel */
  uint32_t more;         /* number of channels modulo sixteen */
  int32_t column;        /* input column where the next window begins */
  uint32_t pixels;       /* number of output pixels that remain */
} tmo_mve_nine;

/* Whether tmo_mve_depthwise_9() supports the operator's window and range. */
static inline bool tmo_mve_has_nine(const tmo_op *op) {
  const bool relu = op->output_zero_point == INT8_MIN && op->act_min == INT8_MIN && op->act_max == INT8_MAX;
  return relu && op->kernel_h == 3 && op->kernel_w == 3 && op->dilation_w == 1;
}

/* Computes windows of 3x3 taps. If `taps` is NULL, tmo_mve_depthwise_9() computes job->pixels pixels. With `taps`, tmo_mve_depthwise_9() computes one
 * pixel. */
TMO_CORE void tmo_mve_depthwise_9(tmo_mve_nine *job, const int8_t *const *taps, int8_t *out);

#if TMO_TWINS
/* These functions are generated from descriptions. The functions compute in C what the functions in assembly compute. */
TMO_LINKAGE void tmo_dsp_pairs_in_c(uint32_t pixels, const int16_t *tile, const int8_t *weights, const int32_t *scales, int8_t *y, uint32_t values,
                        uint32_t pairs, int32_t step);
TMO_LINKAGE void tmo_dsp_depthwise_in_c(const int8_t *const *x, const int32_t *constants, int8_t *y, uint32_t turns, uint32_t fours, int32_t first);
TMO_LINKAGE void tmo_mve_depthwise_in_c(const int8_t *const *x, const int32_t *constants, int8_t *y, uint32_t taps, uint32_t sixteens, uint32_t fours,
                            int32_t first, const int8_t *range);
#endif

#ifdef __cplusplus
}
#endif

#endif /* TMO_PACKED_H_ */
