/* SPDX-License-Identifier: Apache-2.0 */
/* This header declares the kernels of operators. Applications include only tmo/tmo.h.
 *
 * One call of a kernel computes one output row or one output pixel, or adds products to partial sums of outputs. Kernels keep no data between calls
 * and allocate no memory. Kernels do not check lengths, because tmo_check() has checked all lengths. For most kernels, the output must not overlap
 * an input. Some kernels read each input element before they write the output element with the same index. If a kernel reads before it writes, its
 * output may overlap an operand. The output must then begin at or before the start of the operand, and the operand must not be broadcast. The
 * following kernels read before they write: LOOKUP, LEAKY_RELU_S16, CURVE_S16, CLAMP_F32, CURVE_F32, and operators for which tmo_only_limits() is
 * true. Kernels with two operands also read before they write, and so do kernels whose output elements are not larger than their input elements.
 * The last output byte of CONV may overlap an input, because all inputs are read before.
 *
 * Kernels in files *_ref.c run on any core. Kernels in all other files need certain cores, and return the same bits as the kernels in *_ref.c. */
#ifndef TMO_KERNELS_H_
#define TMO_KERNELS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "build.h"
#include "compiler.h"
#include "fixed.h"
#include "tmo/own.h"
#include "tmo/program.h"

/* Most instructions of Armv6-M and of Armv8-M Baseline can use only the lower eight registers. */
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#define TMO_EIGHT_REGISTERS 1
#else
#define TMO_EIGHT_REGISTERS 0
#endif

/* RISC-V has 31 registers, but RV32E has fewer. */
#if defined(__riscv) && !defined(__riscv_32e) && !defined(__riscv_e)
#define TMO_MANY_REGISTERS 1
#else
#define TMO_MANY_REGISTERS 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const tmo_op *op; /* operator whose fields are parameters of the kernel */
  const int8_t *weights;      /* weights for the first output channel, beginning with the first input channel */
  const int32_t *bias;        /* bias of each output channel, or NULL if the operator has no biases */
  const int32_t *multipliers;
  const int8_t *shifts;
  int32_t *sums;        /* partial sums of all outputs, or NULL if one call computes the outputs completely */
  void *scratch;        /* scratch memory that a packed operator uses during the call */
  bool whole_rows;      /* whether a packed convolution gets a list of input rows instead of input pixels */
  bool first;           /* true if the call begins new sums, and false if it continues the sums of an earlier call */
  bool last;            /* true if the call writes the output, and false if it keeps the sums for the next call */
  uint32_t in_channels; /* number of channels of an int8 input pixel, or number of bytes of an int16 or float32 input pixel */
  uint32_t out_channels;
  uint32_t tap_step; /* distance in bytes between the weights of two adjacent taps */
  uint32_t first_weight; /* index of the operator's first int4 weight, counted from the address `weights` */
  uint32_t pixel_step[2], channel_step[2]; /* for each operand, bytes from pixel to pixel and from channel to channel; 0 repeats a value */
  uint16_t in_width;
  uint16_t out_width;
  uint16_t row;       /* index of the output row, for an operator with access records */
  int32_t first_row;  /* index of the first listed row of operand 0, for an operator with access records */
} tmo_kernel;

/* The input pixels under the window of a convolution or pool, without pixels outside the input. */
typedef struct {
  const int8_t *const *pixels; /* address of the first pixel of each row; in a group with tiles, addresses of all pixels */
  uint16_t count;
  uint16_t columns;            /* number of the window's columns that are inside the input */
  uint16_t first_row, first_column; /* row and column of the first tap that is inside the input */
  uint32_t offset;             /* distance in bytes from each address in `pixels` to the first tap of its row */
  uint32_t area;               /* number of input pixels under the whole window, even if the call computes only some rows of it */
} tmo_window;

/* A function with `row` in its name computes `out_width` output pixels from whole input rows. A function with `pixel` in its name computes one output
 * pixel. For a kernel without a window, pixels[k] is the address of the first byte of operand k. */
typedef void tmo_kernel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out);

TMO_LINKAGE tmo_kernel_s8 tmo_conv_row_s8, tmo_conv_pixel_s8;           /* CONV */
TMO_LINKAGE tmo_kernel_s8 tmo_depthwise_row_s8, tmo_depthwise_pixel_s8; /* DEPTHWISE */
TMO_LINKAGE tmo_kernel_s8 tmo_conv_row_s16, tmo_conv_pixel_s16;         /* CONV_S16, DEPTHWISE_S16 */
TMO_LINKAGE tmo_kernel_s8 tmo_sums_row_s8, tmo_sums_pixel_s8;           /* SUMS */
TMO_LINKAGE tmo_kernel_s8 tmo_pool_row_s8, tmo_pool_pixel_s8;           /* for the kinds AVERAGE_POOL, MAX_POOL and MEAN */
TMO_LINKAGE tmo_kernel_s8 tmo_pool_row_s16, tmo_pool_pixel_s16;         /* for the kinds AVERAGE_POOL_S16, MAX_POOL_S16 and MEAN_S16 */
TMO_LINKAGE tmo_kernel_s8 tmo_add_scalars_s8, tmo_mul_scalars_s8, tmo_greater_s8, tmo_squared_difference_s8, tmo_prelu_s8;
TMO_LINKAGE tmo_kernel_s8 tmo_compare_s8;                               /* COMPARE */
TMO_LINKAGE tmo_kernel_s8 tmo_add_s16, tmo_mul_s16, tmo_greater_s16;    /* kernels of the kinds whose two operands are int16 */
TMO_LINKAGE tmo_kernel_s8 tmo_softmax_s8, tmo_softmax_s16;              /* SOFTMAX, SOFTMAX_S16 */
TMO_LINKAGE tmo_kernel_s8 tmo_log_softmax_s8;                           /* LOG_SOFTMAX */
TMO_LINKAGE tmo_kernel_s8 tmo_arg_max_s8;                               /* ARG_MAX */
TMO_LINKAGE tmo_kernel_s8 tmo_lookup_s8, tmo_lookup_bytes;              /* LOOKUP */
TMO_LINKAGE tmo_kernel_s8 tmo_own_s8;                                   /* OWN */
TMO_LINKAGE tmo_kernel_s8 tmo_leaky_relu_s16, tmo_curve_s16;            /* LEAKY_RELU_S16, CURVE_S16 */
TMO_LINKAGE tmo_kernel_s8 tmo_logistic_s16, tmo_tanh_s16;               /* CURVE_S16 */
TMO_LINKAGE tmo_kernel_s8 tmo_product_s8, tmo_transposed_product_s8;    /* BATCH_MATMUL */
TMO_LINKAGE tmo_kernel_s8 tmo_product_s16, tmo_transposed_product_s16;  /* BATCH_MATMUL_S16 */
TMO_LINKAGE tmo_kernel_s8 tmo_quantize, tmo_quantize_s16, tmo_dequantize, tmo_dequantize_s16;
TMO_LINKAGE tmo_kernel_s8 tmo_widen, tmo_narrow, tmo_rescale_s16;       /* kernels of the kinds whose output and input have different types */

TMO_LINKAGE tmo_kernel_s8 tmo_conv_row_f32, tmo_conv_pixel_f32;         /* CONV_F32, DEPTHWISE_F32 */
TMO_LINKAGE tmo_kernel_s8 tmo_pool_row_f32, tmo_pool_pixel_f32;         /* for the kinds AVERAGE_POOL_F32, SUM_F32, MAX_POOL_F32 and MIN_POOL_F32 */
TMO_LINKAGE tmo_kernel_s8 tmo_arithmetic_f32, tmo_clamp_f32, tmo_curve_f32, tmo_softmax_f32, tmo_log_softmax_f32, tmo_batch_matmul_row_f32;
TMO_LINKAGE tmo_kernel_s8 tmo_matmul_f32, tmo_transposed_matmul_f32;   /* BATCH_MATMUL_F32 */
TMO_LINKAGE tmo_kernel_s8 tmo_binary_32, tmo_compare_32, tmo_arg_max_along_row, tmo_arg_max_along_pixel;

/* Computes n output elements. Output element i is computed from element i of operand a, or from element i of operands a and b. All elements of an
 * operand or of the output must be adjacent and aligned. */
typedef void tmo_make_elements(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n);
TMO_LINKAGE tmo_make_elements tmo_add_f32, tmo_subtract_f32, tmo_multiply_f32, tmo_maximum_f32, tmo_minimum_f32; /* ARITHMETIC_F32 */
TMO_LINKAGE tmo_make_elements tmo_sum_f32, tmo_difference_f32, tmo_product_f32;                                  /* ARITHMETIC_F32 */
TMO_LINKAGE tmo_make_elements tmo_square_difference_f32, tmo_prelu_f32, tmo_leaky_relu_f32;                      /* ARITHMETIC_F32 */
TMO_LINKAGE tmo_make_elements tmo_clamped_f32, tmo_raised_f32;                                                   /* CLAMP_F32 */
TMO_LINKAGE tmo_make_elements tmo_logistic_f32, tmo_tanh_f32, tmo_elu_f32, tmo_hard_swish_f32, tmo_abs_f32;      /* CURVE_F32 */
TMO_LINKAGE tmo_make_elements tmo_negative_f32, tmo_square_f32, tmo_root_f32, tmo_reciprocal_root_f32, tmo_exponential_f32; /* CURVE_F32 */
TMO_LINKAGE tmo_make_elements tmo_logarithm_f32, tmo_floor_f32, tmo_ceiling_f32, tmo_rounded_f32, tmo_from_s32, tmo_to_s32; /* CURVE_F32 */
TMO_LINKAGE tmo_make_elements tmo_divide_f32, tmo_floor_divide_f32, tmo_floor_modulo_f32, tmo_add_s32;           /* BINARY_32 */
TMO_LINKAGE tmo_make_elements tmo_subtract_s32, tmo_multiply_s32, tmo_maximum_s32, tmo_minimum_s32;              /* BINARY_32 */
TMO_LINKAGE tmo_make_elements tmo_equal_f32, tmo_not_equal_f32, tmo_less_f32, tmo_less_equal_f32;                /* COMPARE_32 */
TMO_LINKAGE tmo_make_elements tmo_equal_s32, tmo_not_equal_s32, tmo_less_s32, tmo_less_equal_s32;                /* COMPARE_32 */

/* Returns the kernel that the application has registered for an OWN operator, or NULL. */
TMO_LINKAGE const tmo_own_kernel *tmo_own_of(const tmo_op *op);

/* Copies the row with the index `row` from the table of a GATHER operator to y. The argument `row` must be the index of a row in the table. */
TMO_LINKAGE void tmo_gather_pixel_s8(const tmo_kernel *k, int32_t row, int8_t *y);

/* The following kernels compute only whole rows. The array pixels[] has the addresses of all input rows, beginning with the rows of operand 0. The
 * address NULL stands for a missing row. */
TMO_LINKAGE tmo_kernel_s8 tmo_copy_s8;                /* COPY */
TMO_LINKAGE tmo_kernel_s8 tmo_resize_bilinear_row_s8; /* RESIZE_BILINEAR */
TMO_LINKAGE tmo_kernel_s8 tmo_resize_bilinear_row_f32; /* RESIZE_BILINEAR_F32 */
TMO_LINKAGE tmo_kernel_s8 tmo_select_row;             /* SELECT */
TMO_LINKAGE tmo_kernel_s8 tmo_transpose_conv_row_s8;  /* TRANSPOSE_CONV */
TMO_LINKAGE tmo_kernel_s8 tmo_transpose_conv_row_s16; /* TRANSPOSE_CONV_S16 */
TMO_LINKAGE tmo_kernel_s8 tmo_transpose_conv_row_f32; /* TRANSPOSE_CONV_F32 */
TMO_LINKAGE tmo_kernel_s8 tmo_batch_matmul_row_s8, tmo_batch_matmul_row_s16; /* BATCH_MATMUL, BATCH_MATMUL_S16 */
TMO_LINKAGE tmo_kernel_s8 tmo_lstm_row_s8;            /* LSTM; the kernel also writes to operands 1 and 2 */
TMO_LINKAGE tmo_kernel_s8 tmo_sliding_sum_row_s8;     /* SLIDING_SUM; the kernel also writes to its last operand */
TMO_LINKAGE tmo_kernel_s8 tmo_add_sums_row_s8;        /* ADD_SUMS */

/* Returns the size in bytes of a sum in operand n of an ADD_SUMS operator. For n = TMO_MAX_INPUTS, returns the size of a sum in the output, or 0 if
 * the output has scaled values. */
static inline uint32_t tmo_sum_bytes(const tmo_op *op, uint32_t n) { return (uint32_t)op->operand_bytes >> 4 * n & 15; }

/* tmo_select_bytes() returns the size of a SELECT operator's elements in bytes. tmo_select_form() returns a TMO_SELECT_* constant for
 * operand n. Operand 0 is the condition, and operands 1 and 2 are the choices. */
static inline uint32_t tmo_select_bytes(const tmo_op *op) { return (uint32_t)op->select_form >> 12; }
static inline uint32_t tmo_select_form(const tmo_op *op, uint32_t n) { return (uint32_t)op->select_form >> 4 * n & 15; }

/* The adjacent taps of a kernel that are inside the input, along one axis. */
typedef struct {
  uint32_t first; /* index of the first tap that is inside the input */
  uint32_t count;
  uint32_t start; /* input coordinate under the first tap that is inside the input */
} tmo_taps;

/* Returns the taps that are inside an input of `size` rows or columns. The argument `start` is the input coordinate of the kernel's first tap. If the
 * argument `start` is negative, the first tap is in the padding. tmo_clip() is inline, because most windows are completely inside the input. */
TMO_LINKAGE tmo_taps tmo_clip_at_border(int32_t start, uint16_t kernel, uint16_t dilation, uint16_t size);
static inline tmo_taps tmo_clip(int32_t start, uint16_t kernel, uint16_t dilation, uint16_t size) {
  const tmo_taps inside = {0, kernel, (uint32_t)start};
  return start >= 0 && start + (kernel - 1) * (int32_t)dilation < size ? inside : tmo_clip_at_border(start, kernel, dilation, size);
}

/* Returns the taps of a kernel row that are inside the input for output column x. */
TMO_LINKAGE tmo_taps tmo_columns(const tmo_kernel *k, uint16_t x);

/* Returns the window of output column x. The argument `rows` has all input rows that the output row needs. */
TMO_LINKAGE tmo_window tmo_column(const tmo_kernel *k, const tmo_window *rows, uint16_t x);

/* Computes one output pixel from its window. The pixel's first channel is element i of the output. */
typedef void tmo_make_pixel(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out);

/* Adds n bytes to n sums. */
TMO_LINKAGE void tmo_add_bytes(int32_t *sums, const int8_t *bytes, uint32_t n);

TMO_LINKAGE tmo_make_pixel tmo_max_pool, tmo_min_pool, tmo_average_pool, tmo_mean, tmo_conv_s16, tmo_depthwise_s16;
TMO_LINKAGE tmo_make_pixel tmo_max_pool_s16, tmo_average_pool_s16, tmo_mean_s16;
TMO_LINKAGE tmo_make_pixel tmo_conv_f32, tmo_depthwise_f32, tmo_max_pool_f32, tmo_min_pool_f32, tmo_average_pool_f32;
TMO_LINKAGE tmo_make_pixel tmo_place_of_greatest_s8, tmo_place_of_smallest_s8, tmo_place_of_greatest_f32, tmo_place_of_smallest_f32;

/* Adjacent output pixels of a pool or a depthwise convolution, from column x to column `end` - 1. */
typedef struct {
  uint32_t x, end;
  int8_t *out;    /* address of the pixel in column x */
  int32_t step;   /* distance in bytes from an output pixel to the pixel in the next column; negative if columns are in descending order */
  bool backwards; /* whether the pixels of an input row are in descending order; the window lists the lowest address of each row */
} tmo_adjacent_columns;

/* Compute output pixels of a pool without sums, from whole input rows. */
TMO_LINKAGE void tmo_pool_columns_s8(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns);
TMO_LINKAGE void tmo_pool_columns_s16(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns);

#if TMO_CORE_DSP
/* Compute output pixels of a depthwise convolution from whole input rows. tmo_depthwise_makes_columns() must be true. */
TMO_LINKAGE void tmo_depthwise_columns_s8(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns);
TMO_LINKAGE void tmo_depthwise_columns_s16(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns);
static inline bool tmo_depthwise_makes_columns(const tmo_op *op, uint32_t in_channels, uint32_t out_channels) {
  if (op->packing != TMO_PACKING_NONE || tmo_iterative(op) || tmo_channel_groups(op) > 1) return false;
  if (tmo_is_kind(op, TMO_OP_DEPTHWISE_S16)) return in_channels == out_channels;
  if (!tmo_is_kind(op, TMO_OP_DEPTHWISE) || tmo_has_nibbles(op)) return false;
  if (in_channels == out_channels) return out_channels < 4 ? tmo_has_part(TMO_PART_DEPTHWISE_SUMS) : op->bias != 0;
  return tmo_has_part(TMO_PART_DEPTHWISE_REPEATED) && op->bias != 0 && tmo_remainder(out_channels, 4 * in_channels) == 0;
}
#endif

/* Returns the function that computes a pixel of a CONV_S16 or DEPTHWISE_S16 operator. */
static inline tmo_make_pixel *tmo_conv_kernel_s16(const tmo_kernel *k) {
  return tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16) && k->in_channels == k->out_channels ? tmo_depthwise_s16 : tmo_conv_s16;
}

/* Computes an output row with the function `make`, which computes one pixel from the input under its window. */
TMO_LINKAGE void tmo_make_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out, tmo_make_pixel *make);

/* Returns the position of the weight for the window's first tap, in bytes from the channel's first weight. */
static inline uint32_t tmo_first_tap(const tmo_kernel *k, const tmo_window *w) {
  return ((uint32_t)w->first_row * k->op->kernel_w + w->first_column) * k->tap_step;
}

/* The input bytes under a window, as runs of bytes. The weights for a run are adjacent in memory. A window has one or more parts with equally many
 * runs. */
typedef struct {
  const int8_t *const *at; /* list of addresses, beginning with the address of the first run */
  uint16_t stride;         /* number of list entries from one run to the next */
  uint16_t count;          /* number of runs in each part of the window */
  uint16_t parts;          /* number of parts of the window */
  uint16_t next_at;        /* number of list entries from one part to the next */
  uint32_t next_offset;    /* increase of `offset` from one part to the next */
  uint32_t next_row;       /* number of bytes of weights from one part to the next */
  uint32_t offset;         /* number of bytes from a listed address to the first byte of the run, for the first part */
  uint32_t bytes;          /* number of bytes in a run */
  uint32_t step;           /* number of bytes from one input byte of a run to the next, modulo 2^32 */
  uint32_t row;            /* number of bytes of weights from one run to the next */
  uint32_t filter;         /* size in bytes of the weights of one output channel */
  int32_t zero_point;
} tmo_runs;

/* The functions tmo_conv_nibbles() and tmo_depthwise_nibbles() multiply by int4 weights. Two int4 weights share a byte. tmo_conv_nibbles() returns
 * the sum of one channel. The argument `first` is the index of the weight for the window's first tap. tmo_depthwise_nibbles() adds products to the
 * sums of n channels from the channel `channel` on. */
TMO_LINKAGE uint32_t tmo_conv_nibbles(const tmo_runs *r, const int8_t *w, uint32_t first);
TMO_LINKAGE void tmo_depthwise_nibbles(const tmo_kernel *k, const tmo_window *v, uint32_t channel, uint32_t n, uint32_t *sums);

/* Computes one output pixel from runs of int16 or float32 values. All sizes in the struct tmo_runs are numbers of elements, not bytes. */
typedef void tmo_add_runs(const tmo_kernel *k, const tmo_runs *r, const int8_t *weights, int8_t *out);
TMO_LINKAGE tmo_add_runs tmo_conv_runs_s16, tmo_conv_runs_f32;

/* tmo_adds_sums() returns whether this build can keep sums from one call to the next, and tmo_has_sums() returns whether a call does so. */
static inline bool tmo_adds_sums(void) {
  return tmo_has_part(TMO_PART_ITERATIVE) || tmo_has_part(TMO_PART_CHANNEL_GROUPS) || tmo_has_kind(TMO_OP_SUMS);
}
static inline bool tmo_has_sums(const tmo_kernel *k) { return tmo_adds_sums() && k->sums != NULL; }

/* Returns whether tmo_dsp_outputs() can compute the outputs: one call completes the outputs of at least four channels. */
static inline bool tmo_makes_fours(const tmo_kernel *k) { return !tmo_has_sums(k) && k->bias != NULL && k->out_channels >= 4; }

/* Multiplies runs of bytes by the weights of several channels, and adds the products to the sum of each channel. */
typedef void tmo_add_runs_of_bytes(const tmo_runs *r, const int8_t *weights, uint32_t channels, uint32_t *totals);
TMO_LINKAGE tmo_add_runs_of_bytes tmo_conv_sums;
#if TMO_CORE_DSP
tmo_add_runs_of_bytes tmo_dsp_sums; /* tmo_dsp_sums() supports only runs whose bytes are adjacent, so that r->step is 1 */

/* Arguments for functions that compute four output channels at a time. Each output channel is a weighted sum of one run of bytes. */
typedef struct {
  const int8_t *x;
  uint32_t bytes;
  const int8_t *weights;
  uint32_t filter; /* size in bytes of the weights of one output channel */
  const int32_t *bias;
  uint32_t groups;
  const int32_t *multipliers; /* one multiplier for each channel, or four equal multipliers if `each` is 0 */
  const int8_t *shifts;
  int8_t *out;
  int32_t rounding; /* twice the output's zero point, plus 1 */
  int32_t zero_in, each;
} tmo_dsp_job;

/* Computes all output channels of a job, and saturates the outputs to int8. The last output is written after all inputs were read. */
void tmo_dsp_outputs(tmo_dsp_job *job);

/* Arguments for a function that computes four channels of a depthwise convolution at a time. */
typedef struct {
  tmo_dsp_job job;           /* job.weights has the weights of tap 0, job.filter is the size of a tap's weights, and job.x and job.bytes are unused */
  const int8_t *const *taps; /* address of each tap, row by row; if `apart` is not 0, only the address of the first tap of each row */
  uint32_t rows, columns;
  uint32_t skipped;          /* number of bytes of weights to skip after each row, for taps outside the input */
  uint32_t offset;           /* distance in bytes from each address in `taps` to the first channel */
  uint32_t apart;            /* distance in bytes between two taps of a row; 0 if `taps` lists all taps */
} tmo_dsp_window_job;

/* tmo_dsp_window_outputs() computes each output channel from an input channel of its own. tmo_dsp_repeated_outputs() computes all output channels
 * from one input channel. */
void tmo_dsp_window_outputs(tmo_dsp_window_job *job);
void tmo_dsp_repeated_outputs(tmo_dsp_window_job *job);

/* Computes the outputs of up to three channels, and saturates the outputs to int8. Each output channel reads another input channel. Both
 * job->job.groups and job->job.filter must be the number of channels, and job->apart must not be 0. */
void tmo_dsp_few_taps(const tmo_dsp_window_job *job);

/* Computes a pixel of a convolution from adjacent input bytes. The argument `bytes` is the number of input bytes. The argument `w` is the address of
 * the first channel's weights. */
TMO_LINKAGE void tmo_dsp_conv_run(const tmo_kernel *k, const int8_t *x, uint32_t bytes, const int8_t *w, int8_t *out);

/* Four copies of the scale of an operator whose channels have the same scale. */
typedef struct {
  int32_t multipliers[4];
  int8_t shifts[4];
} tmo_dsp_scales;

/* Sets `multipliers` and `shifts` to the scales of the operator's channels. If all channels have the same scale, the argument `scales` gets four
 * copies of the scale. */
static TMO_ALWAYS_INLINE void tmo_dsp_set_scales(const tmo_kernel *k, const int32_t **multipliers, const int8_t **shifts, tmo_dsp_scales *scales) {
  *multipliers = k->multipliers;
  *shifts = k->shifts;
  if (k->op->flags & TMO_FLAG_PER_CHANNEL) return;
  for (uint32_t i = 0; i < 4; ++i) {
    scales->multipliers[i] = *k->multipliers;
    scales->shifts[i] = *k->shifts;
  }
  *multipliers = scales->multipliers;
  *shifts = scales->shifts;
}

/* Sets all fields of a job except `x` and `bytes`. The argument `w` is the address of the first output channel's weights. */
static TMO_ALWAYS_INLINE void tmo_dsp_set(tmo_dsp_job *job, const tmo_kernel *k, const int8_t *w, uint32_t filter, int8_t *out, tmo_dsp_scales *scales) {
  const tmo_op *op = k->op;
  job->weights = w;
  job->filter = filter;
  job->bias = k->bias;
  job->groups = k->out_channels / 4;
  job->out = out;
  job->rounding = 2 * op->output_zero_point + 1;
  job->zero_in = op->input_zero_point[0];
  job->each = op->flags & TMO_FLAG_PER_CHANNEL;
  tmo_dsp_set_scales(k, &job->multipliers, &job->shifts, scales);
}

/* Sets the fields of a job for tmo_dsp_few() or tmo_dsp_few_taps(). */
static TMO_ALWAYS_INLINE void tmo_dsp_set_few(tmo_dsp_job *job, const tmo_kernel *k, const int8_t *w, uint32_t filter, int8_t *out, tmo_dsp_scales *scales) {
  static const int32_t none[3] = {0};
  tmo_dsp_set(job, k, w, filter, out, scales);
  job->groups = k->out_channels;
  if (k->bias == NULL) job->bias = none;
}

/* Prepares a job for the last four channels. Returns false if no channels are left, because their number is a multiple of 4. The argument `next` is
 * the distance in bytes between the weights of adjacent channels. */
static TMO_ALWAYS_INLINE bool tmo_dsp_moves_to_rest(tmo_dsp_job *job, const tmo_kernel *k, const int8_t *w, uint32_t next, int8_t *out) {
  const uint32_t last = k->out_channels - 4;
  if (k->out_channels % 4 == 0) return false;
  job->weights = w + last * next;
  job->bias = k->bias + last;
  job->groups = 1;
  job->out = out + last;
  if (job->each != 0) {
    job->multipliers = k->multipliers + last;
    job->shifts = k->shifts + last;
  }
  return true;
}
#endif

/* Adds products like tmo_conv_sums(). If the bytes of each run are adjacent, tmo_add_products() uses the special instructions of the core. */
static inline void tmo_add_products(const tmo_runs *r, const int8_t *weights, uint32_t channels, uint32_t *totals) {
#if TMO_CORE_DSP
  if (r->step == 1) {
    tmo_dsp_sums(r, weights, channels, totals);
    return;
  }
  if (!tmo_has_part(TMO_PART_CONV_STEPS)) return;
#endif
  tmo_conv_sums(r, weights, channels, totals);
}

/* Functions of this type add the products of a window to the sums of n output channels. The argument `to` is the index of the first of the n
 * channels. */
typedef void tmo_add_window(const tmo_kernel *k, const tmo_window *window, uint32_t from, uint32_t to, uint32_t n, uint32_t *totals);
TMO_LINKAGE tmo_add_window tmo_depthwise_sums, tmo_depthwise_repeated;

/* tmo_output() converts a scaled value to an int8 output, and tmo_channel_output() converts the sum of a channel. Both are slow, because they are
 * not inlined. */
TMO_LINKAGE int8_t tmo_output(const tmo_kernel *k, int32_t value);
TMO_LINKAGE int8_t tmo_channel_output(const tmo_kernel *k, uint32_t channel, uint32_t sum);

#if TMO_EIGHT_REGISTERS
/* Adds n products to each of four sums. The argument `n` must be positive. Each product is a weight times the difference between an input byte and
 * the zero point. The weights for sum c begin at w[c]. The input bytes are `step` bytes apart. */
void tmo_thumb_four(const int8_t *x, const int8_t *const w[4], uint32_t n, int32_t zero_point, int32_t step, uint32_t sums[4]);
#endif

#if TMO_CORE_DSP
/* Computes the outputs of up to three channels, and saturates the outputs to int8. The field job->groups is the number of channels, and the fields
 * `x`, `bytes` and `each` are not read. The bytes of a run must be adjacent, r->stride must be 1, and r->next_at must be 0. The outputs are written
 * after all inputs were read. */
void tmo_dsp_few(const tmo_dsp_job *job, const tmo_runs *r);

/* Computes n pixels of a convolution with a 1x1 kernel. The windows of the pixels are inside one input row, and the first pixel is at `from`. Adjacent
 * windows are `step` bytes apart, and adjacent output pixels are `next` bytes apart. tmo_makes_points() must be true. */
TMO_LINKAGE void tmo_conv_points(const tmo_kernel *k, const int8_t *from, int32_t step, uint32_t n, int8_t *out, int32_t next);
static inline bool tmo_makes_points(const tmo_kernel *k) {
  return !tmo_has_nibbles(k->op) && (k->out_channels < 4 ? tmo_has_part(TMO_PART_CONV_SUMS) && !tmo_has_sums(k) : tmo_makes_fours(k));
}

/* Computes adjacent pixels of a convolution from whole input rows. Requires tmo_makes_few(), or tmo_makes_points() and windows of one pixel. */
TMO_LINKAGE void tmo_conv_columns_s8(const tmo_kernel *k, const tmo_window *rows, const tmo_adjacent_columns *columns);
static inline bool tmo_makes_few(const tmo_op *op, uint32_t out_channels) {
  return tmo_has_part(TMO_PART_CONV_SUMS) && out_channels < 4 && !tmo_has_nibbles(op);
}
#endif

enum { TMO_STACK_SUMS = 32 }; /* number of sums that a kernel keeps on its stack */

/* tmo_begin_sums() and tmo_end_sums() begin and end the sums of n channels of a pixel. The first of the n channels is the channel `channel`, and
 * its output is element i. tmo_begin_sums() sets the sums to their initial values, or to the sums of the previous call. tmo_end_sums() writes the
 * outputs, or keeps the sums for the next call. */
TMO_LINKAGE void tmo_begin_sums(const tmo_kernel *k, uint32_t *sums, uint32_t n, uint32_t channel, uint32_t i);
TMO_LINKAGE void tmo_end_sums(const tmo_kernel *k, const uint32_t *sums, uint32_t n, uint32_t channel, uint32_t i, int8_t *out);

#ifdef __cplusplus
}
#endif

#endif /* TMO_KERNELS_H_ */
