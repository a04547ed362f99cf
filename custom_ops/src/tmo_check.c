/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/check.h"

#include "tmo/iterate.h"
#include "tmo/layout.h"
#include "tmo/loops.h"
#include "tmo/nest.h"

#define MAX_READS 16 /* number of array elements that the validator may read for each byte of the program; operators may share arrays */

_Static_assert(TMO_MAX_KERNEL_H <= TMO_MAX_TAPS, "one array of pointers holds either");

/* Returns the size of the buffer that contains a tensor. For slow memory, the function returns the size that the program states, because the caller
 * may provide the memory later. */
static uint32_t base_bytes(const tmo_checker *c, const tmo_tensor *t) {
  if (tmo_has_part(TMO_PART_SLOW_MEMORY) && tmo_header_of(c->program)->pools > 0 && t->base == tmo_slow_base(c->program)) return tmo_slow_bytes(c->program);
  return t->base == 0 ? tmo_header_of(c->program)->workspace : c->io_bytes[t->base - 1];
}

TMO_OWN_FRAME static bool check_rolling_buffers(tmo_checker *c) {
  const tmo_header *h = tmo_header_of(c->program);
  uint32_t at = h->rolling_buffers, n = 0;
  for (;; at += sizeof(tmo_rolling_buffer), ++n) {
    if (!tmo_has_constant(c, at, sizeof(tmo_rolling_buffer), 4)) return false;
    const tmo_rolling_buffer *rolling_buffer = (const tmo_rolling_buffer *)tmo_constant(h, at);
    c->n_rolling_buffers = n;
    if (rolling_buffer->depth == 0) return 2 * n <= h->state;
    if (!tmo_lies_in(h->state, rolling_buffer->offset, tmo_times(rolling_buffer->depth, rolling_buffer->row), 1)) return false;
  }
}

/* Checks that the rows of a tensor are stored in order, in reverse order, or in a rolling buffer of the state. If the rows are in reverse order, the
 * buffer must have room for all rows. Rows of a streamed or external input must be stored in ascending order. */
static bool check_layout(const tmo_checker *c, const tmo_tensor *t) {
  if (t->layout == TMO_LAYOUT_HWC) return true;
  if (tmo_has_column_windows(t) || tmo_is_source(c->program, t)) return false;
  if (tmo_has_part(TMO_PART_REVERSED) && t->layout <= TMO_LAYOUT_PIXELS_REVERSED) return t->depth == t->height;
  return tmo_has_part(TMO_PART_STATE) && tmo_rolling_buffer_number(t) < c->n_rolling_buffers && tmo_rolling_buffers(c->program)[tmo_rolling_buffer_number(t)].row == tmo_times(t->width, t->channels);
}

/* Checks a streamed input, whose newest rows are in io[0], and whose older rows are in a rolling buffer. The executor checks an external input in
 * each inference, because the caller may change the input. */
static tmo_status check_source(const tmo_checker *c, const tmo_tensor *t) {
  const uint32_t row = tmo_times(t->width, t->channels);
  if (tmo_has_column_windows(t)) return TMO_ERROR_TABLE;
  if (tmo_input_of(c->program) == TMO_INPUT_EXTERNAL) return tmo_times(row, t->height) <= INT32_MAX ? TMO_OK : TMO_ERROR_TABLE;
  if (t->pushed == 0 || t->height % t->pushed != 0 || t->depth > t->height) return TMO_ERROR_TABLE;
  if (!tmo_in_workspace(c, t->offset, tmo_times(row, t->depth), 1)) return TMO_ERROR_TABLE;
  return tmo_times(row, t->pushed) <= c->io_bytes[0] ? TMO_OK : TMO_ERROR_IO;
}

static bool same_stream(const tmo_tensor *a, const tmo_tensor *b) {
  return a->offset == b->offset && a->height == b->height && a->depth == b->depth && a->pushed == b->pushed && tmo_row_bytes(a) == tmo_row_bytes(b);
}

/* Checks that a streamed input is the program's only input, and that all tensor records of the streamed input are equal. */
static bool check_stream(const tmo_checker *c) {
  const tmo_tensor *first = NULL;
  for (uint32_t i = 0; i < tmo_header_of(c->program)->n_tensors; ++i) {
    const tmo_tensor *t = &c->tensors[i];
    if (t->base != 1) continue;
    if (first != NULL && !same_stream(first, t)) return false;
    first = t;
  }
  return first != NULL && tmo_header_of(c->program)->n_inputs == 1;
}

static tmo_status check_tensor(const tmo_checker *c, const tmo_tensor *t) {
  const bool constant = tmo_is_constant(t), on_link = tmo_on_link(c->program, t);
  if (t->base > c->last_base && !constant && !on_link) return TMO_ERROR_TABLE;
  if (t->channels == 0 || t->width == 0 || t->height == 0) return TMO_ERROR_TABLE;
  if (!check_layout(c, t)) return TMO_ERROR_TABLE;
  if (tmo_is_source(c->program, t)) return check_source(c, t);
  if (tmo_has_column_windows(t)) return TMO_OK; /* check_column_windows() has checked the tensor */
  if (t->depth == 0 || t->depth > t->height) return TMO_ERROR_TABLE;
  const uint32_t bytes = tmo_times(tmo_times(t->width, t->channels), t->depth);
  if (constant) return tmo_has_constant(c, t->constant, bytes, 1) ? TMO_OK : TMO_ERROR_TABLE;
  if (on_link) return t->depth == t->height && bytes / t->height <= UINT16_MAX ? TMO_OK : TMO_ERROR_TABLE;
  if (tmo_lies_in(base_bytes(c, t), t->offset, bytes, 1)) return TMO_OK;
  return t->base == 0 ? TMO_ERROR_TABLE : TMO_ERROR_IO;
}

static bool check_stripes(const tmo_group *group, const tmo_tensor *t) {
  return t->advance > 0 && t->rows >= t->advance && (uint32_t)group->stripes * t->advance < TMO_MAX_EXTENT;
}

/* Checks that the column windows of a tensor together have as many rows as a stripe, and are inside the buffer of the tensor. */
static bool check_column_windows(tmo_checker *c, const tmo_tensor *t, uint32_t pixel) {
  if (!tmo_has_column_windows(t)) return true;
  if (!tmo_has_constant(c, t->column_windows, t->n_column_windows * sizeof(tmo_column_window), 4) || !tmo_may_read(c, t->n_column_windows)) return false;
  const tmo_column_window *column_windows = (const tmo_column_window *)tmo_constant(c->program, t->column_windows);
  uint32_t rows = 0;
  for (uint32_t i = 0; i < t->n_column_windows; ++i) {
    rows += column_windows[i].rows;
    if (column_windows[i].depth == 0 || !tmo_lies_in(base_bytes(c, t), column_windows[i].offset, tmo_times(column_windows[i].depth, pixel), 1)) return false;
  }
  return rows == t->rows;
}

/* Returns the last operator of the group before operator `index` that writes the tensor. Returns NULL if no operator before operator `index` writes
 * the tensor. Several operators may have the same output tensor. */
static const tmo_op *maker_of(tmo_checker *c, const tmo_group *group, uint32_t index, uint32_t tensor) {
  if (!tmo_may_read(c, index - group->first_op)) return NULL;
  for (uint32_t i = index; i > group->first_op; --i) {
    if (c->ops[i - 1].output == tensor) return &c->ops[i - 1];
  }
  return NULL;
}

/* Checks one operand of an operator. If the operand has column windows or channel groups, it must be the output of an earlier operator in the same
 * group. Both operators must have the same channel groups. */
static bool check_operand(tmo_checker *c, const tmo_group *group, uint32_t index, uint32_t k) {
  const tmo_op *op = &c->ops[index];
  if (op->input[k] >= tmo_header_of(c->program)->n_tensors) return false;
  const tmo_tensor *in = &c->tensors[op->input[k]];
  if (tmo_is_source(c->program, in)) {
    const bool streamed = tmo_input_of(c->program) == TMO_INPUT_STREAM;
    return !tmo_reads_channel_group(op) && (!streamed || group->first_op == 0); /* only the first group can read a streamed input */
  }
  if (tmo_on_link(c->program, in)) return op->kind == TMO_OP_RECEIVE;
  if (!tmo_has_column_windows(in) && !tmo_reads_channel_group(op)) return true;
  const tmo_op *maker = tmo_in_tiles(group, op) ? maker_of(c, group, index, op->input[k]) : NULL;
  if (maker == NULL || tmo_reads_channel_group(op) != tmo_writes_channel_group(maker)) return false;
  return !tmo_reads_channel_group(op) || op->group_channels == maker->group_channels;
}

/* Checks that the converted pixels of an external input fit into the workspace. */
static bool check_conversion(const tmo_checker *c, const tmo_operation *o) {
  if (tmo_input_of(c->program) != TMO_INPUT_EXTERNAL) return true;
  const uint32_t bytes = tmo_converted_bytes(c->program, o->group, o->op);
  for (uint8_t k = 0; bytes > 0 && k < o->op->n_inputs; ++k) {
    const tmo_tensor *in = &c->tensors[o->op->input[k]];
    if (tmo_is_source(c->program, in) && !tmo_in_workspace(c, in->offset, bytes, 1)) return false;
  }
  return true;
}

/* Checks that no channel group of an operator is empty. The channel groups must cover all channels of the input, of the output, or of both. */
static bool check_channel_groups(const tmo_operation *o) {
  const tmo_op *op = o->op;
  if (tmo_channel_groups(op) == 1) return !tmo_sums_channel_groups(op);
  if (op->channel_groups == UINT16_MAX) return false; /* after all channel groups, the operator may need one more pass to write the sums */
  if (tmo_iterative(op) || !tmo_is_in(TMO_GROUPABLE_KINDS, op->kind) || (tmo_sums_channel_groups(op) && !tmo_is_summed(op))) return false;
  const bool reads = tmo_reads_channel_group(op), writes = tmo_writes_channel_group(op);
  if (reads && writes && o->in->channels != o->out->channels) return false;
  const uint32_t channels = reads ? o->in->channels : o->out->channels;
  const uint32_t before_last = (op->channel_groups - 1u) * op->group_channels;
  return before_last < channels && channels - before_last <= op->group_channels;
}

static bool check_channel_group_sums(tmo_checker *c, const tmo_operation *o) {
  if (!tmo_may_read(c, o->group->stripes)) return false;
  int32_t highest = 0;
  for (uint16_t m = 0; m < o->group->stripes; ++m) {
    const int32_t rows = tmo_stripe_end(o->out, m) - tmo_stripe_first(o->out, m);
    if (rows > highest) highest = rows;
  }
  return tmo_in_workspace(c, o->op->accumulator, tmo_times(tmo_times(4 * (uint32_t)o->out->width, o->out->channels), (uint32_t)highest), 4);
}

static bool check_tiled(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  if (!check_stripes(o->group, o->out) || !check_channel_groups(o)) return false;
  if (!check_column_windows(c, o->out, tmo_pixel_bytes(op, o->out, tmo_writes_channel_group(op)))) return false;
  if (tmo_iterative(op) && !(check_stripes(o->group, o->in) && o->in->rows == o->in->advance)) return false;
  return !tmo_sums_channel_groups(op) || check_channel_group_sums(c, o);
}

static bool check_arity(const tmo_op *op) {
  if (tmo_is_in(TMO_BUILT(TMO_ANY_OPERANDS_KINDS), op->kind)) return op->n_inputs >= 1 && op->n_inputs <= TMO_MAX_INPUTS;
  return op->n_inputs == (tmo_is_in(tmo_taken(TMO_TWO_OPERANDS_KINDS), op->kind) ? 2 : tmo_is_in(TMO_BUILT(TMO_THREE_OPERANDS_KINDS), op->kind) ? 3 : 1);
}

/* Returns whether the pixels of an operand or of the output are stored in reverse order. A group without tiles cannot use reversed pixels, because
 * its kernels read and write the pixels of a row forwards. */
static bool has_reversed_pixels(const tmo_checker *c, const tmo_operation *o) {
  if (!tmo_has_part(TMO_PART_REVERSED)) return false;
  bool is_reversed = o->out->layout == TMO_LAYOUT_PIXELS_REVERSED;
  for (uint8_t k = 0; k < o->op->n_inputs; ++k) is_reversed = is_reversed || c->tensors[o->op->input[k]].layout == TMO_LAYOUT_PIXELS_REVERSED;
  return is_reversed;
}

static bool check_copied(const tmo_checker *c, const tmo_op *op) {
  if (op->kind != TMO_OP_CONV || !tmo_has_constant(c, op->weights, sizeof(tmo_copied), 4)) return false;
  const tmo_copied *const copied = tmo_copied_of(c->program, op);
  return tmo_has_constant(c, copied->weights, copied->bytes, 1) && tmo_in_workspace(c, copied->place, copied->bytes, TMO_ALIGNMENT);
}

static bool check_op(tmo_checker *c, const tmo_group *group, uint32_t index) {
  const tmo_op *op = &c->ops[index];
  const uint8_t known = TMO_FLAG_ITERATIVE | TMO_FLAG_PER_CHANNEL | TMO_FLAG_SUMS | TMO_FLAG_NIBBLES | TMO_FLAG_COPIES;
  if ((op->flags & ~known) != 0 || op->act_min > op->act_max) return false;
  if ((op->flags & TMO_FLAG_PER_CHANNEL) != 0 && !tmo_is_in(tmo_taken(TMO_PER_CHANNEL_KINDS), op->kind)) return false;
  const bool weighted = tmo_is_kind(op, TMO_OP_CONV) || tmo_is_kind(op, TMO_OP_DEPTHWISE);
  if (tmo_has_nibbles(op) && (!weighted || op->packing != TMO_PACKING_NONE)) return false;
  if (tmo_copies_weights(op) && !check_copied(c, op)) return false;
  if (!check_arity(op) || op->output >= tmo_header_of(c->program)->n_tensors) return false;
  if ((op->access != 0) != tmo_is_in(TMO_BUILT(TMO_ACCESS_KINDS), op->kind)) return false;
  for (uint32_t k = 0; k < op->n_inputs; ++k) {
    if (!check_operand(c, group, index, k)) return false;
  }
  const tmo_operation o = {group, op, &c->tensors[op->input[0]], &c->tensors[op->output]};
  if (tmo_is_source(c->program, o.out) || tmo_is_constant(o.out)) return false;
  if (tmo_has_part(TMO_PART_LINK) && tmo_on_link(c->program, o.out) != (op->kind == TMO_OP_SEND)) return false;
  const bool by_row = !has_reversed_pixels(c, &o) && op->tile == 0 && op->channel_groups <= 1 && !tmo_sums_channel_groups(op) && !tmo_has_column_windows(o.out);
  return (tmo_in_tiles(group, op) ? check_tiled(c, &o) : by_row) && tmo_check_kind(c, &o) && check_conversion(c, &o);
}

/* Returns whether iterate_all_rows() in tmo_run.c can run all iterations of a group, if all input rows exist. The argument `iterations` is the number
 * of the group's iterations. */
static bool runs_whole(const tmo_checker *c, const tmo_group *group, uint32_t iterations) {
  const tmo_op *const op = &c->ops[group->first_op];
  if (group->n_ops > 1 || group->stripes > 0 || !tmo_iterates_rows(op) || tmo_is_message(op)) return false;
  return c->tensors[op->output].height == iterations;
}

/* Counts the iterations of a group's loops. The order of the iterations does not affect safety, because each iteration accesses only its own
 * buffers. */
TMO_OWN_FRAME static tmo_status check_loops(tmo_checker *c, const tmo_group *group) {
  const uint32_t size = tmo_header_of(c->program)->size;
  if (group->loops >= size) return TMO_ERROR_TABLE;
  const uint8_t *const first = tmo_loops(c->program, group);
  const tmo_loop_body body = tmo_read_loop(first, c->program + size, group->n_ops);
  if (body.iterations == 0 || !tmo_may_read(c, (uint32_t)(body.end - first))) return TMO_ERROR_TABLE;
  if (body.iterations > c->iterations_left) return TMO_ERROR_ITERATIONS;
  c->iterations_left -= body.iterations;
  const bool whole = tmo_has_part(TMO_PART_SEVERAL_ROWS) && group->whole;
  return !whole || runs_whole(c, group, body.iterations) ? TMO_OK : TMO_ERROR_TABLE;
}

/* Checks one group of operators. The argument `first` is the number of operators in all earlier groups. */
static tmo_status check_group(tmo_checker *c, const tmo_group *group, uint32_t first) {
  if (group->first_op != first || group->n_ops == 0 || group->n_ops > tmo_header_of(c->program)->n_ops - first) return TMO_ERROR_TABLE;
  const uint32_t counter = tmo_is_tiled(group) ? sizeof(tmo_iteration) : sizeof(uint16_t);
  if (!tmo_in_workspace(c, group->counters, counter * group->n_ops, 2)) return TMO_ERROR_TABLE;
  for (uint32_t i = first; i < first + group->n_ops; ++i) {
    if (!check_op(c, group, i)) return TMO_ERROR_OP;
  }
  return check_loops(c, group);
}

tmo_status tmo_check(const void *program, size_t program_bytes, const uint32_t *io_bytes, size_t n_inputs, size_t n_outputs,
                     size_t workspace_bytes) {
  tmo_status status = tmo_check_build(program, program_bytes, n_inputs, n_outputs, workspace_bytes);
  if (status != TMO_OK) return status;
  const tmo_header *h = tmo_header_of(program);
  tmo_checker c = {(const uint8_t *)program, tmo_tensors(program), tmo_ops(program), io_bytes, tmo_times(h->size, MAX_READS), h->iterations, 0, 0};
  c.last_base = (uint32_t)(n_inputs + n_outputs);
  if (tmo_has_part(TMO_PART_STATE) && h->state > 0) {
    /* io[] has a tmo_messenger in place of the state, so a program for several devices has no state */
    if (tmo_input_of(program) == TMO_INPUT_LINK || !check_rolling_buffers(&c)) return TMO_ERROR_TABLE;
    if (io_bytes[c.last_base++] < h->state) return TMO_ERROR_IO;
  }
  if (tmo_has_part(TMO_PART_SLOW_MEMORY) && h->pools > 0) {
    if (tmo_input_of(program) == TMO_INPUT_LINK) return TMO_ERROR_TABLE; /* io[] has a tmo_messenger in place of slow memory */
    if (io_bytes[c.last_base++] < tmo_slow_bytes(program)) return TMO_ERROR_IO;
  }
  for (uint32_t i = 0; i < h->n_tensors; ++i) {
    status = check_tensor(&c, &c.tensors[i]);
    if (status != TMO_OK) return status;
  }
  if (tmo_has_source(program) && h->n_inputs == 0) return TMO_ERROR_TABLE;
  if (tmo_input_of(program) == TMO_INPUT_STREAM && !check_stream(&c)) return TMO_ERROR_TABLE;
  uint32_t first = 0;
  for (uint32_t i = 0; i < h->n_groups; ++i) {
    const tmo_group *group = &tmo_groups(program)[i];
    status = check_group(&c, group, first);
    if (status != TMO_OK) return status;
    first += group->n_ops;
  }
  if (first == 0 || first != h->n_ops) return TMO_ERROR_TABLE;
  return c.iterations_left == 0 ? TMO_OK : TMO_ERROR_ITERATIONS;
}
