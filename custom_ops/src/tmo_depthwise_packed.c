/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes packed depthwise convolutions. The functions of this file list the taps of a window, and call assembly code that computes all
 * channels of a pixel. */
#include <string.h>

#include "tmo/packed.h"

#if TMO_RUNS_PACKED

enum { CHANNELS_AT_ONCE = 4 };                             /* number of channels that tmo_dsp_depthwise() computes at once */
/* A vector has LANES bytes. The constants of a vector's channels take NINE_CONSTANTS bytes: biases, weights of ten taps, and scales. */
enum { LANES = 16, NINE_CONSTANTS = LANES * (4 + 10 + 8) };

/* HAS_ANY_TAPS is 1 if this build has a packed depthwise kernel for windows of any size. */
#define HAS_ANY_TAPS                                                                                                           \
  ((tmo_has_packing(TMO_PACKING_DSP_DEPTHWISE) && tmo_has_part(TMO_PART_DSP_TAPS)) ||                                          \
   (tmo_has_packing(TMO_PACKING_MVE_DEPTHWISE) && tmo_has_part(TMO_PART_TAPS)) || tmo_has_packing(TMO_PACKING_RVV_DEPTHWISE) || \
   tmo_has_packing(TMO_PACKING_ESP_DEPTHWISE))

/* Returns the number of taps that the assembly code multiplies at once. */
static uint32_t turn_of(const tmo_op *op) {
  if (tmo_is_packed_as(op, TMO_PACKING_RVV_DEPTHWISE) || tmo_is_packed_as(op, TMO_PACKING_ESP_DEPTHWISE)) return 1;
  return tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) ? 3 : 2;
}

static const int8_t *zero_of(const tmo_kernel *k) { return (const int8_t *)k->scratch; }

TMO_OWN_FRAME static bool has_nine(const tmo_kernel *k) {
  if (!tmo_has_packing(TMO_PACKING_DSP_DEPTHWISE) && !tmo_has_packing(TMO_PACKING_RVV_DEPTHWISE) && !tmo_has_packing(TMO_PACKING_ESP_DEPTHWISE) &&
      !tmo_has_part(TMO_PART_TAPS)) {
    return true; /* this build computes only windows with nine taps */
  }
  return tmo_is_packed_as(k->op, TMO_PACKING_MVE_DEPTHWISE) && tmo_mve_has_nine(k->op);
}

/* Returns the number of groups of taps that cover the window. A group has turn_of() taps. The last group of taps may extend beyond the window's last
 * tap. */
static uint32_t turns_of(const tmo_op *op) { return ((uint32_t)op->kernel_h * op->kernel_w + turn_of(op) - 1) / turn_of(op); }

/* The window begins in input column `start`. The function skips input rows that do not exist. */
TMO_OWN_FRAME static void list(const tmo_kernel *k, const tmo_window *rows, uint32_t start, const int8_t **taps) {
  const tmo_op *op = k->op;
  const uint32_t wide = op->kernel_w;
  const int8_t *const *const end = rows->pixels + rows->count;
  taps += rows->first_row * wide;
  for (const int8_t **const after = taps + wide; taps != after; ++taps, start += op->dilation_w) {
    const int8_t **tap = taps;
    if (start < k->in_width) {
      const uint32_t offset = start * k->in_channels;
      for (const int8_t *const *row = rows->pixels; row != end; tap += wide) *tap = *row++ + offset;
    } else {
      for (const int8_t *const *row = rows->pixels; row != end; ++row, tap += wide) *tap = zero_of(k);
    }
  }
}

static void clear(const tmo_kernel *k, const int8_t **taps, uint32_t n) {
  while (n > 0) taps[--n] = zero_of(k);
}

/* Adds taps to the list until the list has as many taps as the argument `all` states. Each added tap is a copy of tap 0 and has the weight 0. */
static void fill_up(const tmo_op *op, const int8_t **taps, uint32_t all) {
  for (uint32_t t = (uint32_t)op->kernel_h * op->kernel_w; t < all; ++t) taps[t] = taps[0];
}

static void list_taps(const tmo_kernel *k, const tmo_window *w, const int8_t **taps) {
  const uint32_t wide = k->op->kernel_w;
  const int8_t *const *pixel = w->pixels, *const *const end = pixel + w->count;
  for (taps += w->first_row * wide + w->first_column; pixel != end; taps += wide) {
    for (uint32_t c = 0; c < w->columns; ++c) taps[c] = *pixel++;
  }
}

#if TMO_RUNS_MVE
/* Sets the fields of a job one by one, because an initializer would first set all fields to 0. */
static void nine_channels(const int8_t *constants, uint32_t channels, tmo_mve_nine *job) {
  const uint32_t more = channels < LANES ? 0 : channels % LANES;
  job->constants = constants;
  job->first = channels - more;
  job->end = job->constants + (channels + LANES - 1) / LANES * NINE_CONSTANTS;
  job->beyond = channels < LANES ? LANES - channels : 0;
  job->more = more;
}

TMO_OWN_FRAME void tmo_depthwise_nine(const int8_t *constants, uint32_t channels, const int8_t *const *taps, int8_t *out) {
  tmo_mve_nine job; /* for a list of taps, tmo_mve_depthwise_9() reads only the fields that tmo_depthwise_nine() sets */
  nine_channels(constants, channels, &job);
  job.column = 0;
  job.pixels = 1;
  tmo_mve_depthwise_9(&job, taps, out);
}

/* The function returns the address after the outputs of the computed pixels. */
static int8_t *nine_pixels(tmo_mve_nine *job, int32_t column, uint32_t pixels, int8_t *out) {
  job->column = column;
  job->pixels = pixels;
  if (pixels > 0) tmo_mve_depthwise_9(job, NULL, out);
  return out + pixels * (job->first + job->more);
}

/* Computes an output row whose windows have nine taps. If sixteen bytes hold several pixels, the function computes these pixels like one pixel of
 * sixteen channels. */
TMO_OWN_FRAME static void nine_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  const tmo_op *op = k->op;
  const uint32_t channels = k->in_channels, width = k->in_width, stride = op->stride_w;
  const bool whole = rows->count == 3;
  tmo_mve_nine job;
  nine_channels(k->weights, k->out_channels, &job);
  job.missing = zero_of(k);
  job.width = width;
  job.stride = stride;
  job.inside = !whole || width < 3 ? 0 : width - 2;
  job.apart = (stride - 1) * channels - job.beyond;
  for (uint32_t ky = 0; ky < 3; ++ky) {
    const uint32_t row = ky - rows->first_row;
    const bool there = row < rows->count;
    job.rows[ky].first = there ? rows->pixels[row] : job.missing;
    job.rows[ky].pixel = there ? channels : 0;
  }
  uint32_t x = 0;
  if (whole && stride == 1 && channels <= 8) {
    const tmo_run_of_columns inside = tmo_inside(k);
    const uint32_t at_once = LANES / channels, runs = inside.count / at_once;
    if (runs > 0) {
      out = nine_pixels(&job, -op->pad_left, inside.first, out);
      job.stride = at_once;
      job.apart = job.beyond = 0;
      job.first = LANES;
      out = nine_pixels(&job, (int32_t)inside.first - op->pad_left, runs, out);
      nine_channels(k->weights, k->out_channels, &job);
      job.stride = 1;
      job.apart = 0 - job.beyond;
      x = inside.first + runs * at_once;
    }
  }
  nine_pixels(&job, (int32_t)(x * stride) - op->pad_left, k->out_width - x, out);
}
#endif

static void compute(const tmo_kernel *k, const int8_t *const *taps, int8_t *out, uint32_t pixels) {
  const tmo_op *op = k->op;
  const uint32_t turns = turns_of(op), channels = k->out_channels, step = op->stride_w * channels;
#if TMO_RUNS_MVE
  if (tmo_has_part(TMO_PART_TAPS) && tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE)) {
    const int8_t range[3] = {op->output_zero_point, op->act_min, op->act_max};
    tmo_mve_depthwise(taps, k->weights, out, pixels, turns, channels, step, range);
    return;
  }
#endif
#if TMO_RUNS_RVV
  if (tmo_is_packed_as(op, TMO_PACKING_RVV_DEPTHWISE)) {
    tmo_depthwise_rvv(k, taps, out, pixels, step);
    return;
  }
#endif
#if TMO_RUNS_ESP
  if (tmo_is_packed_as(op, TMO_PACKING_ESP_DEPTHWISE)) {
    tmo_depthwise_esp(k, taps, out, pixels, step);
    return;
  }
#endif
#if TMO_RUNS_DSP
  if (!tmo_has_packing(TMO_PACKING_DSP_DEPTHWISE) || !tmo_has_part(TMO_PART_DSP_TAPS)) return;
  tmo_dsp_depthwise(taps, k->weights, out, pixels, turns, channels, step);
  tmo_packed_clamp(op, out, pixels * channels);
#else
  (void)turns;
#endif
}

static TMO_ALWAYS_INLINE void fill_zero(const tmo_kernel *k) { tmo_fill((int8_t *)k->scratch, k->op->input_zero_point[0], k->in_channels); }

uint32_t tmo_depthwise_taps(const tmo_kernel *k) { return has_nine(k) ? 9 : turns_of(k->op) * turn_of(k->op); }

void tmo_depthwise_clear(const tmo_kernel *k, const int8_t **taps, uint32_t all) {
  fill_zero(k);
  clear(k, taps, all);
}

void tmo_depthwise_multiply(const tmo_kernel *k, const int8_t *const *taps, int8_t *out) {
#if TMO_RUNS_MVE
  if (has_nine(k)) {
    tmo_depthwise_nine(k->weights, k->out_channels, taps, out);
    return;
  }
#endif
#if TMO_RUNS_DSP
  if (k->op->tile > 1 && tmo_has_nine_taps(k->op)) {
    tmo_dsp_run run;
    run.out = out;
    run.pixels = 1;
    memcpy(run.taps, taps, sizeof run.taps);
    tmo_dsp_nine(&run, &run + 1, k->weights, k->out_channels, 0);
    tmo_packed_clamp(k->op, out, k->out_channels);
    return;
  }
#endif
  compute(k, taps, out, 1);
}

TMO_OWN_FRAME void tmo_depthwise_packed_pixel(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *taps[TMO_PACKED_TAPS + 1];
  const int8_t *const *pixels = window->pixels;
  const uint32_t all = tmo_depthwise_taps(k);
  if (window->count != all) { /* the window reaches beyond the input */
    tmo_depthwise_clear(k, taps, all);
    list_taps(k, window, taps);
    pixels = taps;
  }
  tmo_depthwise_multiply(k, pixels, out);
}

static tmo_run_of_columns whole_windows(const tmo_kernel *k, const tmo_window *rows) {
  const tmo_op *op = k->op;
  tmo_run_of_columns inside = tmo_inside(k);
  if (rows->count < op->kernel_h) inside.count = 0;
  return inside;
}

/* A window inside the input has the previous window's taps, moved by some pixels. */
TMO_OWN_FRAME static void any_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  const tmo_op *op = k->op;
  const int8_t *taps[TMO_PACKED_TAPS + 1];
  const tmo_run_of_columns inside = whole_windows(k, rows);
  const uint32_t all = turns_of(op) * turn_of(op);
  clear(k, taps, all);
  for (uint32_t x = 0, n; x < k->out_width; x += n, out += n * k->out_channels) {
    n = x == inside.first && inside.count > 0 ? inside.count : 1;
    list(k, rows, x * op->stride_w - op->pad_left, taps);
    fill_up(op, taps, all);
    compute(k, taps, out, n);
  }
}

#if TMO_RUNS_DSP
/* Computes an output row whose windows have nine taps. All output pixels whose windows are inside the input are computed together. */
TMO_OWN_FRAME static void dsp_nine_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  const tmo_op *op = k->op;
  const uint32_t channels = k->out_channels, step = op->stride_w * channels;
  tmo_dsp_run runs[TMO_DSP_RUNS];
  const tmo_run_of_columns inside = whole_windows(k, rows);
  for (uint32_t i = 0; i < TMO_DSP_RUNS; ++i) clear(k, runs[i].taps, 9);
  for (uint32_t x = 0; x < k->out_width;) {
    uint32_t n = 0;
    for (; n < TMO_DSP_RUNS && x < k->out_width; ++n, x += runs[n - 1].pixels) {
      runs[n].out = out + x * channels;
      runs[n].pixels = x == inside.first && inside.count > 0 ? inside.count : 1;
      list(k, rows, x * op->stride_w - op->pad_left, runs[n].taps);
    }
    tmo_dsp_nine(runs, runs + n, k->weights, channels, step);
  }
  tmo_packed_clamp(op, out, k->out_width * channels);
}

/* BLOCK_RUNS is the largest number of elements in the array `runs` of tmo_dsp_3x3(). COLUMNS is the number of input columns under a block of output
 * pixels. */
enum { BLOCK_RUNS = 3, COLUMNS = TMO_BLOCK_PIXELS + 2 };

/* Lists the input columns under a block of output pixels, beginning with column `start`. Columns outside the input are listed as padding. */
TMO_OWN_FRAME static void list_columns(const tmo_kernel *k, const tmo_window *rows, uint32_t start, tmo_dsp_blocks *run) {
  const int8_t *const zero = zero_of(k);
  const uint32_t channels = k->in_channels;
  for (uint32_t ky = 0; ky < 3; ++ky) {
    const uint32_t r = ky - rows->first_row, step = ky < 2 ? 2 : 1;
    const bool there = r < rows->count;
    const int8_t *const row = there ? rows->pixels[r] : zero, **column = run->columns + tmo_dsp_column(ky, 0), **const end = column + step * COLUMNS;
    const uint32_t bytes = there ? k->in_width * channels : 0;
    for (uint32_t offset = start * channels; column != end; column += 2 * step, offset += 2 * channels) {
      const uint32_t after = offset + channels;
      column[0] = offset < bytes ? row + offset : zero;
      column[step] = after < bytes ? row + after : zero;
    }
  }
}

/* Computes output rows whose windows have 3x3 taps. Adjacent blocks are computed together if all their input columns exist. */
TMO_OWN_FRAME static void dsp_3x3_rows(const tmo_kernel *k, const tmo_window *rows, int8_t *const *outs, uint32_t n_rows) {
  const uint32_t channels = k->out_channels;
  tmo_dsp_blocks runs[BLOCK_RUNS];
  uint32_t n = 0;
  for (const tmo_window *const end = rows + n_rows; rows != end; ++rows, ++outs) {
    for (uint32_t x = 0; x < k->out_width;) {
      tmo_dsp_blocks *const run = &runs[n];
      const uint32_t start = x - k->op->pad_left, left = k->out_width - x;
      run->out = *outs + x * channels;
      run->outputs = left < TMO_BLOCK_PIXELS ? left : TMO_BLOCK_PIXELS;
      run->blocks = 1;
      if (rows->count == 3 && left >= TMO_BLOCK_PIXELS && start < k->in_width && k->in_width - start >= COLUMNS) {
        const uint32_t inside = (k->in_width - start - (COLUMNS - TMO_BLOCK_PIXELS)) / TMO_BLOCK_PIXELS;
        run->blocks = left / TMO_BLOCK_PIXELS < inside ? left / TMO_BLOCK_PIXELS : inside;
      }
      list_columns(k, rows, start, run);
      x += run->blocks * run->outputs;
      if (++n < BLOCK_RUNS && (x < k->out_width || rows + 1 != end)) continue;
      tmo_dsp_3x3(runs, runs + n, k->weights, channels);
      for (; n > 0; --n) tmo_packed_clamp(k->op, runs[n - 1].out, runs[n - 1].blocks * runs[n - 1].outputs * channels);
    }
  }
}

void tmo_depthwise_two_rows(const tmo_kernel *k, const tmo_window *rows, int8_t *const *outs) {
  if (!tmo_has_part(TMO_PART_TWO_ROWS)) return;
  fill_zero(k);
  dsp_3x3_rows(k, rows, outs, 2);
}
#endif

void tmo_depthwise_packed_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
#if TMO_RUNS_ESP
  if (tmo_is_packed_as(k->op, TMO_PACKING_ESP_DEPTHWISE) && tmo_depthwise_esp_row(k, rows, out)) return;
#endif
  fill_zero(k);
#if TMO_RUNS_DSP
  if (tmo_has_part(TMO_PART_DSP_3X3) && tmo_is_packed_as(k->op, TMO_PACKING_DSP_DEPTHWISE) && tmo_dsp_has_3x3(k->op, k->out_width)) {
    dsp_3x3_rows(k, rows, &out, 1);
    return;
  }
#endif
#if TMO_RUNS_MVE
  if (has_nine(k)) {
    nine_row(k, rows, out);
    return;
  }
#endif
#if TMO_RUNS_DSP
  if (tmo_has_nine_taps(k->op)) {
    dsp_nine_row(k, rows, out);
    return;
  }
#endif
  if (HAS_ANY_TAPS) any_row(k, rows, out);
}

#if TMO_TWINS

/* The last four channels of a pixel may include channels that were already computed. */
void tmo_dsp_depthwise(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t pixels, uint32_t turns, uint32_t channels,
                       uint32_t step) {
  const uint32_t whole = channels / CHANNELS_AT_ONCE, last = channels - CHANNELS_AT_ONCE, words = 4 + 6 * turns + 12;
  for (uint32_t p = 0; p < pixels; ++p, out += channels) {
    const int32_t *const fours = (const int32_t *)(const void *)constants;
    tmo_dsp_depthwise_in_c(taps, fours, out, turns, whole, (int32_t)(p * step));
    if (whole * CHANNELS_AT_ONCE < channels) tmo_dsp_depthwise_in_c(taps, fours + whole * words, out + last, turns, 1, (int32_t)(p * step + last));
  }
}

void tmo_dsp_nine(const tmo_dsp_run *runs, const tmo_dsp_run *end, const int8_t *constants, uint32_t channels, uint32_t step) {
  for (; runs != end; ++runs) tmo_dsp_depthwise(runs->taps, constants, runs->out, runs->pixels, 3, channels, step);
}

void tmo_dsp_four(const int8_t *const *grid, int8_t *const *outs, const int8_t *constants, uint32_t channels) {
  for (uint32_t p = 4; p-- > 0;) {
    const int8_t *taps[9];
    for (uint32_t t = 0; t < 9; ++t) taps[t] = grid[t / 3 * 6 + p + t % 3];
    tmo_dsp_depthwise(taps, constants, outs[p], 1, 3, channels, 0);
  }
}

void tmo_dsp_3x3(const tmo_dsp_blocks *runs, const tmo_dsp_blocks *end, const int8_t *constants, uint32_t channels) {
  for (; runs != end; ++runs) {
    int8_t *out = runs->out;
    for (uint32_t pixel = 0; pixel < runs->blocks * runs->outputs; ++pixel, out += channels) {
      const int8_t *taps[9];
      const uint32_t block = pixel / runs->outputs, first = pixel % runs->outputs;
      for (uint32_t t = 0; t < 9; ++t) taps[t] = runs->columns[tmo_dsp_column(t / 3, first + t % 3)] + block * runs->outputs * channels;
      tmo_dsp_depthwise(taps, constants, out, 1, 3, channels, 0);
    }
  }
}

#endif /* TMO_TWINS */

#endif /* TMO_RUNS_PACKED */
