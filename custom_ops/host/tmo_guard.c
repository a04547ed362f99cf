/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo_guard.h"

#include <stdlib.h>
#include <string.h>

#include "tmo/packing.h"
#include "tmo/nest.h"

#define MARGIN 64u /* number of canary bytes on each side of the arena, a multiple of the arena's alignment */
#define CANARY 0xA5

/* The field `image` holds a margin of canary bytes, then the arena, then a second margin. The field `before` is a copy of `image` from the start of
 * the iteration. */
typedef struct {
  uint8_t *image;
  uint8_t *before;
  size_t size;
} guard;

static bool range_inside(uint32_t offset, uint32_t bytes, uint32_t size) { return offset <= size && bytes <= size - offset; }

static bool layout_is_sane(const tmo_arena *a) {
  for (uint32_t i = 0; i < a->n_inputs + a->n_outputs + 2; ++i) { /* the last two entries are for the state and the slow memory */
    if (!range_inside(a->io_offsets[i], a->io_bytes[i], a->size)) return false;
  }
  return a->workspace_offset % 16 == 0 && range_inside(a->workspace_offset, a->workspace_bytes, a->size);
}

static void allow(guard *g, uint64_t offset, uint64_t bytes) {
  memcpy(g->before + MARGIN + offset, g->image + MARGIN + offset, (size_t)bytes);
}

static const tmo_group *group_of(const void *program, uint16_t op) {
  const tmo_group *group = tmo_groups(program);
  while (op >= group->first_op + group->n_ops) ++group;
  return group;
}

/* Allows the program to write the pixels from `first` to `end` - 1 of output row y. */
static void allow_pixels(guard *g, const void *program, const tmo_arena *a, const tmo_op *op, const tmo_iteration *at, uint16_t y, uint16_t first,
                         uint16_t end) {
  const tmo_tensor *out = &tmo_tensors(program)[op->output];
  const uint64_t base = out->base == 0 ? a->workspace_offset : a->io_offsets[out->base - 1];
  if (tmo_in_rolling_buffer(out) && out->base == tmo_state_base(program)) { /* rolling buffers advance at the end of an inference */
    const tmo_rolling_buffer *rolling_buffer = &tmo_rolling_buffers(program)[tmo_rolling_buffer_number(out)];
    allow(g, base + rolling_buffer->offset, (uint64_t)rolling_buffer->depth * rolling_buffer->row);
    return;
  }
  const tmo_row_pixels pixels = tmo_row_pixels_of(program, out, tmo_pixel_bytes(op, out, tmo_writes_channel_group(op)), at->stripe, y);
  const tmo_channels channels = tmo_channels_of(op, out, tmo_writes_channel_group(op), at->channel_group);
  const uint32_t channel_group = tmo_channel_group_offset(op, out, tmo_writes_channel_group(op), at->channel_group);
  for (uint32_t x = first; x < end; ++x) allow(g, base + channel_group + tmo_pixel_offset(&pixels, x), channels.count);
}

static void allow_counters(guard *g, const tmo_arena *a, const tmo_group *group) {
  const uint64_t counter = group->stripes > 0 ? sizeof(tmo_iteration) : sizeof(uint16_t);
  allow(g, (uint64_t)a->workspace_offset + group->counters, group->n_ops * counter);
}

/* Allows the operators of a group to copy their weights to the workspace. */
static void allow_copies(guard *g, const void *program, const tmo_arena *a, const tmo_group *group) {
  for (uint16_t i = group->first_op; i < group->first_op + group->n_ops; ++i) {
    const tmo_op *op = &tmo_ops(program)[i];
    if (!tmo_copies_weights(op)) continue;
    const tmo_copied *copied = tmo_copied_of(program, op);
    const uint64_t place = (uint64_t)a->workspace_offset + copied->place;
    if (memcmp(g->image + MARGIN + place, tmo_constant(program, copied->weights), copied->bytes) == 0) allow(g, place, copied->bytes);
  }
}

/* Allows the writes of a tmo_step() that runs no iteration because input rows are missing. If rows are missing, tmo_step() still starts the first
 * group and copies the rows that have arrived. */
static void allow_waiting(guard *g, const void *program, const tmo_arena *a, const tmo_tensor *t) {
  allow_counters(g, a, tmo_groups(program));
  allow_copies(g, program, a, tmo_groups(program));
  allow(g, (uint64_t)a->workspace_offset + t->offset, (uint64_t)t->depth * tmo_row_bytes(t));
}

/* Allows the program to write the positions of the rolling buffers, which change when a run begins or ends. If the argument `filled` is true,
 * allow_standings() also allows the program to write all bytes of the rolling buffers. */
static void allow_standings(guard *g, const void *program, const tmo_arena *a, bool filled) {
  if (tmo_header_of(program)->state == 0) return;
  const uint64_t state = a->io_offsets[tmo_state_base(program) - 1];
  for (const tmo_rolling_buffer *rolling_buffer = tmo_rolling_buffers(program); rolling_buffer->depth > 0; ++rolling_buffer) {
    allow(g, state + sizeof(uint16_t) * (uint64_t)(rolling_buffer - tmo_rolling_buffers(program)), sizeof(uint16_t));
    if (filled) allow(g, state + rolling_buffer->offset, (uint64_t)rolling_buffer->depth * rolling_buffer->row);
  }
}

/* Allows the program to write the bytes that hold converted pixels of an external input. */
static void allow_conversion(guard *g, const void *program, const tmo_arena *a, const tmo_group *group, const tmo_op *op) {
  const uint64_t bytes = tmo_converted_bytes(program, group, op);
  for (uint8_t k = 0; k < op->n_inputs; ++k) {
    const tmo_tensor *in = &tmo_tensors(program)[op->input[k]];
    if (bytes > 0 && tmo_is_source(program, in)) allow(g, (uint64_t)a->workspace_offset + in->offset, bytes);
  }
}

static void allow_updates(guard *g, const void *program, const tmo_arena *a, const tmo_op *op) {
  const uint8_t last = op->kind == TMO_OP_LSTM ? 2 : op->kind == TMO_OP_SLIDING_SUM ? 1 : 0; /* number of inputs that the operator also writes */
  for (uint8_t behind = 0; behind < last; ++behind) {
    const tmo_tensor *in = &tmo_tensors(program)[op->input[op->n_inputs - 1 - behind]];
    allow(g, (uint64_t)a->io_offsets[in->base - 1] + in->offset, tmo_row_bytes(in));
  }
}

static void allow_writes(guard *g, const void *program, const tmo_arena *a, uint16_t index, const tmo_iteration *at) {
  const tmo_op *op = &tmo_ops(program)[index];
  const tmo_tensor *out = &tmo_tensors(program)[op->output];
  const tmo_group *group = group_of(program, index);
  const tmo_tensor *iterated = tmo_iterated(program, op);
  const uint64_t sums = (uint64_t)a->workspace_offset + op->accumulator;
  const uint16_t first = (uint16_t)tmo_first_column(op, at), end = (uint16_t)tmo_end_column(op, iterated, at);

  allow_counters(g, a, group);
  allow_copies(g, program, a, group);
  allow_conversion(g, program, a, group, op);
  allow_updates(g, program, a, op);
  if (op->packing != TMO_PACKING_NONE) {
    allow(g, sums, tmo_scratch_bytes(op, &tmo_tensors(program)[op->input[0]], out));
  }
  if (tmo_iterative(op) && op->access == 0) {
    allow(g, sums, (uint64_t)tmo_accumulators(op, tmo_row_bytes(out)) * sizeof(int32_t));
    if (tmo_ends_sums(op, iterated, at)) allow_pixels(g, program, a, op, at, 0, 0, out->width);
    return;
  }
  if (tmo_sums_channel_groups(op)) {
    allow(g, sums + sizeof(int32_t) * tmo_channel_group_sum(op, iterated, at), (uint64_t)(end - first) * out->channels * sizeof(int32_t));
    if (at->channel_group + 1 < tmo_passes(op)) return;
  }
  if (tmo_iterative(op)) {
    allow_pixels(g, program, a, op, at, 0, 0, out->width);
  } else {
    allow_pixels(g, program, a, op, at, at->row, first, end);
  }
}

static bool changed_elsewhere(const guard *g, int32_t *byte) {
  if (memcmp(g->image, g->before, g->size) == 0) return false;
  size_t i = 0;
  while (g->image[i] == g->before[i]) ++i;
  *byte = (int32_t)((int64_t)i - MARGIN);
  return true;
}

static void push_rows(guard *g, const tmo_arena *a, void *const *io, uint32_t number) {
  memcpy(io[0], (const uint8_t *)a->source + (size_t)number * a->io_bytes[0], a->io_bytes[0]);
  allow(g, a->io_offsets[0], a->io_bytes[0]);
}

static int run_watched(guard *g, const void *program, const tmo_arena *a, void *const *io, tmo_guard_report *report) {
  tmo_run_state run;
  tmo_status status = TMO_MORE;
  tmo_begin(&run, program, io, g->image + MARGIN + a->workspace_offset);
  if (run.stream != NULL) push_rows(g, a, io, 0);
  allow_standings(g, program, a, true);
  while (status > TMO_OK) {
    const uint32_t left = run.iterations;
    status = tmo_step(&run);
    if (status < TMO_OK) return status;
    if (status == TMO_WAIT && run.stream == NULL) status = TMO_OK; /* the run ended before the sliding window was full */
    if (run.iterations < left) {
      report->op = run.op;
      report->current = run.current;
      ++report->iterations;
      allow_writes(g, program, a, run.op, &run.current);
      if (status == TMO_OK) allow_standings(g, program, a, false);
    } else if (status == TMO_WAIT) {
      allow_waiting(g, program, a, run.stream);
    }
    if (changed_elsewhere(g, &report->byte)) return TMO_GUARD_VIOLATION;
    if (status == TMO_WAIT) {
      push_rows(g, a, io, run.rows / run.stream->pushed);
      tmo_more_rows(&run);
    }
  }
  return status;
}

int tmo_run_guarded(const void *program, size_t program_bytes, const tmo_arena *a, tmo_guard_report *report) {
  memset(report, 0, sizeof *report);
  if (!layout_is_sane(a)) return TMO_ERROR_IO;
  const tmo_status checked = tmo_check(program, program_bytes, a->io_bytes, a->n_inputs, a->n_outputs, a->workspace_bytes);
  if (checked != TMO_OK) return checked;
  const uint16_t input = tmo_header_of(program)->input;
  if (input != TMO_INPUT_ARENA && a->source == NULL) return TMO_ERROR_IO;

  const size_t size = (size_t)a->size + 2 * MARGIN;
  const size_t n_io = (size_t)a->n_inputs + a->n_outputs;
  guard g = {malloc(size), malloc(size), size};
  void **io = malloc((n_io + 2) * sizeof *io); /* the last two entries of `io` are for the state and the slow memory */
  int result = TMO_GUARD_MEMORY;
  if (g.image != NULL && g.before != NULL && io != NULL) {
    memset(g.image, CANARY, size);
    memcpy(g.image + MARGIN, a->bytes, a->size);
    memcpy(g.before, g.image, size);
    for (size_t i = 0; i < n_io + 2; ++i) io[i] = g.image + MARGIN + a->io_offsets[i];
    if (input == TMO_INPUT_EXTERNAL) io[0] = (void *)(uintptr_t)a->source;
    result = run_watched(&g, program, a, io, report);
    memcpy(a->bytes, g.image + MARGIN, a->size);
  }
  free(io);
  free(g.before);
  free(g.image);
  return result;
}
