/* SPDX-License-Identifier: Apache-2.0 */
/* This header declares the kernels of operators whose constants the converter has packed (TMO_PACKING_*), and the inner loops of these kernels.
 *
 * Each inner loop exists in assembly for one instruction set, and in portable C. The assembly version and the C version of an inner loop compute the
 * same bits. Hosts use the inner loops in C to run programs that were packed for other processors. A microcontroller rejects a program that was
 * packed for another processor. */
#ifndef TMO_PACKED_H_
#define TMO_PACKED_H_

#include "packing.h"

/* TMO_CORE is the linkage of inner loops. Inner loops in assembly have external linkage, because they are in files of their own. */
#if TMO_TWINS
#define TMO_CORE TMO_LINKAGE
#else
#define TMO_CORE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* tmo_packed_clamps() returns whether the activation function limits the outputs. tmo_packed_clamp() limits outputs that an inner loop has not
 * limited. */
static inline bool tmo_packed_clamps(const tmo_op *op) { return tmo_has_part(TMO_PART_CLAMPS) && (op->act_min != INT8_MIN || op->act_max != INT8_MAX); }
TMO_LINKAGE void tmo_clamp_bytes(const tmo_op *op, int8_t *out, uint32_t n);
static inline void tmo_packed_clamp(const tmo_op *op, int8_t *out, uint32_t n) {
  if (tmo_packed_clamps(op)) tmo_clamp_bytes(op, out, n);
}

#if TMO_CORE_DSP
/* Computes a pixel like tmo_dsp_conv_run(). The argument `filter` is the size in bytes of the weights of one channel. */
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

/* Sets all fields of a job for the pixel of a depthwise convolution. The argument `w` is the address of the weights of the window's first tap. */
static TMO_ALWAYS_INLINE void tmo_dsp_set_window(tmo_dsp_window_job *o, const tmo_kernel *k, const tmo_window *v, const int8_t *w, int8_t *out, tmo_dsp_scales *scales) {
  const bool by_row = tmo_reads_rows(k);
  tmo_dsp_set(&o->job, k, w, k->tap_step, out, scales);
  o->taps = v->pixels;
  o->columns = v->columns;
  o->rows = v->columns == 0 ? 0 : by_row ? v->count : v->count / v->columns;
  o->skipped = (k->op->kernel_w - v->columns) * k->tap_step;
  o->offset = v->offset;
  o->apart = by_row ? k->op->dilation_w * k->in_channels : 0;
  if (!by_row && o->skipped == 0) {
    o->columns = v->count;
    o->rows = v->count > 0 ? 1 : 0;
  }
}

/* Computes a pixel of a depthwise convolution, four channels at a time. tmo_makes_fours() must be true, and there must be as many input channels as
 * output channels. */
static TMO_ALWAYS_INLINE void tmo_depthwise_fours(const tmo_kernel *k, const tmo_window *v, int8_t *out) {
  const int8_t *const w = k->weights + tmo_first_tap(k, v);
  tmo_dsp_scales scales;
  tmo_dsp_window_job o;
  tmo_dsp_set_window(&o, k, v, w, out, &scales);
  tmo_dsp_window_outputs(&o);
  if (tmo_dsp_moves_to_rest(&o.job, k, w, 1, out)) {
    o.offset = v->offset + k->out_channels - 4;
    tmo_dsp_window_outputs(&o);
  }
  tmo_packed_clamp(k->op, out, k->out_channels);
}
#endif

typedef struct {
  uint32_t first, count;
} tmo_run_of_columns;

/* Returns the output columns whose windows are completely inside the width of the input. */
static inline tmo_run_of_columns tmo_inside(const tmo_kernel *k) {
  const tmo_op *op = k->op;
  const uint32_t extent = (op->kernel_w - 1u) * op->dilation_w + 1, padded = (uint32_t)k->in_width + op->pad_left;
  const uint32_t inside = padded < extent ? 0 : (padded - extent) / op->stride_w + 1, end = inside < k->out_width ? inside : k->out_width;
  tmo_run_of_columns run = {(op->pad_left + op->stride_w - 1u) / op->stride_w, 0};
  if (end > run.first) run.count = end - run.first;
  return run;
}

/* Arguments for a function that computes the output columns from `first` to `end` - 1 of one row. The first output pixel is at `out`, and adjacent
 * output pixels are `step` bytes apart. The scratch memory has room for the input values of `most` columns. */
typedef struct {
  uint32_t first, end, most;
  int8_t *out;
  uint32_t step;
} tmo_columns_job;

/* Computes the output columns of a tmo_columns_job from whole input rows. */
typedef void tmo_make_columns(const tmo_kernel *k, const tmo_window *rows, const tmo_columns_job *columns);

/* These functions compute a CONV operator with TMO_PACKING_DSP_CONV. tmo_conv_dsp_gather() copies the values under the window of one pixel to the
 * scratch memory. The values of pixel number `pixel` are copied, of `pixels` pixels that share the scratch memory. tmo_conv_dsp_multiply() computes
 * the outputs of the copied pixels. Adjacent output pixels are `step` bytes apart, beginning at `out`. tmo_conv_dsp_scatter() stores output pixel p
 * at outs[p]. */
TMO_LINKAGE void tmo_conv_dsp_gather(const tmo_kernel *k, const tmo_window *window, uint32_t pixel, uint32_t pixels);
/* Copies the input values of adjacent windows to the scratch memory. All windows must be completely inside the input. The argument `offset` is the
 * distance in bytes from the start of a row to the first window. */
TMO_LINKAGE void tmo_conv_dsp_gather_inside(const tmo_kernel *k, const tmo_window *rows, uint32_t offset, uint32_t pixels);
TMO_LINKAGE void tmo_conv_dsp_multiply(const tmo_kernel *k, uint32_t pixels, int8_t *out, uint32_t step);
TMO_LINKAGE void tmo_conv_dsp_scatter(const tmo_kernel *k, uint32_t pixels, int8_t *const *outs);
TMO_LINKAGE tmo_kernel_s8 tmo_conv_dsp_row;    /* computes a whole output row */
TMO_LINKAGE tmo_make_columns tmo_conv_dsp_columns;
TMO_LINKAGE void tmo_conv_dsp_two_rows(const tmo_kernel *k, const tmo_window *rows, int8_t *const *outs); /* computes two rows with five pixels each */
TMO_LINKAGE tmo_kernel_s8 tmo_conv_dsp_direct; /* computes one pixel for which tmo_packed_direct() is true */

/* tmo_conv_dsp_dense(), tmo_conv_dsp_window() and tmo_conv_dsp_taps() compute one pixel of a CONV with TMO_PACKING_DSP_DENSE. tmo_conv_dsp_dense()
 * computes windows of one pixel. tmo_conv_dsp_window() computes any window from a list of the pixels inside the input. tmo_conv_dsp_taps() computes
 * a window from a list of all taps, in which padding has an address, too. */
TMO_LINKAGE tmo_kernel_s8 tmo_conv_dsp_dense, tmo_conv_dsp_window;
TMO_LINKAGE void tmo_conv_dsp_taps(const tmo_kernel *k, const int8_t *const *taps, int8_t *out);

/* The arguments of a tmo_mve_conv function that are neither input pixels nor weights. */
typedef struct {
  const int32_t *scales;
  int8_t *out;   /* address of output pixel 0; adjacent output pixels are `step` bytes apart */
  uint32_t step;
  uint32_t turns; /* number of vectors (16 bytes) that an input pixel has */
  uint32_t channels;
  int32_t zero, least, most; /* zero point, minimum and maximum of the outputs */
  uint32_t pairs;            /* number of pairs of pixels, for a function that computes two pixels at a time */
} tmo_mve_job;

/* Returns the number of vectors (16 bytes) of input values that a pixel has, for operators packed for Helium. */
static inline uint32_t tmo_mve_turns(const tmo_op *op, uint32_t in_channels) { return (op->kernel_h * op->kernel_w * in_channels + 15) / 16; }

static inline tmo_mve_job tmo_mve_job_of(const tmo_op *op, const int32_t *scales, uint32_t in_channels, uint32_t out_channels, int8_t *out, uint32_t step) {
  const uint32_t turns = tmo_mve_turns(op, in_channels);
  const tmo_mve_job job = {scales, out, step, turns, out_channels, op->output_zero_point, op->act_min, op->act_max, 1};
  return job;
}

/* The functions whose names begin with tmo_conv_mve compute a CONV operator with TMO_PACKING_MVE_CONV, in the same steps as the functions for
 * TMO_PACKING_DSP_CONV. tmo_conv_mve_multiply() reads input pixels that begin at `bytes` and are bytes_step bytes apart or, if `bytes` is NULL, the
 * values in the scratch memory. */
TMO_LINKAGE void tmo_conv_mve_gather(const tmo_kernel *k, const tmo_window *window, uint32_t pixel);
TMO_LINKAGE void tmo_conv_mve_multiply(const tmo_kernel *k, const int8_t *bytes, uint32_t bytes_step, uint32_t pixels, int8_t *out, uint32_t step);
TMO_LINKAGE tmo_kernel_s8 tmo_conv_mve_row;
TMO_LINKAGE tmo_make_columns tmo_conv_mve_columns;

/* The functions whose names begin with tmo_conv_rvv compute a CONV operator with TMO_PACKING_RVV_CONV, in the same steps as the functions for
 * TMO_PACKING_DSP_CONV. */
TMO_LINKAGE void tmo_conv_rvv_gather(const tmo_kernel *k, const tmo_window *window, uint32_t pixel);
TMO_LINKAGE void tmo_conv_rvv_multiply(const tmo_kernel *k, const int8_t *bytes, uint32_t bytes_step, uint32_t pixels, int8_t *out, uint32_t step);
TMO_LINKAGE tmo_kernel_s8 tmo_conv_rvv_row;
TMO_LINKAGE tmo_make_columns tmo_conv_rvv_columns;

/* Computes adjacent output pixels of a DEPTHWISE operator with TMO_PACKING_RVV_DEPTHWISE. The argument `pixels` is the number of output pixels. The
 * list `taps` has the addresses of the taps of the first output pixel. From one output pixel to the next, each tap moves by `step` bytes. */
TMO_LINKAGE void tmo_depthwise_rvv(const tmo_kernel *k, const int8_t *const *taps, int8_t *out, uint32_t pixels, uint32_t step);

/* The functions whose names begin with tmo_conv_esp compute a CONV operator with TMO_PACKING_ESP_CONV. */
TMO_LINKAGE void tmo_conv_esp_gather(const tmo_kernel *k, const tmo_window *window);
TMO_LINKAGE void tmo_conv_esp_multiply(const tmo_kernel *k, int8_t *out);
TMO_LINKAGE void tmo_conv_esp_pixel(const tmo_kernel *k, const tmo_window *window, int8_t *out); /* tmo_conv_esp_pixel() may copy the pixel's values to the scratch memory */
TMO_LINKAGE tmo_kernel_s8 tmo_conv_esp_row;
TMO_LINKAGE tmo_make_columns tmo_conv_esp_columns;

/* tmo_depthwise_esp() computes adjacent output pixels of a DEPTHWISE operator with TMO_PACKING_ESP_DEPTHWISE, like tmo_depthwise_rvv().
 * tmo_depthwise_esp_row() computes a whole row with ESP-NN. If ESP-NN cannot compute the row, tmo_depthwise_esp_row() returns false. */
TMO_LINKAGE void tmo_depthwise_esp(const tmo_kernel *k, const int8_t *const *taps, int8_t *out, uint32_t pixels, uint32_t step);
TMO_LINKAGE bool tmo_depthwise_esp_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out);

/* Computes n output elements of an ADD operator with TMO_PACKING_DSP_ADD. The inputs of an element are read before the element is written. */
TMO_LINKAGE void tmo_packed_add(const int8_t *a, const int8_t *b, int8_t *out, uint32_t n, const int32_t *scales, const tmo_op *op);
TMO_LINKAGE tmo_kernel_s8 tmo_add_packed;

/* The converter makes the greater scale of two operands exactly 1/2, so that the kernel shifts one operand instead of multiplying it. tmo_half()
 * returns the index of the shifted operand, and tmo_half_shift() returns its shift to the left in bits. */
static inline uint32_t tmo_half(const int32_t *scales) { return scales[1] == INT32_MIN ? 0 : 1; }
static inline int32_t tmo_half_shift(const int32_t *scale) { return scale[0] - scale[3] - 1; }

/* tmo_depthwise_packed_row() and tmo_depthwise_packed_pixel() compute a DEPTHWISE operator with any packing. */
TMO_LINKAGE tmo_kernel_s8 tmo_depthwise_packed_row, tmo_depthwise_packed_pixel;

/* Returns whether tmo_dsp_3x3() computes rows of `width` pixels. For a block of only four pixels, other functions are at least as fast. */
static inline bool tmo_dsp_has_3x3(const tmo_op *op, uint32_t width) {
  const bool fits = op->kernel_h == 3 && op->kernel_w == 3 && op->stride_w == 1 && op->dilation_w == 1;
  return fits && width >= TMO_BLOCK_PIXELS - 1 && width != TMO_BLOCK_PIXELS + 1;
}

/* Computes two rows of a DEPTHWISE operator with TMO_PACKING_DSP_DEPTHWISE. tmo_dsp_has_3x3() must be true for the operator. */
TMO_LINKAGE void tmo_depthwise_two_rows(const tmo_kernel *k, const tmo_window *rows, int8_t *const *outs);

/* tmo_depthwise_multiply() computes one output pixel from a list of the window's taps, row by row. tmo_depthwise_clear() sets all addresses of the
 * list to padding. */
TMO_LINKAGE uint32_t tmo_depthwise_taps(const tmo_kernel *k);
TMO_LINKAGE void tmo_depthwise_clear(const tmo_kernel *k, const int8_t **taps, uint32_t all);
TMO_LINKAGE void tmo_depthwise_multiply(const tmo_kernel *k, const int8_t *const *taps, int8_t *out);
#if TMO_RUNS_MVE
/* Computes one output pixel of an operator for which tmo_mve_has_nine() is true. The list `taps` has the addresses of the nine taps. */
TMO_LINKAGE void tmo_depthwise_nine(const int8_t *constants, uint32_t channels, const int8_t *const *taps, int8_t *out);
#endif

/* The tmo_dsp_widen functions widen the bytes of two, three or four input pixels to int16, and write the values to a tile. The first input pixel is
 * at `from`, and adjacent input pixels are `step` bytes apart. An input pixel has at least four bytes, and is padded with arbitrary values to a
 * multiple of 4. The functions return the address after the last written value. */
typedef int16_t *tmo_dsp_widen(const int8_t *from, uint32_t step, int16_t *tile, uint32_t bytes);
TMO_CORE tmo_dsp_widen tmo_dsp_widen_2, tmo_dsp_widen_3, tmo_dsp_widen_4;

/* Widens the bytes of four input pixels to int16. Input pixel p is at from[p]. The size of an input pixel in bytes must be a multiple of 4. Four
 * bytes of a pixel are read before their values are written. Returns the address after the last written value. */
TMO_CORE int16_t *tmo_dsp_widen_each(const int8_t *const *from, int16_t *tile, uint32_t bytes);

/* Widens the bytes of n > 0 taps to int16, into a tile of one pixel. A tap has a multiple of 4 bytes. */
TMO_CORE void tmo_dsp_widen_taps(const int8_t *const *taps, uint32_t n, int16_t *tile, uint32_t bytes);

/* The tmo_dsp_pairs functions compute pairs of output channels for 1 to 5 pixels. A tile has values 0 and 1 of all pixels, then values 2 and 3 of
 * all pixels, and so on; the values of five pixels are in a tile of three pixels and a tile of two pixels. A pixel has `values` values, a multiple
 * of 8. The output of pixel 0 is at `out`, and the outputs of pixels 1, 2 and 3 are `second`, `third` and `fourth` bytes later. The outputs of five
 * pixels must be equally far apart. */
typedef void tmo_dsp_pairs(const int16_t *tile, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values, uint32_t pairs,
                           uint32_t second, uint32_t third, uint32_t fourth);
TMO_CORE tmo_dsp_pairs tmo_dsp_pairs_1, tmo_dsp_pairs_2, tmo_dsp_pairs_3, tmo_dsp_pairs_4, tmo_dsp_pairs_5;

/* Computes `pairs` pairs of output channels for two rows of five pixels. The outputs of the second row begin `apart` bytes after the outputs of the
 * first row. Three tiles follow each other: four pixels of the first row, four pixels of the second row, and the last pixel of both rows. */
TMO_CORE void tmo_dsp_pairs_rows(const int16_t *tile, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values, uint32_t pairs,
                                 uint32_t step, int32_t apart);

/* tmo_conv_two_s16() computes two pixels of a CONV_S16 operator at once, with the DSP extension. tmo_conv_makes_two_s16() returns whether
 * tmo_conv_two_s16() supports the operator. The argument `apart` is the distance in bytes between the two windows. The argument `out_apart` is the
 * distance in bytes between the two output pixels. */
TMO_LINKAGE bool tmo_conv_makes_two_s16(const tmo_kernel *k);
TMO_LINKAGE void tmo_conv_two_s16(const tmo_kernel *k, const tmo_window *window, uint32_t apart, uint32_t out_apart, int8_t *out);

/* Computes a pixel of a CONV_S16 operator with a 1x1 kernel from the input pixel at `from`. A channel must have at most TMO_NARROW_VALUES weights. The
 * function reads only the fields `op`, `bias`, `multipliers`, `shifts`, `weights`, `tap_step` and `out_channels` of k. */
TMO_LINKAGE void tmo_conv_point_s16(const tmo_kernel *k, const int8_t *from, int8_t *out);

enum { TMO_NARROW_VALUES = 511 }; /* the sum of TMO_NARROW_VALUES products of int16 and int8 values fits 32 bits */
enum { TMO_WIDE_VALUES = 32 }; /* distance between two pixels, in values */

/* Arguments for functions that multiply int16 values of one or two pixels by int8 weights. Sums have 32 bits and may wrap. A function for one pixel
 * computes four channels together, and a function for two pixels computes two channels of both pixels. */
typedef struct tmo_wide_job {
  const int32_t *bias, *multipliers; /* one value for each channel, or four equal values if all channels have the same value */
  const int8_t *shifts;
  int8_t *out;
  int32_t low, high;         /* smallest and largest output; both halves of each word have the same value */
  const int32_t *x, *end;    /* input values of two pixels: values 0 and 2 in one word, values 1 and 3 in the next word */
  const int8_t *weights;
  uint32_t filter;           /* distance in bytes between the weights of adjacent channels */
  int32_t *sums;             /* memory for the four sums that are computed together */
  int32_t channels;
  int32_t apart;             /* distance in bytes between the outputs of the two pixels */
  void (*rest)(struct tmo_wide_job *job, uint32_t pixels); /* writes the outputs of four sums if a sum does not fit 32 bits */
  uint8_t biased, scaled;    /* `biased` is 1 if each channel has its own bias, and `scaled` is 1 if each channel has its own scale */
  /* Only tmo_dsp_wide_one() uses the following fields. The input values of its pixel are in rows of adjacent values. */
  uint8_t first;             /* 1 if the sums begin with 0, and 0 if the function adds to earlier sums */
  uint8_t last;              /* 1 if the outputs are written after the products were added */
  const int8_t *const *rows; /* address of each row */
  uint32_t count, offset;    /* number of rows, and number of bytes from a row's address to its values */
  uint32_t fours, singles;   /* number of bytes of a row in groups of four values, and number of remaining bytes */
  uint32_t skip;             /* number of weights to skip after each row */
  const int8_t *const *row;  /* list entry of the next row; `left` rows remain */
  uint32_t left;
} tmo_wide_job;

/* Compute all channels of one pixel (tmo_dsp_wide_one()) or two pixels (tmo_dsp_wide_two()), and change fields of `job`. */
TMO_CORE void tmo_dsp_wide_one(tmo_wide_job *job);
TMO_CORE void tmo_dsp_wide_two(tmo_wide_job *job);

/* Arguments for a function that computes a pixel of an int16 depthwise convolution. Sums have 32 bits and may wrap. */
typedef struct {
  const int32_t *bias, *multipliers; /* one value for each channel, or four equal values if all channels have the same value */
  const int8_t *shifts;
  int8_t *out;
  int32_t low, high;                 /* smallest and largest output */
  const int8_t *weights;             /* weights of the first tap */
  uint32_t tap;                      /* distance in bytes between the weights of adjacent taps */
  const int8_t *const *rows;         /* list of `count` addresses; the first tap of a row is `offset` bytes after its address */
  uint32_t count, offset, apart;     /* adjacent taps of a row are `apart` bytes apart */
  uint32_t columns, skipped;         /* number of taps in each row (at least 1), and number of weights to skip after each row */
  int32_t channels;
  uint8_t biased, scaled;            /* `biased` is 1 if each channel has its own bias, and `scaled` is 1 if each channel has its own scale */
} tmo_wide_taps;

/* Computes all channels of a pixel. Changes fields of the argument `job`. Returns false, with the outputs of some channels missing, if a sum or a
 * scale does not fit 32 bits. */
TMO_CORE bool tmo_dsp_wide_taps(tmo_wide_taps *job);

/* Computes `pairs` pairs of output channels of one pixel, at least 2, from `values` input bytes. */
TMO_CORE void tmo_dsp_direct(const int8_t *bytes, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values, uint32_t pairs);

/* Computes output channels of one pixel in `triples` groups of six channels. The weights of a group's three pairs of channels are interleaved. */
TMO_CORE void tmo_dsp_dense(const int8_t *bytes, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values, uint32_t triples);
/* Computes the same as tmo_dsp_dense() for operators whose channels all have the same scale. */
TMO_CORE void tmo_dsp_dense_one_scale(const int8_t *bytes, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t values,
                                      uint32_t triples);
/* These functions compute the same as tmo_dsp_dense() and tmo_dsp_direct(), from a list of n taps of `bytes` bytes each. */
TMO_CORE void tmo_dsp_dense_taps(const int8_t *const *taps, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t bytes,
                                 uint32_t triples, uint32_t n);
TMO_CORE void tmo_dsp_direct_taps(const int8_t *const *taps, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t bytes,
                                  uint32_t pairs, uint32_t n);

/* Computes all channels of adjacent output pixels of a depthwise convolution. The argument `turns` is the number of groups of three taps. The list
 * `taps` has the addresses of the taps of the first output pixel. From one output pixel to the next, each tap moves by `step` bytes. */
TMO_CORE void tmo_dsp_depthwise(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t pixels, uint32_t turns, uint32_t channels,
                       uint32_t step);

/* Computes all channels of four adjacent output pixels of a depthwise convolution with 3x3 taps and stride 1. The argument `grid` has the addresses
 * of the input pixels in three rows and six columns. */
TMO_CORE void tmo_dsp_four(const int8_t *const *grid, int8_t *const *outs, const int8_t *constants, uint32_t channels);

enum { TMO_DSP_RUNS = 4 }; /* largest number of elements in the array `runs` of tmo_dsp_nine() */

/* Adjacent output pixels, and the addresses of the taps of the first output pixel. */
typedef struct {
  int8_t *out;
  uint32_t pixels;
  const int8_t *taps[9];
} tmo_dsp_run;

/* Computes all channels of the output pixels in the array `runs`. Each output pixel has a window of nine taps. */
TMO_CORE void tmo_dsp_nine(const tmo_dsp_run *runs, const tmo_dsp_run *end, const int8_t *constants, uint32_t channels, uint32_t step);

/* Adjacent blocks of `outputs` output pixels each, with 3x3 taps and stride 1. The array `columns` has the addresses of the input pixels under the
 * first block, in the order of tmo_dsp_column(). */
typedef struct {
  uint32_t blocks, outputs;
  int8_t *out; /* address of the first output pixel */
  const int8_t *columns[3 * (TMO_BLOCK_PIXELS + 2)];
} tmo_dsp_blocks;

/* Returns the index of an input pixel in the array tmo_dsp_blocks.columns. Rows 0 and 1 alternate, and row 2 comes last. */
static inline uint32_t tmo_dsp_column(uint32_t row, uint32_t column) { return row < 2 ? 2 * column + row : 2 * (TMO_BLOCK_PIXELS + 2) + column; }

/* Computes all channels of the output pixels in the array `runs`. */
TMO_CORE void tmo_dsp_3x3(const tmo_dsp_blocks *runs, const tmo_dsp_blocks *end, const int8_t *constants, uint32_t channels);

/* tmo_mve_conv_1() computes one pixel with a multiple of 8 output channels. tmo_mve_conv_2() computes pairs of pixels with a multiple of 4 output
 * channels. Each input pixel has job->turns vectors of 16 bytes. The first input pixel is at `bytes`, and adjacent input pixels are `step` bytes
 * apart. The outputs of the two pixels of a pair must be less than 65,531 bytes apart. */
typedef void tmo_mve_conv(const int8_t *bytes, uint32_t step, const int8_t *weights, const tmo_mve_job *job);
TMO_CORE tmo_mve_conv tmo_mve_conv_1, tmo_mve_conv_2;

/* The relu functions compute the same for a zero point of -128 and the whole int8 range of outputs. */
#if TMO_TWINS
#define tmo_mve_relu_1 tmo_mve_conv_1
#define tmo_mve_relu_2 tmo_mve_conv_2
#else
TMO_CORE tmo_mve_conv tmo_mve_relu_1, tmo_mve_relu_2;
#endif

static inline bool tmo_mve_gives_relu(const tmo_op *op) {
  return op->output_zero_point == INT8_MIN && op->act_min == INT8_MIN && op->act_max == INT8_MAX;
}
static inline bool tmo_mve_is_relu(const tmo_mve_job *job) { return job->zero == INT8_MIN && job->least == INT8_MIN && job->most == INT8_MAX; }

#if TMO_RUNS_MVE
/* Computes one pixel with any number of output channels. */
TMO_LINKAGE tmo_mve_conv tmo_mve_one_of_any;
static inline tmo_mve_conv *tmo_mve_one_for(const tmo_mve_job *job) {
  return job->channels % 8 != 0 ? tmo_mve_one_of_any : tmo_mve_is_relu(job) ? tmo_mve_relu_1 : tmo_mve_conv_1;
}
#endif

/* The bytes under several adjacent windows, which tmo_mve_copy() copies. */
typedef struct {
  const int8_t *const *first;
  uint32_t n;     /* number of rows under a window */
  uint32_t bytes; /* number of bytes to copy from each row, at least one */
  uint32_t step;  /* distance in bytes between the copies of adjacent rows; 1 only if `bytes` is 1 */
  uint32_t apart; /* distance in bytes between the input values of two adjacent windows */
} tmo_mve_rows;

/* Copies the input values of `windows` windows, one window after the other. Row r of the first window begins at first[r] + offset. */
TMO_CORE void tmo_mve_copy(int8_t *to, const tmo_mve_rows *rows, uint32_t offset, uint32_t windows);

/* The pixels under the window of an operator whose input has column windows. */
typedef struct {
  const tmo_column_window *column_window; /* the column window that stores the pixels of the first input row */
  uint32_t column;      /* column of the first pixel, plus `width` for each earlier row at the same index */
  uint32_t row;         /* index of the first row in the column window */
  uint32_t rows;
  uint32_t pixel;       /* size of a pixel in bytes */
  const int8_t *base;
  uint32_t columns;
  uint32_t dilation_w;
  const tmo_column_window *first, *end; /* all column windows; the first one follows the last one */
  uint32_t dilation_h;
  uint32_t gap;         /* number of bytes to skip in the copy after each row */
  uint32_t width;
} tmo_mve_window;

/* tmo_mve_take() copies the pixels. tmo_mve_list() writes the addresses of the pixels to a list. */
TMO_CORE void tmo_mve_take(int8_t *to, const tmo_mve_window *window);
TMO_CORE void tmo_mve_list(const int8_t **pixels, const tmo_mve_window *window);

/* Sets n bytes to the argument `value`. The argument `n` must be positive. */
TMO_CORE void tmo_mve_fill(int8_t *to, int8_t value, uint32_t n);

/* Sets n bytes to the argument `value`. The address `to` must be a multiple of 4, and n must be positive. */
#if TMO_CORE_MVE
#define tmo_fill tmo_mve_fill
#else
TMO_LINKAGE void tmo_fill(int8_t *to, int8_t value, uint32_t n);
#endif

/* Adds n adjacent pixels to the sum of each channel. */
TMO_LINKAGE void tmo_mve_add_pixels(int32_t *sums, const int8_t *pixels, uint32_t channels, uint32_t n);

/* Computes outputs like tmo_dsp_depthwise(), but multiplies two taps at a time. The argument `range` has the zero point, minimum and maximum of the
 * outputs. */
TMO_CORE void tmo_mve_depthwise(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t pixels, uint32_t turns, uint32_t channels,
                       uint32_t step, const int8_t *range);

/* Arguments for a function that computes adjacent windows of 3x3 taps. */
typedef struct {
  struct {
    const int8_t *first; /* first pixel of the input row, or a pixel of zero points if the row does not exist */
    uint32_t pixel;      /* distance in bytes between pixels; 0 if the row does not exist */
  } rows[3];
  const int8_t *missing; /* pixel of zero points that stands for all pixels outside the row */
  uint32_t width;        /* number of pixels in an input row */
  uint32_t stride;
  uint32_t inside;       /* first input column at which a window would extend past the row; 0 if an input row does not exist */
  uint32_t apart;        /* number of bytes from the end of a tap's last vector to the same tap of the next window, modulo 2^32 */
  const int8_t *constants;
  uint32_t first;        /* number of channels in complete vectors of sixteen, or of all channels if they are fewer than sixteen */
  const int8_t *end;     /* end of the operator's constants */
  uint32_t beyond;       /* number of bytes of the last vector after the last channel */
  uint32_t more;         /* number of channels after the last complete vector of sixteen */
  int32_t column;        /* input column where the next window begins */
  uint32_t pixels;       /* number of output pixels that must still be computed */
} tmo_mve_nine;

/* Returns whether tmo_mve_depthwise_9() supports the operator's window and its range of outputs. */
static inline bool tmo_mve_has_nine(const tmo_op *op) {
  return tmo_mve_gives_relu(op) && op->kernel_h == 3 && op->kernel_w == 3 && op->dilation_w == 1;
}

/* Computes job->pixels output pixels with 3x3 taps or, if `taps` is not NULL, one pixel from a list of nine taps. */
TMO_CORE void tmo_mve_depthwise_9(tmo_mve_nine *job, const int8_t *const *taps, int8_t *out);

#if TMO_TWINS
/* The inner loops in assembly return the same values as the C functions below. */
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
