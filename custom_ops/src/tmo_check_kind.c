/* SPDX-License-Identifier: Apache-2.0 */
/* For each kind of operator, this file checks the constants, the sizes of operands, and the rows that an iteration reads. */
#include "tmo/check.h"

#include <stddef.h>

#include "tmo/kernels.h"
#include "tmo/nest.h"

#define IF_SCALES_0(name, value, reads, writes, operands, scales, ...) ((scales) == 0)
#define IF_SCALES_2(name, value, reads, writes, operands, scales, ...) ((scales) == 2)
#define IF_SCALES_3(name, value, reads, writes, operands, scales, ...) ((scales) == 3)
#define IF_READS_1(name, value, reads, writes, ...) ((reads) == 1)
#define IF_READS_4(name, value, reads, writes, ...) ((reads) == 4)
#define IF_WRITES_1(name, value, reads, writes, ...) ((writes) == 1)
#define IF_WRITES_4(name, value, reads, writes, ...) ((writes) == 4)
#define IS(set, condition) tmo_is_in(tmo_both(TMO_BUILT(set), TMO_KINDS_IF(IF_##condition)), op->kind)

/* SCALES() returns the number of an operator's multipliers. BYTES_READ() returns the size of an input element in bytes, and BYTES_WRITTEN() returns
 * the size of an output element in bytes. */
#define SCALES(set) (IS(set, SCALES_0) ? 0u : IS(set, SCALES_2) ? 2u : IS(set, SCALES_3) ? 3u : 1u)
#define BYTES_READ(set) (IS(set, READS_4) ? 4u : IS(set, READS_1) ? 1u : 2u)
#define BYTES_WRITTEN(set) (IS(set, WRITES_4) ? 4u : IS(set, WRITES_1) ? 1u : 2u)

/* Positions of a window's fields along the height, counted from the field `kernel_h` of a tmo_op. */
enum { KERNEL = 0, STRIDE = 2, DILATION = 4, PAD = 6 };
_Static_assert(offsetof(tmo_op, stride_h) == offsetof(tmo_op, kernel_h) + 2 * STRIDE && offsetof(tmo_op, dilation_h) == offsetof(tmo_op, kernel_h) + 2 * DILATION &&
                   offsetof(tmo_op, pad_left) == offsetof(tmo_op, kernel_h) + 2 * (PAD + 1), "the fields of a window are adjacent");
static const uint16_t *window_along(const tmo_op *op, uint32_t axis) {
  return (const uint16_t *)(const void *)((const uint8_t *)op + offsetof(tmo_op, kernel_h)) + axis;
}

/* Returns true if each window along an axis begins before the end of the input and covers at least one input element. The argument `there` is the
 * number of input elements from earlier inferences. If `there` is not 0, a window that begins before the input reads earlier elements instead of
 * padding. All arguments are at most 65,535, so their sums fit uint32_t. */
static bool window_fits(const uint16_t *window, uint32_t there, uint32_t in, uint32_t out) {
  if (window[KERNEL] == 0 || window[STRIDE] == 0 || window[DILATION] == 0) return false;
  const uint32_t extent = (window[KERNEL] - 1u) * window[DILATION] + 1;
  return extent < TMO_MAX_EXTENT && window[PAD] < extent + there && (out - 1) * window[STRIDE] < in + window[PAD];
}

static bool check_windowed(const tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  if (!window_fits(window_along(op, 0), tmo_older_rows(o->in), o->in->height, o->out->height)) return false;
  if (!window_fits(window_along(op, 1), 0, o->in->width, o->out->width)) return false;
  if (!tmo_iterative(op)) {
    return tmo_in_tiles(o->group, op) ? (uint32_t)op->kernel_h * op->kernel_w <= TMO_MAX_TAPS : op->kernel_h <= TMO_MAX_KERNEL_H;
  }
  if (op->kernel_h != o->in->height || op->dilation_h != 1 || op->pad_top != 0 || o->out->height != 1) return false;
  return tmo_in_workspace(c, op->accumulator, tmo_times(tmo_times(4, o->out->width), tmo_accumulators(op, o->out->channels)), 4);
}

static bool check_scaling(tmo_checker *c, const tmo_op *op, uint32_t n) {
  if (n == 0) return true;
  if (!tmo_has_words(c, op->multipliers, n) || !tmo_has_constant(c, op->shifts, n, 1) || !tmo_may_read(c, n)) return false;
  const int8_t *shifts = (const int8_t *)tmo_constant(c->program, op->shifts);
  const bool wide = tmo_is_in(tmo_both(TMO_BUILT(TMO_S16_KINDS), TMO_PER_CHANNEL_KINDS), op->kind) || tmo_is_kind(op, TMO_OP_BATCH_MATMUL_S16);
  const int32_t most = wide ? TMO_MAX_S16_SHIFT : TMO_MAX_SHIFT;
  for (uint32_t i = 0; i < n; ++i) {
    if (shifts[i] < -31 || shifts[i] > most) return false;
  }
  return true;
}

/* Returns whether a float32 operator has a valid range and a valid function. The arguments `first` and `last` are the first and the last function
 * that the operator's kind allows. */
static bool check_form(const tmo_op *op, uint32_t first, uint32_t last) {
  return op->float_form >= 0 && (op->float_form & 15) <= TMO_RANGE_POSITIVE && (uint32_t)op->float_form >> 4 >= first &&
         (uint32_t)op->float_form >> 4 <= last;
}

/* An int16 channel takes two bytes, and its bias takes eight bytes. Sums of int16 channels are not kept between calls. In a float32 operator, each
 * channel, weight and bias takes four bytes. */
static bool check_weights(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool s16 = tmo_is_s16(op), f32 = tmo_is_f32(op), depthwise = tmo_is_in(TMO_FILTERED_KINDS, op->kind);
  const uint32_t bytes = tmo_element_bytes(op), in = o->in->channels / bytes, out = o->out->channels / bytes;
  if (o->in->channels % bytes != 0 || o->out->channels % bytes != 0 || (s16 && tmo_iterative(op))) return false;
  if (depthwise && out % in != 0) return false;
  const uint32_t inputs = depthwise ? 1 : in; /* number of input channels that an output channel reads */
  const uint32_t weights = tmo_times(tmo_times((uint32_t)op->kernel_h * op->kernel_w, inputs), out);
  if (f32) return check_form(op, 0, 0) && tmo_has_words(c, op->weights, weights) && (op->bias == 0 || tmo_has_words(c, op->bias, out));
  if (!tmo_has_weights(c, op, tmo_has_nibbles(op) ? weights / 2 + weights % 2 : weights, 1)) return false;
  if (op->bias != 0 && !tmo_has_words(c, op->bias, tmo_times(bytes, out))) return false;
  return check_scaling(c, op, op->flags & TMO_FLAG_PER_CHANNEL ? out : 1);
}

static bool check_filter(tmo_checker *c, const tmo_operation *o) { return check_weights(c, o) && check_windowed(c, o); }

static bool check_sums(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  if (op->sum_bytes < 1 || op->sum_bytes > TMO_MAX_SUM_BYTES || o->out->channels % (uint32_t)op->sum_bytes != 0 || op->bias != 0 || tmo_iterative(op)) return false;
  const uint32_t inputs = tmo_times((uint32_t)op->kernel_h * op->kernel_w, o->in->channels);
  return tmo_has_constant(c, op->weights, tmo_times(inputs, o->out->channels / (uint32_t)op->sum_bytes), 1) && check_windowed(c, o);
}

static bool pointwise(const tmo_op *op) {
  const uint16_t *const window = window_along(op, 0);
  for (uint32_t i = 0; i <= PAD + 1; ++i) {
    if (window[i] != (i < PAD ? 1 : 0)) return false;
  }
  return !tmo_iterative(op);
}

static bool check_pool(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const uint32_t columns = op->kernel_w < o->in->width ? op->kernel_w : o->in->width, item = tmo_element_bytes(op);
  const bool places = tmo_finds_places(op);
  if (o->in->channels % item != 0 || op->dilation_h != 1 || op->dilation_w != 1) return false;
  if (o->out->channels != (places ? tmo_times(TMO_INDEX_BYTES, o->in->channels / item) : o->in->channels)) return false;
  if (tmo_is_f32(op) && !places && !check_form(op, 0, 0)) return false;
  return op->kernel_h * columns <= TMO_MAX_POOL_AREA && check_windowed(c, o) && check_scaling(c, op, SCALES(TMO_POOL_KINDS));
}

/* Returns whether the function code of an operator belongs to the operator's kind. The operator must have two operands with elements of four
 * bytes. */
static bool check_function(const tmo_op *op) {
  if (tmo_is_kind(op, TMO_OP_COMPARE_32)) return check_form(op, TMO_FUNCTION_EQUAL, TMO_FUNCTION_LESS_EQUAL_S32);
  if (tmo_is_kind(op, TMO_OP_BINARY_32)) return check_form(op, TMO_FUNCTION_DIV, TMO_FUNCTION_MINIMUM_S32);
  return check_form(op, TMO_FUNCTION_ADD, TMO_FUNCTION_LEAKY_RELU);
}

/* Checks that each dimension of an operand is 1, or equals the same dimension of the output. If the operator has channel groups, an operand must have
 * as many channels as the output. */
static bool check_binary(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const uint32_t item = tmo_element_bytes(op), made = tmo_is_kind(op, TMO_OP_COMPARE_32) ? 1 : item;
  if (!pointwise(o->op) || o->out->channels % made != 0) return false;
  if (item == 4 && !check_function(op)) return false;
  const uint32_t scales = SCALES(TMO_BINARY_KINDS);
  if (scales == 3 && item == 1 && (op->left_shift < 0 || op->left_shift > TMO_MAX_ADD_SHIFT)) return false;
  for (uint8_t k = 0; k < o->op->n_inputs; ++k) {
    const tmo_tensor *in = &c->tensors[o->op->input[k]];
    if (in->height != o->out->height && in->height != 1) return false;
    if (in->width != o->out->width && in->width != 1) return false;
    if (in->channels != tmo_times(o->out->channels / made, item) && (in->channels != item || tmo_channel_groups(o->op) > 1)) return false;
  }
  return check_scaling(c, op, scales);
}

/* Checks that each row of the output has as many elements as the same row of the operand. The argument `before` is the size of an operand's element
 * in bytes, and `after` is the size of an output element in bytes. */
static bool check_rows(const tmo_operation *o, uint32_t before, uint32_t after) {
  const tmo_tensor *in = o->in, *out = o->out;
  if (!pointwise(o->op) || in->height != out->height || in->channels % before != 0 || out->channels % after != 0) return false;
  if (tmo_times(in->width, in->channels / before) != tmo_times(out->width, out->channels / after)) return false;
  return !tmo_in_tiles(o->group, o->op) || in->width == out->width;
}

static bool check_softmax(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const uint32_t bytes = tmo_element_bytes(op);
  if (!check_rows(o, bytes, bytes) || o->in->channels != o->out->channels) return false;
  if (bytes == 4) return true; /* sums of float32 values do not wrap, so any number of channels is allowed */
  if (op->least_difference > 0) return false;
  if (tmo_values(op, o->out->channels) > TMO_MAX_SOFTMAX_CHANNELS) return false;
  return check_scaling(c, op, SCALES(TMO_SOFTMAX_KINDS));
}

static bool check_lookup(const tmo_checker *c, const tmo_operation *o) {
  return check_rows(o, 1, 1) && tmo_has_constant(c, o->op->table, TMO_TABLE_BYTES, 1);
}

/* Checks that the scaled argument of a curve does not overflow int32_t when it is rounded. */
static bool check_mapped(tmo_checker *c, const tmo_operation *o) {
  if (tmo_is_f32(o->op)) {
    const bool clamps = tmo_is_kind(o->op, TMO_OP_CLAMP_F32);
    return check_rows(o, 4, 4) && check_form(o->op, clamps ? 0 : TMO_FUNCTION_LOGISTIC, clamps ? 0 : TMO_FUNCTION_TO_INTEGER);
  }
  const bool curve = tmo_is_kind(o->op, TMO_OP_CURVE_S16);
  if (!check_rows(o, 2, 2) || !check_scaling(c, o->op, curve ? 1 : 2)) return false;
  if (!curve) return true;
  const int32_t multiplier = *(const int32_t *)tmo_constant(c->program, o->op->multipliers);
  const int8_t shift = *(const int8_t *)tmo_constant(c->program, o->op->shifts);
  return multiplier >= 0 && multiplier <= INT16_MAX && shift <= 0 && shift >= -30;
}

static bool check_convert(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  return check_rows(o, BYTES_READ(TMO_CONVERTING_KINDS), BYTES_WRITTEN(TMO_CONVERTING_KINDS)) && check_scaling(c, op, SCALES(TMO_CONVERTING_KINDS));
}

/* Checks that the operator has as many operands and channels as the application's kernel expects. */
#if TMO_OWN
static bool check_own(const tmo_checker *c, const tmo_operation *o) {
  const tmo_own_kernel *const own = tmo_own_of(o->op);
  if (own == NULL || o->op->n_inputs != own->operands) return false;
  for (uint8_t k = 0; k < o->op->n_inputs; ++k) {
    const tmo_operation of = {o->group, o->op, &c->tensors[o->op->input[k]], o->out};
    if (!check_rows(&of, 1, 1) || of.in->channels != own->channels || of.out->channels != own->channels) return false;
  }
  return true;
}
#else
#define check_own(c, o) false
#endif

static bool check_arg_max(const tmo_checker *c, const tmo_operation *o) {
  (void)c;
  const bool same_pixels = o->in->height == o->out->height && o->in->width == o->out->width;
  return pointwise(o->op) && same_pixels && o->in->channels <= TMO_MAX_PLACES && o->out->channels == TMO_INDEX_BYTES;
}

/* Checks that each pixel of a GATHER operator's indices selects a row of the table. The indices must not be a streamed or external input. */
static bool check_gather(const tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  if (!tmo_same_size(o->in, o->out) || o->in->channels != TMO_INDEX_BYTES) return false;
  if (tmo_iterative(op) || tmo_channel_groups(op) > 1 || op->table_rows < 1 || tmo_is_source(c->program, o->in)) return false;
  return tmo_has_constant(c, op->table, tmo_times((uint32_t)op->table_rows, o->out->channels), 1);
}

/* Returns false if an iteration in a group with tiles would send or receive only a part of a row, or bytes that are not adjacent. */
static bool is_in_whole_rows(const tmo_checker *c, const tmo_operation *o) {
  const tmo_tensor *t = o->op->kind == TMO_OP_SEND ? o->in : o->out;
  if (!tmo_is_tiled(o->group)) return true;
  if (o->op->tile < t->width || tmo_channel_groups(o->op) > 1 || tmo_iterative(o->op)) return false;
  const tmo_column_window *const only = tmo_column_windows(c->program, t);
  return !tmo_has_column_windows(t) || (t->n_column_windows == 1 && only->rows == 1 && only->depth % t->width == 0);
}

static bool check_link(const tmo_checker *c, const tmo_operation *o) {
  const bool same_rows = tmo_same_size(o->in, o->out) && o->in->channels == o->out->channels;
  const bool exchanges = o->op->kind == TMO_OP_SEND || tmo_on_link(c->program, o->in);
  return pointwise(o->op) && same_rows && exchanges && is_in_whole_rows(c, o) && !tmo_in_rolling_buffer(o->in) && !tmo_in_rolling_buffer(o->out) &&
         !tmo_is_source(c->program, o->in) && o->in->layout == TMO_LAYOUT_HWC && o->out->layout == TMO_LAYOUT_HWC &&
         tmo_has_constant(c, o->op->message, sizeof(tmo_message), 4);
}

static const tmo_access *accesses(const tmo_checker *c, const tmo_op *op) {
  return (const tmo_access *)(const void *)(c->program + op->access);
}

static bool has_rows(const tmo_checker *c, const tmo_tensor *t, const tmo_access *a, uint32_t iterations) {
  if (a->table == 0) return a->add >= 0 && a->div == 1 && (iterations - 1) * a->mul + (uint32_t)a->add + a->extent <= t->height;
  const uint16_t *const first = (const uint16_t *)(const void *)(c->program + a->table);
  while (iterations > 0 && first[iterations - 1] + (uint32_t)a->extent <= t->height) --iterations; /* the value TMO_NONE means that no row is read */
  return iterations == 0;
}

/* Checks that an iteration reads at most TMO_MAX_KERNEL_H rows, and that row indices fit int32_t. A matrix operand must have all rows that the
 * iterations read. */
static bool check_accesses(const tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  if (tmo_is_tiled(o->group) || !tmo_has_constant(c, op->access, op->n_inputs * sizeof(tmo_access), 4)) return false;
  if (tmo_iterative(op) && !(tmo_is_kind(op, TMO_OP_COPY) && op->n_inputs == 1 && o->out->height == 1)) return false;
  const uint32_t iterations = tmo_iterative(op) ? o->in->height : o->out->height;
  uint32_t rows = 0;
  for (uint32_t k = 0; k < op->n_inputs; ++k) {
    const tmo_access *a = &accesses(c, op)[k];
    const bool small = a->add > -(int32_t)TMO_MAX_EXTENT && a->add < (int32_t)TMO_MAX_EXTENT && a->mul * iterations < TMO_MAX_EXTENT;
    if (a->div == 0 || a->extent == 0 || !small) return false;
    if (a->table != 0 && !tmo_has_constant(c, a->table, 2 * iterations, 2)) return false;
    const bool whole = tmo_is_in(TMO_BUILT(TMO_MATMUL_KINDS), op->kind);
    if (whole && !has_rows(c, &c->tensors[op->input[k]], a, o->out->height)) return false;
    rows += a->extent;
  }
  return rows <= TMO_MAX_KERNEL_H;
}

/* An iteration reads some rows of each operand. Numbers these rows, beginning with the first operand, and returns the size of row n in bytes, or 0 if
 * there is no row n. */
static uint32_t accessed_row_bytes(const tmo_checker *c, const tmo_op *op, uint32_t n) {
  for (uint32_t k = 0; k < op->n_inputs; ++k) {
    const uint32_t extent = accesses(c, op)[k].extent;
    if (n < extent) return tmo_row_bytes(&c->tensors[op->input[k]]);
    n -= extent;
  }
  return 0;
}

/* Checks that a COPY operator moves only bytes that are inside a row. All arguments are below TMO_MAX_EXTENT, so the product of `step` and `count`
 * fits int64_t. */
static bool run_fits(int64_t first, int64_t step, uint32_t count, uint32_t bytes, uint32_t size) {
  const int64_t last = first + step * (int64_t)(count - 1);
  const int64_t low = step < 0 ? last : first, high = step < 0 ? first : last;
  return low >= 0 && high < TMO_TOO_MANY && tmo_lies_in(size, (uint32_t)high, bytes, 1);
}

static bool check_move(const tmo_checker *c, const tmo_operation *o, const tmo_move *m) {
  const int64_t phases = (int64_t)m->phase_step * (m->period - 1), moved = tmo_iterative(o->op) ? phases : 0;
  const uint32_t from = accessed_row_bytes(c, o->op, m->row), to = tmo_row_bytes(o->out);
  return m->period > 0 && m->count > 0 && m->bytes > 0 && run_fits(m->source, m->source_step, m->count, m->bytes, from) &&
         run_fits(m->source + phases - moved, m->source_step, m->count, m->bytes, from) &&
         run_fits(m->target, m->target_step, m->count, m->bytes, to) && run_fits(m->target + moved, m->target_step, m->count, m->bytes, to);
}

static bool check_copy(tmo_checker *c, const tmo_operation *o) {
  if (!tmo_has_constant(c, o->op->copy, sizeof(tmo_copy), 4)) return false;
  const tmo_copy *copy = (const tmo_copy *)(const void *)(c->program + o->op->copy);
  const tmo_move *moves = (const tmo_move *)(const void *)(copy + 1);
  const uint32_t bytes = sizeof(tmo_copy) + copy->n_moves * (uint32_t)sizeof(tmo_move);
  if (!tmo_has_constant(c, o->op->copy, bytes, 4) || !tmo_may_read(c, copy->n_moves)) return false;
  for (uint32_t i = 0; i < copy->n_moves; ++i) {
    if (!check_move(c, o, &moves[i])) return false;
  }
  return true;
}

/* Returns true if the first iteration reads exactly one row of operand k and operand k has this row. */
static bool reads_its_row(const tmo_checker *c, const tmo_op *op, uint32_t k) {
  const tmo_access *a = &accesses(c, op)[k];
  return a->extent == 1 && has_rows(c, &c->tensors[op->input[k]], a, 1);
}

/* Checks that operand 0 is one whole row, and that each pixel of operand 1 has the indices of a pixel of operand 0. Neither operand may be a
 * streamed or external input. */
static bool check_gather_nd(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const tmo_tensor *from = &c->tensors[op->input[0]], *indices = &c->tensors[op->input[1]];
  if (from->height != 1 || indices->height != 1 || o->out->height != 1 || indices->width != o->out->width) return false;
  if (from->channels != o->out->channels || indices->channels % TMO_INDEX_BYTES != 0) return false;
  if (tmo_is_source(c->program, from) || tmo_is_source(c->program, indices)) return false;
  return reads_its_row(c, op, 0) && reads_its_row(c, op, 1) && tmo_has_words(c, op->bias, indices->channels / TMO_INDEX_BYTES);
}

static bool check_resize(const tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const int32_t half = op->half_pixel_centers ? op->scale_h / 2 - 512 : 0;
  if (op->half_pixel_centers < 0 || op->half_pixel_centers > 1 || o->in->channels != o->out->channels) return false;
  const tmo_access *a = accesses(c, op);
  if (a->table != 0 || a->mul != op->scale_h || a->div != 1024 || a->extent != 2 || a->add != half) return false;
  const uint32_t last_row = op->scale_h * (o->out->height - 1u), last_column = op->scale_w * (o->out->width - 1u);
  if (last_row >= TMO_MAX_EXTENT || last_column >= TMO_MAX_EXTENT) return false;
  const int32_t wide = op->half_pixel_centers ? op->scale_w / 2 - 512 : 0; /* no output pixel is computed from padding alone */
  return (int32_t)last_row + half < o->in->height * 1024 && (int32_t)last_column + wide < o->in->width * 1024;
}

static bool check_resize_f32(const tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const tmo_access *a = accesses(c, op);
  if (op->resize_form < TMO_RESIZE_PLAIN || op->resize_form > TMO_RESIZE_CORNERS || op->rows_in == 0 || op->rows_out <= 1u * o->out->height - 1) return false;
  if (o->in->channels != o->out->channels || o->out->channels % 4 != 0 || a->table == 0 || a->extent != 2) return false;
  const uint16_t *const first = (const uint16_t *)(const void *)(c->program + a->table);
  uint32_t n = o->out->height;
  while (n > 0 && first[n - 1] < o->in->height) --n;
  return n == 0;
}

/* Checks that each operand is as wide as the output, or has one column. A pixel of an operand must have as many elements as an output pixel, or one
 * element. An iteration reads one row of each operand. */
static bool check_select(const tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const uint32_t bytes = tmo_select_bytes(op);
  if ((bytes != 1 && bytes != 2 && bytes != 4) || o->out->channels % bytes != 0) return false;
  for (uint32_t n = 0; n < 3; ++n) {
    const uint32_t form = tmo_select_form(op, n), item = n == 0 ? 1 : bytes;
    const uint32_t width = form & TMO_SELECT_ONE_COLUMN ? 1 : o->out->width;
    const uint32_t channels = form & TMO_SELECT_ONE_CHANNEL ? item : o->out->channels / bytes * item;
    uint32_t row = form & 3, k = 0;
    while (k < op->n_inputs && row >= accesses(c, op)[k].extent) row -= accesses(c, op)[k++].extent;
    if (k == op->n_inputs) return false;
    const tmo_tensor *t = &c->tensors[op->input[k]];
    if (t->width != width || t->channels != channels || !has_rows(c, t, &accesses(c, op)[k], o->out->height)) return false;
  }
  return true;
}

static bool check_transpose_conv(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  if (!check_weights(c, o)) return false;
  if (op->stride_h == 0 || op->stride_w == 0 || op->dilation_h != 1 || op->dilation_w != 1 || op->kernel_h == 0 || op->kernel_w == 0) {
    return false;
  }
  const tmo_access *a = accesses(c, op);
  const int32_t extent = (op->kernel_h - 1) / op->stride_h + 1;
  return a->table == 0 && a->mul == 1 && a->div == op->stride_h && a->extent == extent &&
         a->add == op->pad_top - op->stride_h * (extent - 1);
}

static bool check_batch_matmul(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const tmo_tensor *right = &c->tensors[op->input[1]];
  const bool transposed = op->transposed == 1;
  const uint32_t depth = o->in->channels, out = o->out->channels;
  if (op->transposed < 0 || op->transposed > 1 || o->in->width != 1 || right->width != 1 || o->out->width != 1) return false;
  if (right->channels != (transposed ? depth : out)) return false;
  const tmo_access *a = accesses(c, op);
  const uint32_t bytes = tmo_element_bytes(op);
  if (depth % bytes != 0 || out % bytes != 0) return false;
  return a[0].extent == 1 && a[1].extent == tmo_values(op, transposed ? out : depth) && (bytes == 4 || check_scaling(c, op, 1));
}

/* Returns whether an operand is one row in the state, with at least `bytes` bytes. The argument `behind` is the number of operands that follow the
 * checked operand. */
static bool is_made_anew(const tmo_checker *c, const tmo_operation *o, uint32_t behind, uint32_t bytes) {
  const uint32_t k = o->op->n_inputs - 1u - behind;
  const tmo_tensor *t = &c->tensors[o->op->input[k]];
  return tmo_header_of(c->program)->state > 0 && t->base == tmo_state_base(c->program) && tmo_row_bytes(t) >= bytes && accesses(c, o->op)[k].extent == 1;
}

/* An LSTM operator updates its previous output, which takes one byte per channel, and its cells, which take two bytes per channel. */
static bool check_lstm(tmo_checker *c, const tmo_operation *o) {
  const uint32_t out = o->out->channels;
  return tmo_has_words(c, o->op->curve, tmo_times(8, out) + TMO_CURVE_WORDS) && is_made_anew(c, o, 1, out) && is_made_anew(c, o, 0, 2 * out) &&
         tmo_has_constant(c, o->op->weights, tmo_times(4 * out, o->in->channels + out), 1) && check_scaling(c, o->op, TMO_LSTM_SCALES);
}

/* Checks that the operator updates its sums in place, and that its other operands have rows of equal lengths. */
static bool check_sliding_sum(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const uint32_t area = (uint32_t)op->kernel_h * op->kernel_w;
  for (uint32_t k = 0; k + 1 < op->n_inputs; ++k) {
    if (tmo_row_bytes(&c->tensors[op->input[k]]) != tmo_row_bytes(o->in)) return false;
  }
  return area - 1 < TMO_MAX_POOL_AREA && is_made_anew(c, o, 0, tmo_times(4, tmo_row_bytes(o->out))) && (op->multipliers == 0 || check_scaling(c, op, 1));
}

/* Checks that each operand has a row with as many sums as the output has values. */
static bool check_add_sums(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const uint32_t made = tmo_sum_bytes(op, TMO_MAX_INPUTS), channels = made > 0 ? o->out->channels / made : o->out->channels;
  if (made > TMO_MAX_SUM_BYTES || (made > 0 && o->out->channels % made != 0) || !check_accesses(c, o)) return false;
  for (uint32_t k = 0; k < op->n_inputs; ++k) {
    const uint32_t bytes = tmo_sum_bytes(op, k), row = tmo_times(tmo_times(o->out->width, channels), bytes);
    if (bytes == 0 || bytes > TMO_MAX_SUM_BYTES || accesses(c, op)[k].extent != 1 || tmo_row_bytes(&c->tensors[op->input[k]]) != row) return false;
  }
  if (op->bias != 0 && !tmo_has_words(c, op->bias, channels)) return false;
  return made > 0 || check_scaling(c, op, op->flags & TMO_FLAG_PER_CHANNEL ? channels : 1);
}

static int family_of(uint8_t kind) {
  switch (kind) {
#define FAMILY(with, name, value, reads, writes, operands, scales, family, channels, row, pixel) \
  case value: return tmo_has_kind(value) ? (int)tmo_family_##family : -1;
    TMO_EACH_KIND(FAMILY, )
    default: return -1;
  }
}

/* tmo_check_build() has already rejected kinds whose kernels this build lacks. */
bool tmo_check_kind(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  if (op->packing != TMO_PACKING_NONE) {
    return tmo_check_packed(c, o) && (tmo_is_packed_as(op, TMO_PACKING_DSP_ADD) ? pointwise(op) : check_windowed(c, o));
  }
  if (tmo_is_in(TMO_BUILT(TMO_ACCESS_KINDS), op->kind) && !check_accesses(c, o)) return false;
  switch (family_of(op->kind)) {
#define CHECK(family) case tmo_family_##family: return check_##family(c, o);
    TMO_EACH_FAMILY(CHECK)
    default: return false;
  }
}
