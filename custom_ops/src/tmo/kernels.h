/* SPDX-License-Identifier: Apache-2.0 */
/* This header declares the kernels of operators, and says what the executor may expect of them. This header is internal: applications need tmo/tmo.h
 * only.
 *
 * A call of a kernel computes one output row or pixel, or adds pixels to the sums of one row or pixel. Kernels keep no state, allocate nothing and
 * check nothing, since tmo_check() has verified every length. The output of most kernels must not overlap the input. Kernels that work from front to
 * back read each element before they write the output element at the same place. A kernel that works from front to back allows an output that begins
 * at the start of an operand, or earlier, unless the operand is broadcast. The kernels that work from front to back are LOOKUP, LEAKY_RELU_S16,
 * CURVE_S16, CLAMP_F32, CURVE_F32, kernels with two operands, and kernels whose output elements are not larger than the input's. CONV writes the last
 * byte of a call after it has read all inputs, so this byte may overlap an input.
 *
 * Kernels in files *_ref.c run on any core. Kernels in other files run on certain cores, and give the same bits. */
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

/* On Armv6-M and Armv8-M Baseline, most instructions can use only the lower eight registers. */
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#define TMO_EIGHT_REGISTERS 1
#else
#define TMO_EIGHT_REGISTERS 0
#endif

/* RISC-V except RV32E has 31 registers. */
#if defined(__riscv) && !defined(__riscv_32e) && !defined(__riscv_e)
#define TMO_MANY_REGISTERS 1
#else
#define TMO_MANY_REGISTERS 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const tmo_op *op; /* the operator, whose fields are parameters of the kernel */
  const int8_t *weights;      /* weights of the first input channel and the first output channel */
  const int32_t *bias;        /* biases of the output channels, or NULL */
  const int32_t *multipliers;
  const int8_t *shifts;
  int32_t *sums;        /* partial sums of all outputs, or NULL if one call computes the outputs completely */
  void *scratch;        /* scratch for a packed operator during the call */
  bool whole_rows;      /* for packed convolutions, whether the window lists input rows instead of pixels */
  bool first;           /* whether this call begins new sums; otherwise it continues the sums of earlier calls */
  bool last;            /* whether this call completes the sums and writes the output, instead of keeping the sums for the next call */
  uint32_t in_channels; /* number of channels of an int8 input pixel, or number of bytes of an int16 or float32 input pixel */
  uint32_t out_channels;
  uint32_t tap_step; /* bytes from the weights of a tap to the weights of the next tap */
  uint32_t first_weight; /* for int4, number of the first weight, counted from the address `weights` */
  uint32_t pixel_step[2], channel_step[2]; /* bytes from pixel to pixel and from channel to channel of each of two operands, or 0 where the operand is repeated */
  uint16_t in_width;
  uint16_t out_width;
  uint16_t row;       /* number of the output row, for kinds with an access table */
  int32_t first_row;  /* for kinds with an access table, the row of operand 0 that pixels[0] points to */
} tmo_kernel;

/* The input pixels under a window, clipped to the input. */
typedef struct {
  const int8_t *const *pixels; /* pointers to the first pixel of each row in a row group, and to all pixels in a tiled group */
  uint16_t count;              /* number of pointers in `pixels` */
  uint16_t columns;            /* number of taps in each row of the window */
  uint16_t first_row, first_column; /* row and column of the kernel's tap that is multiplied with the first pixel */
  uint32_t offset;             /* bytes from each pointer to the first tap of its row */
  uint32_t area;               /* number of pixels in the whole clipped window, even if several calls compute it */
} tmo_window;

/* The row form of a kernel computes out_width pixels from whole input rows and finds the columns under each window itself. The pixel form of a kernel
 * computes one pixel. For kernels without windows, pixels[k] is the first byte of operand k. */
typedef void tmo_kernel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out);

TMO_LINKAGE tmo_kernel_s8 tmo_conv_row_s8, tmo_conv_pixel_s8;           /* CONV */
TMO_LINKAGE tmo_kernel_s8 tmo_depthwise_row_s8, tmo_depthwise_pixel_s8; /* DEPTHWISE */
TMO_LINKAGE tmo_kernel_s8 tmo_conv_row_s16, tmo_conv_pixel_s16;         /* CONV_S16, DEPTHWISE_S16 */
TMO_LINKAGE tmo_kernel_s8 tmo_sums_row_s8, tmo_sums_pixel_s8;           /* SUMS */
TMO_LINKAGE tmo_kernel_s8 tmo_pool_row_s8, tmo_pool_pixel_s8;           /* kernels of AVERAGE_POOL, MAX_POOL and MEAN */
TMO_LINKAGE tmo_kernel_s8 tmo_pool_row_s16, tmo_pool_pixel_s16;         /* kernels of AVERAGE_POOL_S16, MAX_POOL_S16 and MEAN_S16 */
TMO_LINKAGE tmo_kernel_s8 tmo_add_scalars_s8, tmo_mul_scalars_s8, tmo_greater_s8, tmo_squared_difference_s8, tmo_prelu_s8;
TMO_LINKAGE tmo_kernel_s8 tmo_compare_s8;                               /* COMPARE */
TMO_LINKAGE tmo_kernel_s8 tmo_add_s16, tmo_mul_s16;                     /* kernels of two operands, element by element */
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
TMO_LINKAGE tmo_kernel_s8 tmo_widen, tmo_narrow, tmo_rescale_s16;       /* kernels whose output has another type than the input */

TMO_LINKAGE tmo_kernel_s8 tmo_conv_row_f32, tmo_conv_pixel_f32;         /* CONV_F32, DEPTHWISE_F32 */
TMO_LINKAGE tmo_kernel_s8 tmo_pool_row_f32, tmo_pool_pixel_f32;         /* kernels of AVERAGE_POOL_F32, SUM_F32, MAX_POOL_F32 and MIN_POOL_F32 */
TMO_LINKAGE tmo_kernel_s8 tmo_arithmetic_f32, tmo_clamp_f32, tmo_curve_f32, tmo_softmax_f32, tmo_log_softmax_f32, tmo_batch_matmul_row_f32;
TMO_LINKAGE tmo_kernel_s8 tmo_matmul_f32, tmo_transposed_matmul_f32;   /* BATCH_MATMUL_F32 */
TMO_LINKAGE tmo_kernel_s8 tmo_binary_32, tmo_compare_32, tmo_arg_max_along_row, tmo_arg_max_along_pixel;

/* Computes n elements from the elements at the same places of operand a, or of operands a and b. All elements are adjacent and aligned. */
typedef void tmo_make_elements(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n);
TMO_LINKAGE tmo_make_elements tmo_add_f32, tmo_subtract_f32, tmo_multiply_f32, tmo_maximum_f32, tmo_minimum_f32; /* ARITHMETIC_F32 */
TMO_LINKAGE tmo_make_elements tmo_sum_f32, tmo_difference_f32, tmo_product_f32;                                  /* ARITHMETIC_F32 */
TMO_LINKAGE tmo_make_elements tmo_square_difference_f32, tmo_prelu_f32, tmo_leaky_relu_f32;                      /* ARITHMETIC_F32 */
TMO_LINKAGE tmo_make_elements tmo_greatest_s8, tmo_smallest_s8;                                                  /* MAXIMUM, MINIMUM */
TMO_LINKAGE tmo_make_elements tmo_clamped_f32, tmo_raised_f32;                                                   /* CLAMP_F32 */
TMO_LINKAGE tmo_make_elements tmo_logistic_f32, tmo_tanh_f32, tmo_elu_f32, tmo_hard_swish_f32, tmo_abs_f32;      /* CURVE_F32 */
TMO_LINKAGE tmo_make_elements tmo_negative_f32, tmo_square_f32, tmo_root_f32, tmo_reciprocal_root_f32, tmo_exponential_f32; /* CURVE_F32 */
TMO_LINKAGE tmo_make_elements tmo_logarithm_f32, tmo_floor_f32, tmo_ceiling_f32, tmo_rounded_f32, tmo_from_s32, tmo_to_s32; /* CURVE_F32 */
TMO_LINKAGE tmo_make_elements tmo_divide_f32, tmo_floor_divide_f32, tmo_floor_modulo_f32, tmo_add_s32;           /* BINARY_32 */
TMO_LINKAGE tmo_make_elements tmo_subtract_s32, tmo_multiply_s32, tmo_maximum_s32, tmo_minimum_s32;              /* BINARY_32 */
TMO_LINKAGE tmo_make_elements tmo_equal_f32, tmo_not_equal_f32, tmo_less_f32, tmo_less_equal_f32;                /* COMPARE_32 */
TMO_LINKAGE tmo_make_elements tmo_equal_s32, tmo_not_equal_s32, tmo_less_s32, tmo_less_equal_s32;                /* COMPARE_32 */

/* Returns the kernel of an OWN operator that the application has registered, or NULL. */
TMO_LINKAGE const tmo_own_kernel *tmo_own_of(const tmo_op *op);

/* Copies a row of the table of a GATHER. The row must exist. */
TMO_LINKAGE void tmo_gather_pixel_s8(const tmo_kernel *k, int32_t row, int8_t *y);

/* These kernels compute whole rows only. pixels[] lists all rows that are read, operand after operand. NULL stands for a missing row. */
TMO_LINKAGE tmo_kernel_s8 tmo_copy_s8;                /* COPY */
TMO_LINKAGE tmo_kernel_s8 tmo_resize_bilinear_row_s8; /* RESIZE_BILINEAR */
TMO_LINKAGE tmo_kernel_s8 tmo_resize_bilinear_row_f32; /* RESIZE_BILINEAR_F32 */
TMO_LINKAGE tmo_kernel_s8 tmo_select_row;             /* SELECT */
TMO_LINKAGE tmo_kernel_s8 tmo_transpose_conv_row_s8;  /* TRANSPOSE_CONV */
TMO_LINKAGE tmo_kernel_s8 tmo_transpose_conv_row_s16; /* TRANSPOSE_CONV_S16 */
TMO_LINKAGE tmo_kernel_s8 tmo_transpose_conv_row_f32; /* TRANSPOSE_CONV_F32 */
TMO_LINKAGE tmo_kernel_s8 tmo_batch_matmul_row_s8, tmo_batch_matmul_row_s16; /* BATCH_MATMUL, BATCH_MATMUL_S16 */
TMO_LINKAGE tmo_kernel_s8 tmo_lstm_row_s8;            /* LSTM: besides the output, the kernel writes its operands 1 and 2 */
TMO_LINKAGE tmo_kernel_s8 tmo_sliding_sum_row_s8;     /* SLIDING_SUM: besides the output, the kernel writes its last operand */
TMO_LINKAGE tmo_kernel_s8 tmo_add_sums_row_s8;        /* ADD_SUMS */

/* Returns the bytes of a sum in operand n of an ADD_SUMS. For n = TMO_MAX_INPUTS, tmo_sum_bytes() returns the bytes of a sum in the output, or 0 if
 * the output has scaled values. */
static inline uint32_t tmo_sum_bytes(const tmo_op *op, uint32_t n) { return (uint32_t)op->operand_bytes >> 4 * n & 15; }

/* For SELECT, tmo_select_bytes() returns the bytes of an element. The function tmo_select_form() returns the TMO_SELECT_* of the condition (n = 0) or
 * of a choice (n = 1 or 2). */
static inline uint32_t tmo_select_bytes(const tmo_op *op) { return (uint32_t)op->select_form >> 12; }
static inline uint32_t tmo_select_form(const tmo_op *op, uint32_t n) { return (uint32_t)op->select_form >> 4 * n & 15; }

/* Returns the index of the left operand of a formula with two operands. */
static inline uint32_t tmo_first_operand(const tmo_kernel *k) { return k->op->flags & TMO_FLAG_SWAPPED ? 1 : 0; }

/* This record has the consecutive kernel taps along one axis that are inside the input. */
typedef struct {
  uint32_t first; /* first tap of the run */
  uint32_t count;
  uint32_t start; /* input coordinate under the first tap of the run */
} tmo_taps;

/* Clips a window that starts at `start` (negative in the padding) to an input of `size`. Most windows are completely inside the input. */
TMO_LINKAGE tmo_taps tmo_clip_at_border(int32_t start, uint16_t kernel, uint16_t dilation, uint16_t size);
static inline tmo_taps tmo_clip(int32_t start, uint16_t kernel, uint16_t dilation, uint16_t size) {
  const tmo_taps inside = {0, kernel, (uint32_t)start};
  return start >= 0 && start + (kernel - 1) * (int32_t)dilation < size ? inside : tmo_clip_at_border(start, kernel, dilation, size);
}

/* Returns the taps that are inside the input at output column x. */
TMO_LINKAGE tmo_taps tmo_columns(const tmo_kernel *k, uint16_t x);

/* Returns the window of output column x. rows: the window of the whole output row. */
TMO_LINKAGE tmo_window tmo_column(const tmo_kernel *k, const tmo_window *rows, uint16_t x);

/* Computes one output pixel. The argument i is the index of the pixel's first channel in the output. */
typedef void tmo_make_pixel(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out);

TMO_LINKAGE tmo_make_pixel tmo_max_pool, tmo_average_pool, tmo_mean, tmo_conv_s16, tmo_depthwise_s16;
TMO_LINKAGE tmo_make_pixel tmo_max_pool_s16, tmo_average_pool_s16, tmo_mean_s16;
TMO_LINKAGE tmo_make_pixel tmo_conv_f32, tmo_depthwise_f32, tmo_max_pool_f32, tmo_min_pool_f32, tmo_average_pool_f32;
TMO_LINKAGE tmo_make_pixel tmo_place_of_greatest_s8, tmo_place_of_smallest_s8, tmo_place_of_greatest_f32, tmo_place_of_smallest_f32;

/* Returns the kernel of CONV_S16 or DEPTHWISE_S16. */
static inline tmo_make_pixel *tmo_conv_kernel_s16(const tmo_kernel *k) {
  return tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16) && k->in_channels == k->out_channels ? tmo_depthwise_s16 : tmo_conv_s16;
}

/* Computes a row pixel by pixel. Each pixel is computed from the part of the input rows under its window. */
TMO_LINKAGE void tmo_make_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out, tmo_make_pixel *make);

/* Returns the bytes from the first weight of a channel to the weight for the window's first tap. */
static inline uint32_t tmo_first_tap(const tmo_kernel *k, const tmo_window *w) {
  return ((uint32_t)w->first_row * k->op->kernel_w + w->first_column) * k->tap_step;
}

/* Copies the bytes under a window in the order of its weights. to: address for the bytes of the first tap. */
TMO_LINKAGE void tmo_collect_taps(const tmo_kernel *k, const tmo_window *w, int8_t *to);

/* The bytes under a window form parts, and each part has runs of bytes. The weights of one run are adjacent. */
typedef struct {
  const int8_t *const *at; /* pointer to the first byte of the first run */
  uint16_t stride;         /* number of pointers from a run's pointer to the next run's pointer */
  uint16_t count;          /* number of runs of bytes in each part of the window */
  uint16_t parts;          /* number of parts, which differ only in their pointers, offset and weights */
  uint16_t next_at;        /* number of pointers from the start of a part to the start of the next part */
  uint32_t next_offset;    /* from one part to the next, `offset` grows by this many bytes */
  uint32_t next_row;       /* bytes from the weights of a part to the weights of the next part */
  uint32_t offset;         /* bytes from each pointer of the first part to the first byte of the pointer's run */
  uint32_t bytes;          /* number of bytes of a run */
  uint32_t step;           /* distance between the bytes of a run, modulo 2^32 */
  uint32_t row;            /* bytes from the weights of a run to the weights of the next run */
  uint32_t filter;         /* number of bytes of the weights of a channel */
  int32_t zero_point;
} tmo_runs;

/* These functions multiply weights of four bits each. The function tmo_conv_nibbles() returns the sum of one channel, where `first` is the number of
 * the weight for the window's first tap. The function tmo_depthwise_nibbles() adds products to the sums of channels [channel, channel + n). */
TMO_LINKAGE uint32_t tmo_conv_nibbles(const tmo_runs *r, const int8_t *w, uint32_t first);
TMO_LINKAGE void tmo_depthwise_nibbles(const tmo_kernel *k, const tmo_window *v, uint32_t channel, uint32_t n, uint32_t *sums);

/* Computes one output pixel from runs of int16 or float32. All sizes in the tmo_runs count elements instead of bytes. */
typedef void tmo_add_runs(const tmo_kernel *k, const tmo_runs *r, const int8_t *weights, int8_t *out);
TMO_LINKAGE tmo_add_runs tmo_conv_runs_s16, tmo_conv_runs_f32;

/* Whether a call of a kernel may add to the sums of other calls in this build, and whether a call does so. */
static inline bool tmo_adds_sums(void) { return tmo_has_part(TMO_PART_ITERATIVE) || tmo_has_part(TMO_PART_CHANNEL_GROUPS); }
static inline bool tmo_has_sums(const tmo_kernel *k) { return tmo_adds_sums() && k->sums != NULL; }

/* Whether a call completes the outputs of at least four channels, which tmo_dsp_outputs() computes at once. */
static inline bool tmo_makes_fours(const tmo_kernel *k) { return !tmo_has_sums(k) && k->bias != NULL && k->out_channels >= 4; }

/* Adds the products of runs with the weights of several channels to the sums of these channels. */
typedef void tmo_add_runs_of_bytes(const tmo_runs *r, const int8_t *weights, uint32_t channels, uint32_t *totals);
TMO_LINKAGE tmo_add_runs_of_bytes tmo_conv_sums;
#if TMO_CORE_DSP
tmo_add_runs_of_bytes tmo_dsp_sums; /* this function needs runs of adjacent bytes, for which r->step is 1 */

/* This job computes output channels in groups of four. Each channel is a sum over one run of bytes. */
typedef struct {
  const int8_t *x;
  uint32_t bytes;
  const int8_t *weights;
  uint32_t filter; /* number of bytes of the weights of a channel */
  const int32_t *bias;
  uint32_t groups;
  const int32_t *multipliers; /* multipliers of the channels, or the same four multipliers for all groups if `each` is 0 */
  const int8_t *shifts;
  int8_t *out;
  int32_t rounding; /* twice the output's zero point, plus 1 */
  int32_t zero_in, each;
} tmo_dsp_job;

/* Computes all outputs of a job, saturated to int8. The last output is written after all inputs are read. The function changes fields of the job. */
void tmo_dsp_outputs(tmo_dsp_job *job);

/* This job computes the output channels of a depthwise convolution in groups of four. */
typedef struct {
  tmo_dsp_job job;           /* `weights` are the first tap's weights, and `filter` is the number of bytes of a tap's weights; x and bytes are not used */
  const int8_t *const *taps; /* pointers to all taps row by row, or to the first tap of each row if `apart` is not 0 */
  uint32_t rows, columns;
  uint32_t skipped;          /* bytes of weights to skip after each row, for taps outside the input */
  uint32_t offset;           /* bytes from each pointer to the first channel of its tap */
  uint32_t apart;            /* bytes from one tap to the next in a row of taps */
} tmo_dsp_window_job;

void tmo_dsp_window_outputs(tmo_dsp_window_job *job);

/* Computes a pixel of a convolution from one run of bytes. w: weights of the first channel. */
TMO_LINKAGE void tmo_dsp_conv_run(const tmo_kernel *k, const int8_t *x, uint32_t bytes, const int8_t *w, int8_t *out);

/* Four copies of the scale that all channels of an operator use. */
typedef struct {
  int32_t multipliers[4];
  int8_t shifts[4];
} tmo_dsp_scales;

/* Sets pointers to the scales of an operator's channels, or to four copies of its only scale. */
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

/* Sets all fields of a job except x and bytes. w: weights of the first output channel. */
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

/* Moves a finished job to the last four channels if some channels are left. Returns false if the job has computed all channels. next: distance of
 * the weights of adjacent channels in bytes. */
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

/* Adds products like tmo_conv_sums(), but with the core's instructions if possible. */
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

/* Adds the products of a window to the sums of n output channels, from channel `to` on. tmo_depthwise_sums() reads the input channels from `from`
 * on, and tmo_depthwise_repeated() reads only input channel `from`. */
typedef void tmo_add_window(const tmo_kernel *k, const tmo_window *window, uint32_t from, uint32_t to, uint32_t n, uint32_t *totals);
TMO_LINKAGE tmo_add_window tmo_depthwise_sums, tmo_depthwise_repeated;

/* tmo_output() converts a scaled value to an int8 output, and tmo_channel_output() converts the sum of a channel to an int8 output. Both tmo_output()
 * and tmo_channel_output() are for code whose speed does not matter. */
TMO_LINKAGE int8_t tmo_output(const tmo_kernel *k, int32_t value);
TMO_LINKAGE int8_t tmo_channel_output(const tmo_kernel *k, uint32_t channel, uint32_t sum);

#if TMO_EIGHT_REGISTERS
/* Adds n > 0 products to each of sums[c]. The factors of product i are w[c][i] and x[i times step] - zero_point. */
void tmo_thumb_four(const int8_t *x, const int8_t *const w[4], uint32_t n, int32_t zero_point, int32_t step, uint32_t sums[4]);
#endif

enum { TMO_STACK_SUMS = 32 }; /* number of sums that a kernel keeps on its stack */

/* These functions begin and end the sums of n channels of a pixel, from `channel` on. The sums belong to the outputs from output i on. The function
 * tmo_begin_sums() sets `sums` to the initial values, or to the sums of the previous call. The function tmo_end_sums() writes outputs, or keeps the
 * sums for the next call. */
TMO_LINKAGE void tmo_begin_sums(const tmo_kernel *k, uint32_t *sums, uint32_t n, uint32_t channel, uint32_t i);
TMO_LINKAGE void tmo_end_sums(const tmo_kernel *k, const uint32_t *sums, uint32_t n, uint32_t channel, uint32_t i, int8_t *out);

#ifdef __cplusplus
}
#endif

#endif /* TMO_KERNELS_H_ */
