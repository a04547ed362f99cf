/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this header find the tables of a program, and the addresses of a tensor's rows and pixels. */
#ifndef TMO_ACCESS_H_
#define TMO_ACCESS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "build.h"
#include "compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline const tmo_header *tmo_header_of(const void *program) { return (const tmo_header *)program; }

static inline const void *tmo_constant(const void *program, uint32_t offset) { return (const uint8_t *)program + offset; }

static inline const tmo_copied *tmo_copied_of(const void *program, const tmo_op *op) {
  return (const tmo_copied *)tmo_constant(program, op->weights);
}

static inline const tmo_tensor *tmo_tensors(const void *program) {
  return (const tmo_tensor *)tmo_constant(program, tmo_header_of(program)->tensors);
}

static inline const tmo_op *tmo_ops(const void *program) {
  return (const tmo_op *)tmo_constant(program, tmo_header_of(program)->ops);
}

static inline const tmo_group *tmo_groups(const void *program) {
  return (const tmo_group *)tmo_constant(program, tmo_header_of(program)->groups);
}

/* Returns one of the TMO_INPUT_* constants, which says where the program's input comes from. */
static inline uint16_t tmo_input_of(const void *program) {
  const uint16_t input = tmo_header_of(program)->input;
  const bool possible = tmo_has_part(TMO_PART_STREAM) || tmo_has_part(TMO_PART_EXTERNAL);
  if (input == TMO_INPUT_LINK) return tmo_has_part(TMO_PART_LINK) ? TMO_INPUT_LINK : TMO_INPUT_ARENA;
  if (!possible || !tmo_has_part(input == TMO_INPUT_STREAM ? TMO_PART_STREAM : TMO_PART_EXTERNAL)) return TMO_INPUT_ARENA;
  return input;
}

/* Returns whether the program's input is streamed or external, so that the arena never contains the whole input. */
static inline bool tmo_has_source(const void *program) {
  const uint16_t input = tmo_input_of(program);
  return input == TMO_INPUT_STREAM || input == TMO_INPUT_EXTERNAL;
}

/* Returns whether a tensor is the streamed or external input of the program, or a view of this input. */
static inline bool tmo_is_source(const void *program, const tmo_tensor *t) { return t->base == 1 && tmo_has_source(program); }

/* Returns whether the rows of a tensor are messages between devices. The rows of a message have no address on this device. */
static inline bool tmo_on_link(const void *program, const tmo_tensor *t) {
  return tmo_input_of(program) == TMO_INPUT_LINK && t->base == TMO_LINK_BASE;
}

static inline bool tmo_is_tiled(const tmo_group *group) { return tmo_has_part(TMO_PART_TILES) && group->stripes > 0; }
static inline bool tmo_by_row(const tmo_op *op) { return !tmo_has_part(TMO_PART_TILES) || op->tile == 0; }

/* Returns whether each iteration of the operator computes a tile. A group with tiles may contain operators that compute whole rows. */
static inline bool tmo_in_tiles(const tmo_group *group, const tmo_op *op) { return tmo_is_tiled(group) && !tmo_by_row(op); }

static inline bool tmo_has_column_windows(const tmo_tensor *t) { return tmo_has_part(TMO_PART_TILES) && t->n_column_windows > 0; }

/* Returns whether the program contains the values of a tensor. */
static inline bool tmo_is_constant(const tmo_tensor *t) { return tmo_has_part(TMO_PART_CONSTANTS) && t->base == TMO_PROGRAM_BASE; }

/* Returns whether a tensor's rows and pixels are stored in ascending order in one buffer. */
static inline bool tmo_is_ascending(const tmo_tensor *t) {
  return (!tmo_has_part(TMO_PART_REVERSED) && !tmo_has_part(TMO_PART_STATE)) || t->layout == TMO_LAYOUT_HWC;
}

static inline bool tmo_is_s16(const tmo_op *op) { return tmo_is_in(TMO_BUILT(TMO_S16_KINDS), op->kind); }

static inline bool tmo_is_f32(const tmo_op *op) { return tmo_is_in(TMO_BUILT(TMO_F32_KINDS), op->kind); }

/* Returns the size in bytes of an element of the operator's input and output. The input and the output must have the same type. */
static inline uint32_t tmo_element_bytes(const tmo_op *op) { return tmo_is_f32(op) ? 4 : tmo_is_s16(op) ? 2 : 1; }

static inline uint32_t tmo_values(const tmo_op *op, uint32_t bytes) { return bytes / tmo_element_bytes(op); }

/* Returns whether the operator's outputs are int32 indices of largest or smallest values. */
static inline bool tmo_finds_places(const tmo_op *op) { return tmo_is_kind(op, TMO_OP_ARG_MAX_ALONG) || tmo_is_kind(op, TMO_OP_ARG_MAX_F32); }

/* Returns the number of int32 accumulators that the operator needs for `bytes` bytes of output. An operator that finds indices needs two accumulators
 * for each output: the index and the value at the index. */
static inline uint32_t tmo_accumulators(const tmo_op *op, uint32_t bytes) { return tmo_finds_places(op) ? bytes / 2 : tmo_values(op, bytes); }

/* Returns whether the operator sends rows to other devices, or receives rows from other devices. */
static inline bool tmo_is_message(const tmo_op *op) { return tmo_has_part(TMO_PART_LINK) && tmo_is_in(TMO_BUILT(TMO_LINK_KINDS), op->kind); }

/* Returns whether an element of the operator's input takes more than one byte. The library converts elements of an external input only if an element
 * takes one byte. */
static inline bool tmo_reads_wide(const tmo_op *op) { return tmo_is_in(TMO_BUILT(TMO_WIDE_KINDS), op->kind); }

/* Returns whether each output of the operator is a sum over all input channels. */
static inline bool tmo_is_summed(const tmo_op *op) { return tmo_is_in(TMO_SUMMED_KINDS, op->kind); }

static TMO_ALWAYS_INLINE bool tmo_iterative(const tmo_op *op) { return tmo_has_part(TMO_PART_ITERATIVE) && (op->flags & TMO_FLAG_ITERATIVE) != 0; }

/* Returns whether the operator's window has one pixel, moves by one pixel, and has no padding. */
static TMO_ALWAYS_INLINE bool tmo_is_pointwise(const tmo_op *op) {
  return op->kernel_h * op->kernel_w * op->stride_h * op->stride_w == 1 && op->pad_top + op->pad_left == 0;
}

/* Returns whether the operator only limits each input element to a range, as TFLM's RELU6 does for int16. */
static inline bool tmo_only_limits(const tmo_op *op) { return tmo_is_kind(op, TMO_OP_MAX_POOL_S16) && !tmo_iterative(op) && tmo_is_pointwise(op); }

static inline uint16_t tmo_channel_groups(const tmo_op *op) { return tmo_has_part(TMO_PART_CHANNEL_GROUPS) && op->channel_groups > 1 ? op->channel_groups : 1; }

/* Returns whether the operator adds up the products of all its channel groups. */
static inline bool tmo_sums_channel_groups(const tmo_op *op) { return tmo_has_part(TMO_PART_CHANNEL_GROUPS) && (op->flags & TMO_FLAG_SUMS) != 0; }

/* Returns the number of passes over a stripe: one for each channel group, and one more to write the sums of channel groups. */
static inline uint16_t tmo_passes(const tmo_op *op) { return (uint16_t)(tmo_channel_groups(op) + (tmo_sums_channel_groups(op) ? 1 : 0)); }

/* Returns whether pass number `pass` over a stripe converts the sums to outputs. */
static inline bool tmo_writes_sums(const tmo_op *op, uint16_t pass) { return tmo_sums_channel_groups(op) && pass == tmo_channel_groups(op); }

/* Returns whether an iteration of the operator writes only the channels of one channel group. */
static inline bool tmo_writes_channel_group(const tmo_op *op) { return tmo_channel_groups(op) > 1 && !tmo_sums_channel_groups(op); }
static inline bool tmo_reads_channel_group(const tmo_op *op) {
  return tmo_channel_groups(op) > 1 && (tmo_sums_channel_groups(op) || !tmo_is_summed(op));
}

typedef struct {
  uint32_t first;
  uint32_t count;
} tmo_channels;

/* Returns the channels of one channel group if `grouped` is true, and otherwise all channels of the tensor. */
static inline tmo_channels tmo_channels_of(const tmo_op *op, const tmo_tensor *t, bool grouped, uint16_t channel_group) {
  tmo_channels c = {0, t->channels};
  if (!grouped || channel_group >= tmo_channel_groups(op)) return c;
  c.first = (uint32_t)channel_group * op->group_channels;
  c.count = c.count - c.first < op->group_channels ? c.count - c.first : op->group_channels;
  return c;
}

/* Returns the quotient of a and the positive number b. Many divisors are 1, because many stripes and tiles have one row or column. */
static inline uint32_t tmo_quotient(uint32_t a, uint32_t b) { return b == 1 ? a : a / b; }

/* Returns the remainder of a divided by the positive number b. In most calls, a is smaller than b, and no slow division is needed. */
static inline uint32_t tmo_remainder(uint32_t a, uint32_t b) { return a < b ? a : a % b; }

/* Returns the size in bytes of a tensor's pixel. If the tensor has column windows and the argument `grouped` is true, each pixel has only the
 * channels of one channel group. */
static inline uint32_t tmo_pixel_bytes(const tmo_op *op, const tmo_tensor *t, bool grouped) {
  return grouped && tmo_has_column_windows(t) ? op->group_channels : t->channels;
}

/* Returns the offset in bytes of a channel group's first channel within a pixel. */
static inline uint32_t tmo_channel_group_offset(const tmo_op *op, const tmo_tensor *t, bool grouped, uint16_t channel_group) {
  return tmo_has_column_windows(t) ? 0 : tmo_channels_of(op, t, grouped, channel_group).first;
}

static inline uint32_t tmo_row_bytes(const tmo_tensor *t) { return t->width * t->channels; }

/* Returns whether the rows of a tensor are stored in reverse order, from the last row to row 0. */
static TMO_ALWAYS_INLINE bool tmo_is_reversed(const tmo_tensor *t) {
  return tmo_has_part(TMO_PART_REVERSED) && (t->layout == TMO_LAYOUT_ROWS_REVERSED || t->layout == TMO_LAYOUT_PIXELS_REVERSED);
}

/* Returns whether the pixels of each row of a tensor are stored in descending order. */
static TMO_ALWAYS_INLINE bool tmo_is_backwards(const tmo_tensor *t) { return tmo_has_part(TMO_PART_REVERSED) && t->layout == TMO_LAYOUT_PIXELS_REVERSED; }

/* Returns the offset in bytes of row y of a tensor without column windows, relative to the base of the tensor. */
static inline uint32_t tmo_row_offset(const tmo_tensor *t, uint32_t y) {
  const uint32_t row = tmo_is_reversed(t) ? t->height - 1u - y : tmo_remainder(y, t->depth);
  return t->offset + row * tmo_row_bytes(t);
}

static inline const tmo_rolling_buffer *tmo_rolling_buffers(const void *program) {
  return (const tmo_rolling_buffer *)tmo_constant(program, tmo_header_of(program)->rolling_buffers);
}

/* Returns whether the rows of a tensor are part of the state, which outlives an inference. */
static inline bool tmo_in_rolling_buffer(const tmo_tensor *t) { return tmo_has_part(TMO_PART_STATE) && t->layout >= TMO_LAYOUT_STATE; }

static inline uint32_t tmo_rolling_buffer_number(const tmo_tensor *t) { return t->layout - (uint32_t)TMO_LAYOUT_STATE; }

/* Returns tmo_tensor.base of all tensors in the state. */
static inline uint32_t tmo_state_base(const void *program) {
  return 1u + tmo_header_of(program)->n_inputs + tmo_header_of(program)->n_outputs;
}

/* Returns tmo_tensor.base of all tensors in slow memory. */
static inline uint32_t tmo_slow_base(const void *program) { return tmo_state_base(program) + (tmo_header_of(program)->state > 0); }

static inline uint32_t tmo_slow_bytes(const void *program) {
  const tmo_header *h = tmo_header_of(program);
  return h->pools > 0 ? ((const tmo_pool *)(const void *)(h + 1))->bytes : 0;
}

/* Returns how many rows before row 0 of the tensor come from earlier inferences. */
static inline uint32_t tmo_older_rows(const tmo_tensor *t) { return tmo_in_rolling_buffer(t) ? t->older : 0; }

/* Returns the offset in bytes of row y of a tensor in the state, relative to the start of the state. */
static inline uint32_t tmo_rolling_buffer_offset(const void *program, const void *state, const tmo_tensor *t, uint32_t y) {
  const uint32_t i = tmo_rolling_buffer_number(t);
  const tmo_rolling_buffer *const rolling_buffer = &tmo_rolling_buffers(program)[i];
  const uint32_t oldest = (uint32_t)((const uint16_t *)state)[i] - rolling_buffer->key;
  return rolling_buffer->offset + (oldest + rolling_buffer->depth + y) % rolling_buffer->depth * rolling_buffer->row;
}

typedef struct {
  int32_t first; /* index of the first row, which may be negative or beyond the end of the tensor */
  uint16_t count;
} tmo_rows;

/* Returns the rows that iteration y reads according to the access record `a`. Some of the returned rows may be outside the tensor. */
static TMO_ALWAYS_INLINE tmo_rows tmo_rows_by(const void *program, const tmo_access *a, uint16_t y) {
  tmo_rows rows = {0, a->extent};
  if (a->table != 0) {
    rows.first = ((const uint16_t *)tmo_constant(program, a->table))[y];
    if (rows.first == TMO_NONE) rows.count = 0;
  } else {
    const int32_t scaled = (int32_t)((uint32_t)y * a->mul) + a->add;
    rows.first = scaled >= 0 ? scaled / a->div : -((-scaled + a->div - 1) / a->div);
  }
  return rows;
}

/* Returns the rows of operand k that iteration y reads. Some of the returned rows may be outside the tensor. The operator must have access records
 * instead of a convolution window. */
static inline tmo_rows tmo_accessed_rows(const void *program, const tmo_op *op, uint32_t k, uint16_t y) {
  return tmo_rows_by(program, (const tmo_access *)tmo_constant(program, op->access) + k, y);
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_ACCESS_H_ */
