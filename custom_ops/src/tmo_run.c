/* SPDX-License-Identifier: Apache-2.0 */
/* The executor runs the loops of each group of operators, one iteration after another. This file finds the next iteration, and tmo_iterate.c computes
 * the iteration. */
#include <string.h>

#include "tmo/iterate.h"
#include "tmo/source.h"
#include "tmo/loops.h"
#include "tmo/packing.h"
#include "tmo/tmo.h"
#include "tmo/view.h"
#include "tmo/nest.h"

/* Returns the counter in the workspace that states which row or tile an operator computes next. In a group without tiles, the counter is the index of
 * a row. In a group with tiles, the counter is a tmo_iteration, whose first field is the stripe. */
static TMO_ALWAYS_INLINE uint16_t *counter(const tmo_run_state *run, uint32_t number) {
  const size_t size = tmo_is_tiled(run->group) ? sizeof(tmo_iteration) : sizeof(uint16_t);
  return (uint16_t *)(void *)(run->workspace + run->group->counters + size * number);
}

static void copy_weights(const tmo_run_state *run, const tmo_op *op) {
  if (!tmo_copies_weights(op)) return;
#ifdef TMO_WITHIN_CORES
  if (((const core_run *)(const void *)run)->core != 0) return;
#endif
  const tmo_copied *const copied = tmo_copied_of(run->program, op);
  memcpy(run->workspace + copied->place, tmo_constant(run->program, copied->weights), copied->bytes);
}

static void enter_group(tmo_run_state *run) {
  const tmo_group *const group = run->group;
  const tmo_op *op = &tmo_ops(run->program)[group->first_op];
  for (uint16_t i = 0; i < group->n_ops; ++i, ++op) {
    uint16_t *const next = counter(run, i);
    *next = 0;
    copy_weights(run, op);
    if (!tmo_is_tiled(group)) continue;
    const tmo_nest nest = tmo_nest_of(run->program, group, op);
    tmo_enter_stripe(nest.tensor, nest.stripes, (tmo_iteration *)next);
  }
  run->at = tmo_loops(run->program, group);
  run->depth = 0;
}

static bool is_streamed(const tmo_run_state *run) { return tmo_has_part(TMO_PART_STREAM) && run->stream != NULL; }

static bool expects_rows(const tmo_run_state *run) { return is_streamed(run) && run->rows < run->stream->height; }

/* Reads loop codes that open or close loops. When the function returns, run->at points to a loop code that runs an operator, or to the end of the
 * group. */
TMO_OWN_FRAME static void skip_loop_codes(tmo_run_state *run) {
  for (uint8_t code; (code = *run->at) >= TMO_LOOP_REPEAT;) {
    if (code == TMO_LOOP_REPEAT) {
      tmo_open_loop(run, run->at + tmo_loop_bytes(code), tmo_loop_number(run->at + 1));
      continue;
    }
    if (run->depth == 0) return;
    tmo_loop *const innermost = &run->loops[run->depth - 1];
    if (--innermost->left > 0) {
      run->at = innermost->body;
    } else {
      --run->depth;
      ++run->at;
    }
  }
}

#ifndef TMO_WITHIN_CORES
enum { NOT_RUN = 127 }; /* a value that no tmo_status has */
static TMO_ALWAYS_INLINE tmo_status iterate_all_rows(tmo_run_state *run);
TMO_OWN_FRAME static int32_t iterate_only_tiles(tmo_run_state *run);
#endif

/* Moves run->at to the next loop code that runs an operator, if necessary in a later group. Returns TMO_MORE if the program has a next loop code.
 * Returns TMO_WAIT if the next group must wait until all rows of the streamed input have arrived. If `most` is UINT32_MAX, the function itself runs
 * each group that has only one operator. If a group with one operator ends the inference, the function returns the status of the inference. */
static TMO_ALWAYS_INLINE tmo_status find_iteration(tmo_run_state *run, uint32_t most) {
  (void)most;
  for (;;) {
    if (run->at == NULL) {
      const bool streamed = is_streamed(run);
      if (streamed && run->group != tmo_groups(run->program) && expects_rows(run)) return TMO_WAIT;
#ifndef TMO_WITHIN_CORES
      const bool alone = tmo_has_part(TMO_PART_SEVERAL_ROWS) && !streamed && run->group->n_ops == 1 && most == UINT32_MAX;
      if (alone && (run->group->whole || tmo_is_tiled(run->group))) {
        const int32_t status = run->group->whole ? iterate_all_rows(run) : iterate_only_tiles(run);
        if (status == TMO_MORE) continue;
        if (status != NOT_RUN) return (tmo_status)status;
      }
#endif
      enter_group(run);
    }
    if (*run->at >= TMO_LOOP_REPEAT) skip_loop_codes(run);
    if (*run->at < TMO_LOOP_REPEAT) return TMO_MORE;
    ++run->group;
    run->at = NULL;
  }
}

TMO_OWN_FRAME static bool lacks_rows(const tmo_run_state *run, const tmo_op *op) {
  for (uint8_t k = 0; k < op->n_inputs; ++k) {
    const bool streamed = tmo_is_source(run->program, &tmo_tensors(run->program)[op->input[k]]);
    if (streamed && tmo_last_row(run->program, op, &run->current, k) >= (int32_t)run->rows) return true;
  }
  return false;
}

/* Copies the rows of the last push into the rolling buffer, before the caller overwrites the rows. */
static void keep_rows(const tmo_run_state *run) {
  const tmo_tensor *t = run->stream;
  const uint32_t bytes = tmo_row_bytes(t), first = run->rows - t->pushed;
  for (uint32_t y = t->depth < t->pushed ? run->rows - t->depth : first; y < run->rows; ++y) {
    memcpy(run->workspace + t->offset + tmo_remainder(y, t->depth) * bytes, (const uint8_t *)run->io[0] + (y - first) * bytes, bytes);
  }
}

TMO_OWN_FRAME static bool source_holds_all(const void *program, void *const *io) {
  const tmo_header *h = tmo_header_of(program);
  for (uint32_t i = 0; i < h->n_tensors; ++i) {
    const tmo_tensor *t = &tmo_tensors(program)[i];
    if (t->base == 1 && !tmo_source_holds((const tmo_source *)io[0], t->channels, tmo_row_bytes(t), t->height)) return false;
  }
  return true;
}

static TMO_ALWAYS_INLINE bool sources_hold(const void *program, void *const *io) {
  return tmo_input_of(program) != TMO_INPUT_EXTERNAL || source_holds_all(program, io);
}

/* After a reset, fills all rolling buffers of the state. At the end of an inference, marks the rows that it wrote as the newest rows of each
 * rolling buffer. Returns TMO_WAIT if the sliding window is not full yet, and TMO_ERROR_STATE if the state belongs to another program. */
TMO_OWN_FRAME static tmo_status advance_state(const tmo_run_state *run, bool ended) {
  uint8_t *const state = (uint8_t *)run->io[tmo_state_base(run->program) - 1];
  uint16_t *oldest = (uint16_t *)(void *)state;
  tmo_status status = TMO_OK;
  for (const tmo_rolling_buffer *rolling_buffer = tmo_rolling_buffers(run->program); rolling_buffer->depth > 0; ++rolling_buffer, ++oldest) {
    if (*oldest == 0) {
      memset(state + rolling_buffer->offset, rolling_buffer->fill, rolling_buffer->depth * rolling_buffer->row);
      *oldest = rolling_buffer->key;
    }
    const uint32_t slot = (uint32_t)*oldest - rolling_buffer->key;
    if (slot >= rolling_buffer->depth) return TMO_ERROR_STATE;
    if (!ended) continue;
    if (rolling_buffer->window != 0) {
      if (slot + 1 == rolling_buffer->depth) continue;
      status = TMO_WAIT;
    }
    *oldest = (uint16_t)(rolling_buffer->key + (slot + rolling_buffer->advance) % rolling_buffer->depth);
  }
  return status;
}

static TMO_ALWAYS_INLINE tmo_status advance_rolling_buffers(const tmo_run_state *run, bool ended) {
  return tmo_has_part(TMO_PART_STATE) && tmo_header_of(run->program)->state > 0 ? advance_state(run, ended) : TMO_OK;
}

TMO_OWN_FRAME static tmo_status exchange_row(const tmo_run_state *run, const tmo_op *op) {
  tmo_messenger *const link = (tmo_messenger *)run->io[tmo_state_base(run->program) - 1];
  const tmo_tensor *t = &tmo_tensors(run->program)[op->kind == TMO_OP_SEND ? op->input[0] : op->output];
  const tmo_row_pixels pixels = tmo_row_pixels_of(run->program, t, t->channels, run->current.stripe, run->current.row);
  int8_t *const row = (int8_t *)(uintptr_t)(tmo_base_of(run, t) + pixels.offset + tmo_remainder(pixels.first, pixels.depth) * t->channels);
  const tmo_message *const what = (const tmo_message *)tmo_constant(run->program, op->message);
  return link->exchange(link, what, op->kind == TMO_OP_SEND, run->current.row, row, tmo_row_bytes(t));
}

void tmo_begin(tmo_run_state *run, const void *program, void *const *io, void *workspace) {
  run->program = (const uint8_t *)program;
  run->io = io;
  run->workspace = (uint8_t *)workspace;
  run->iterations = sources_hold(program, io) ? tmo_header_of(program)->iterations : 0;
  if (advance_rolling_buffers(run, false) != TMO_OK) run->iterations = 0;
  run->group = tmo_groups(program);
  run->at = NULL;
  run->stream = NULL;
  run->rows = 0;
  if (tmo_input_of(program) != TMO_INPUT_STREAM) return;
  run->stream = tmo_tensors(program);
  while (run->stream->base != 1) ++run->stream; /* tmo_check() has ensured that the program has a streamed input */
  run->rows = run->stream->pushed;
}

/* Returns the status of a step if no iteration remains. If no operator reads the last rows of a streamed input, the caller still has to push these
 * rows. */
static tmo_status without_iterations(const tmo_run_state *run) {
  if (is_streamed(run)) return expects_rows(run) ? TMO_WAIT : TMO_OK;
  if (!sources_hold(run->program, run->io)) return TMO_ERROR_SOURCE;
  return tmo_has_part(TMO_PART_STATE) && tmo_header_of(run->program)->state > 0 ? TMO_ERROR_STATE : TMO_ERROR_ITERATIONS;
}

static TMO_ALWAYS_INLINE tmo_status after_iteration(const tmo_run_state *run) {
  if (run->iterations > 0) return TMO_MORE;
  return expects_rows(run) ? TMO_WAIT : advance_rolling_buffers(run, true);
}

/* Sets run->current to the operator's next iteration. The argument `skipped` is the number of stripes that the operator skips first. Operators of a
 * damaged program may overwrite counters, so the function returns false if the operator's counter is invalid. */
static TMO_ALWAYS_INLINE bool take_iteration(tmo_run_state *run, const tmo_nest *nest, const uint16_t *next, uint16_t skipped, bool is_tiled) {
  if (is_tiled) {
    run->current = *(const tmo_iteration *)(const void *)next;
    if (skipped > 0) {
      run->current.stripe = (uint16_t)(run->current.stripe + skipped);
      if (run->current.stripe < nest->stripes) tmo_enter_stripe(nest->tensor, nest->stripes, &run->current);
    }
    return tmo_iteration_fits(nest, &run->current);
  }
  const uint32_t row = *next;
  run->current.row = run->current.stripe = (uint16_t)row;
  return row < nest->stripes;
}

static TMO_ALWAYS_INLINE void count_iteration(const tmo_run_state *run, const tmo_nest *nest, uint16_t *next, uint16_t skipped, bool is_tiled) {
  if (is_tiled) {
    tmo_iteration *const tile = (tmo_iteration *)(void *)next;
    if (skipped > 0) *tile = run->current;
    tmo_next_iteration(nest, tile);
  } else {
    ++*next;
  }
}

typedef struct {
  const uint8_t *after;
  uint16_t op;
  uint16_t skipped; /* number of stripes to skip before the iteration */
} iteration_code;

static TMO_ALWAYS_INLINE iteration_code read_iteration(const uint8_t *at) {
  iteration_code code = {at + 1, *at, 0};
  if (*at >= TMO_LOOP_NEAR) {
    code.op = tmo_loop_number(at + 1);
    code.after = at + 3;
    if (*at == TMO_LOOP_SKIP) {
      code.skipped = tmo_loop_number(at + 3);
      code.after = at + 5;
    }
  }
  return code;
}

#ifndef TMO_WITHIN_CORES /* programs for two cores have no tiles, and each core computes its part of every iteration */
/* Returns the number of consecutive iterations, at most `most`, that run the operator of the loop code at run->at. The operator must be alone in
 * its loop, or the next loop code must be the same. */
static TMO_ALWAYS_INLINE uint32_t repetitions(const tmo_run_state *run, uint32_t most) {
  uint32_t n = 1;
  if (run->at[1] != *run->at) {
    const uint32_t left = run->loops[run->depth - 1].left;
    return left < most ? left : most;
  }
  while (n < most && run->at[n] == *run->at) ++n;
  return n;
}

static TMO_ALWAYS_INLINE void skip_to_last(tmo_run_state *run, uint32_t n) {
  if (run->at[1] != *run->at) {
    run->loops[run->depth - 1].left -= n - 1;
  } else {
    run->at += n - 1;
  }
}

/* Runs up to `most` iterations of a tiled operator that is alone in its loop. The iterations compute adjacent tiles of a row. Returns the number of
 * completed iterations, or 0 if the caller must run the loop in another way. Returns UINT32_MAX after the error TMO_ERROR_INDEX. */
TMO_OWN_FRAME static uint32_t iterate_along_row(tmo_run_state *run, const tmo_op *op, tmo_iteration *next, uint32_t most) {
  const tmo_nest nest = tmo_nest_of(run->program, run->group, op);
  const tmo_tensor *const t = nest.tensor;
  if (t->rows != 1 || t->width <= op->tile || !tmo_iterates_along_row(run, op) || !take_iteration(run, &nest, (uint16_t *)(void *)next, 0, true)) return 0;
  if (tmo_stripe_end(t, run->current.stripe) - tmo_stripe_first(t, run->current.stripe) != 1) return 0;
  const uint32_t column = tmo_first_column(op, &run->current), in_row = tmo_quotient(t->width - column + op->tile - 1, op->tile);
  const uint32_t n = repetitions(run, in_row < most ? in_row : most), end = column + n * op->tile;
  next->tile = (uint16_t)(next->tile + n - 1);
  tmo_next_iteration(&nest, next);
  const tmo_status status = tmo_iterate_along_row(run, op, end < t->width ? end : t->width);
  if (tmo_has_kind(TMO_OP_GATHER) && status != TMO_OK) return UINT32_MAX;
  skip_to_last(run, n);
  return n;
}

static TMO_ALWAYS_INLINE bool is_single_pixel(const tmo_op *op, const tmo_tensor *out) {
  return TMO_FAST_PIXELS && out->width == 1 && (tmo_is_kind(op, TMO_OP_CONV) || tmo_is_kind(op, TMO_OP_DEPTHWISE));
}

static TMO_ALWAYS_INLINE void iterate_single_pixel(const tmo_run_state *run, const tmo_op *op) {
#if TMO_RUNS_PACKED
  if (tmo_has_part(TMO_PART_PIXELS)) {
    (void)tmo_iterate_pixel(run, op);
    return;
  }
#endif
  (void)tmo_iterate_any(run, op);
}

/* Runs up to `most` iterations of an operator whose iterations compute rows. Returns the number of completed iterations, or 0 if tmo_iterate_pixel()
 * is faster. Returns UINT32_MAX after the error TMO_ERROR_INDEX. */
TMO_OWN_FRAME static uint32_t iterate_rows(tmo_run_state *run, const tmo_op *op, uint16_t *next, uint32_t most) {
  const tmo_tensor *const t = tmo_iterated(run->program, op);
  const uint32_t n = repetitions(run, most), end = *next + n;
  if (end > t->height || is_single_pixel(op, t)) return 0;
  run->current.row = run->current.stripe = *next;
  *next = (uint16_t)end;
  skip_to_last(run, n);
  const tmo_status status = tmo_iterate_rows(run, op, end);
  return tmo_has_kind(TMO_OP_GATHER) && status != TMO_OK ? UINT32_MAX : n;
}

/* Computes all rows of a group's only operator, in `iterations` iterations. The operator iterates through the rows of the tensor `t`. Returns
 * TMO_MORE or the status of the inference. */
static TMO_ALWAYS_INLINE tmo_status iterate_whole_group(tmo_run_state *run, const tmo_op *op, const tmo_tensor *t, uint32_t iterations) {
  tmo_status status = TMO_OK;
  run->current.row = run->current.stripe = run->current.channel_group = run->current.tile = 0;
  run->iterations -= iterations;
  ++run->group;
  if (t->width == 1 && t->height > 1 && tmo_is_in(TMO_BUILT(TMO_WEIGHTED_KINDS), op->kind) && tmo_iterate_column(run, op)) return after_iteration(run);
#if TMO_FAST_PIXELS && TMO_CORE_DSP
  const bool point = tmo_is_kind(op, TMO_OP_CONV_S16) && t->width == 1 && t->height == 1;
  if (point && tmo_iterate_point_s16(run, op)) return after_iteration(run);
#endif
  if (is_single_pixel(op, t)) {
    for (; run->current.row < t->height; ++run->current.row) iterate_single_pixel(run, op);
  } else {
    status = tmo_iterate_rows(run, op, t->height);
  }
  return status == TMO_OK ? after_iteration(run) : status;
}

/* Returns whether the loop code of a group runs the first operator n times, and no other operator. The result affects only the speed of the run. */
static bool runs_only_first(const tmo_run_state *run, uint32_t n) {
  const uint8_t *at = tmo_loops(run->program, run->group);
  if (*at == TMO_LOOP_REPEAT) return tmo_loop_number(at + 1) == n && at[3] == 0 && at[4] == TMO_LOOP_END && at[5] == TMO_LOOP_END;
  for (; *at == 0 && n > 0; --n) ++at;
  return n == 0 && *at == TMO_LOOP_END;
}

/* Runs all iterations of a group. tmo_check() has ensured that one call can compute all rows of the group. */
static TMO_ALWAYS_INLINE tmo_status iterate_all_rows(tmo_run_state *run) {
  const tmo_op *const op = &tmo_ops(run->program)[run->group->first_op];
  const tmo_tensor *const t = &tmo_tensors(run->program)[op->output];
  copy_weights(run, op);
  return iterate_whole_group(run, op, t, t->height);
}

/* Runs all iterations of a group with only one operator. Each iteration computes a tile. Returns TMO_MORE or the status of the inference. Returns
 * NOT_RUN without running an iteration if a stripe has several rows, or the operator cannot compute whole rows. */
TMO_OWN_FRAME static int32_t iterate_only_tiles(tmo_run_state *run) {
  const tmo_op *const op = &tmo_ops(run->program)[run->group->first_op];
  if (!tmo_iterates_rows(op) || tmo_is_message(op) || tmo_by_row(op)) return NOT_RUN;
  const tmo_tensor *const t = tmo_iterated(run->program, op);
  const uint32_t tiles = t->height * tmo_quotient(t->width + op->tile - 1u, op->tile);
  if (t->rows != 1 || t->advance != 1 || t->end != 1 || run->group->stripes != t->height) return NOT_RUN;
  if (!runs_only_first(run, tiles)) return NOT_RUN;
  tmo_op own = *op;
  if (!tmo_makes_rows(run, &own)) return NOT_RUN;
  copy_weights(run, op);
  return iterate_whole_group(run, &own, t, tiles);
}

#if TMO_RUNS_DSP
/* Runs up to `most` iterations of a packed operator in a group with tiles. Returns the number of completed iterations, 0 if the kernel cannot compute
 * several pixels at once, or UINT32_MAX if a counter is invalid. */
TMO_OWN_FRAME static uint32_t iterate_several(tmo_run_state *run, const tmo_op *op, tmo_iteration *counter, uint32_t most) {
  const uint32_t at_once = tmo_iterates_at_once(run, op);
  const tmo_nest nest = tmo_nest_of(run->program, run->group, op);
  tmo_iteration iterations[TMO_PACKED_PIXELS], next = *counter;
  uint32_t n = repetitions(run, most);
  if (at_once > 1 && n % at_once == 1) --n; /* tmo_iterate_pixels() computes at least two pixels */
  if (at_once == 1 || n <= 1) return 0;
  skip_to_last(run, n);
  if (!tmo_iteration_fits(&nest, &next)) return UINT32_MAX;
  for (uint32_t begun = 0, p; begun < n; begun += p) {
    for (p = 0; p < at_once && begun + p < n; ++p) {
      if (next.stripe >= nest.stripes) return UINT32_MAX;
      iterations[p] = next;
      tmo_next_iteration(&nest, &next);
    }
    *counter = next;
    tmo_iterate_pixels(run, op, iterations, p);
  }
  return n;
}

/* Runs up to `most` iterations of an operator in a group with tiles, if the iterations compute tiles below each other. Returns the number of completed
 * iterations, or 0 if single iterations must compute the tiles. */
TMO_OWN_FRAME static uint32_t iterate_below(tmo_run_state *run, const tmo_op *op, tmo_iteration *counter, uint32_t most) {
  const tmo_nest nest = tmo_nest_of(run->program, run->group, op);
  if (!take_iteration(run, &nest, (uint16_t *)(void *)counter, 0, true)) return 0;
  const int32_t left = tmo_stripe_end(nest.tensor, run->current.stripe) - run->current.row;
  if (left < 2) return 0;
  uint32_t n = repetitions(run, (uint32_t)left < most ? (uint32_t)left : most);
  if (n > 1) n = tmo_iterate_tiles_below(run, op, n);
  if (n <= 1) return 0;
  counter->row = (uint16_t)(counter->row + n - 1);
  tmo_next_iteration(&nest, counter);
  skip_to_last(run, n);
  return n;
}

/* Computes two adjacent rows of a packed operator, whose loop codes are at run->at and at run->at + 1. Returns 2 (the number of rows), or UINT32_MAX
 * if the counter is invalid. */
static TMO_ALWAYS_INLINE uint32_t iterate_two_rows(tmo_run_state *run, const tmo_op *op, uint16_t *next) {
  const uint32_t row = *next;
  if (row + 2 > tmo_iterated(run->program, op)->height) return UINT32_MAX;
  run->current.row = run->current.stripe = (uint16_t)(row + 1);
  *next = (uint16_t)(row + 2);
  ++run->at;
  tmo_iterate_two_rows(run, op);
  return 2;
}
#endif

/* Runs up to `most` iterations of an operator whose loop code is at run->at. The loop must run no other operator (`alone` is true), or the next
 * loop code must run the same operator. Returns the number of completed iterations, or 0 if single iterations are faster. Returns UINT32_MAX after
 * an error. When the function returns, run->at points to the loop code of the last completed iteration. */
static TMO_ALWAYS_INLINE uint32_t iterate_together(tmo_run_state *run, const tmo_op *op, uint16_t *next, bool alone, uint32_t most) {
  uint32_t n = 0;
  if (tmo_is_tiled(run->group)) {
    tmo_iteration *const tile = (tmo_iteration *)(void *)next;
    if (tmo_by_row(op)) return 0;
    if (alone) n = iterate_along_row(run, op, tile, most);
#if TMO_RUNS_DSP
    if (n == 0 && op->at_once > 1 && op->packing != TMO_PACKING_NONE) n = iterate_several(run, op, tile, most);
    if (n == 0 && tmo_makes_tiles_below(op) && tmo_iterated(run->program, op)->rows > 1) n = iterate_below(run, op, tile, most);
#endif
    return n;
  }
  if (tmo_has_part(TMO_PART_SEVERAL_ROWS) && tmo_iterates_rows(op)) return iterate_rows(run, op, next, most);
#if TMO_RUNS_DSP
  if (!alone && tmo_makes_two_rows(op)) return iterate_two_rows(run, op, next);
#endif
  return n;
}

/* RUNS_EACH_CODE is 1 if iterate_group() can run every operator of this build, and 0 if it runs only loop codes below TMO_LOOP_NEAR. */
#define RUNS_EACH_CODE (!tmo_has_part(TMO_PART_TILES) && !tmo_has_part(TMO_PART_STREAM) && !tmo_has_part(TMO_PART_LINK))

/* Returns the index of the operator in the loop code at run->at, and moves run->at to the last byte of the loop code. */
static TMO_ALWAYS_INLINE uint32_t operator_number(tmo_run_state *run) {
  const uint8_t code = *run->at;
  if (!RUNS_EACH_CODE || code < TMO_LOOP_NEAR) return code;
  const uint32_t number = tmo_loop_number(run->at + 1);
  run->at += code == TMO_LOOP_SKIP ? 4 : 2;
  return number;
}

/* Runs at least one and at most `most` iterations of a group. The program must neither exchange messages nor read a streamed input. */
TMO_OWN_FRAME static tmo_status iterate_group(tmo_run_state *run, uint32_t most) {
  const tmo_group *const group = run->group;
  const uint8_t *const program = run->program;
  const bool is_tiled = tmo_is_tiled(group);
  const tmo_op *const ops = tmo_ops(program) + group->first_op;
  void *const counters = run->workspace + group->counters;
  if (most > run->iterations) most = run->iterations;
  const uint32_t after = run->iterations - most; /* number of iterations that remain after the next `most` iterations */
  do {
    const uint32_t number = operator_number(run);
    const tmo_op *const op = &ops[number];
    const uint8_t code = run->at[1];
    const bool alone = code == TMO_LOOP_END && run->depth > 0 && run->at == run->loops[run->depth - 1].body;
    uint32_t n = 0;
    if (most > 1 && (alone || (code == number && code < TMO_LOOP_NEAR))) {
      n = iterate_together(run, op, counter(run, number), alone, most);
      if (n > most) return tmo_has_kind(TMO_OP_GATHER) && op->kind == TMO_OP_GATHER ? TMO_ERROR_INDEX : TMO_ERROR_ITERATIONS;
    }
    if (n == 0) {
      const tmo_tensor *const t = tmo_iterated(program, op);
      if (is_tiled) {
        const tmo_nest nest = {op, t, tmo_by_row(op) ? t->height : group->stripes};
        uint16_t *const next = (uint16_t *)(void *)((tmo_iteration *)counters + number);
        if (!take_iteration(run, &nest, next, 0, true)) return TMO_ERROR_ITERATIONS;
        count_iteration(run, &nest, next, 0, true);
      } else {
        uint16_t *const next = (uint16_t *)counters + number;
        const uint16_t row = *next;
        if (row >= t->height) return TMO_ERROR_ITERATIONS;
        *next = (uint16_t)(row + 1);
        run->current.row = run->current.stripe = row;
      }
      const tmo_status status = tmo_iterate(run, op, t);
      if (status != TMO_OK) return status;
      n = 1;
    }
    most -= n;
    ++run->at;
    if (most == 0) break;
    if (*run->at >= TMO_LOOP_REPEAT) skip_loop_codes(run);
  } while (*run->at < (RUNS_EACH_CODE ? TMO_LOOP_REPEAT : TMO_LOOP_NEAR));
  run->iterations = after + most;
  return after_iteration(run);
}
#endif

/* Runs at least one and at most `most` iterations, in the order of the loops. To save time, the function may return after fewer than `most`
 * iterations. */
static tmo_status step(tmo_run_state *run, uint32_t most) {
  if (run->iterations == 0) return without_iterations(run);
  const tmo_status found = find_iteration(run, most);
  if (found != TMO_MORE) return found;
  run->current.channel_group = run->current.tile = 0;
#ifdef TMO_WITHIN_CORES
  (void)most;
#else
  const bool quick = RUNS_EACH_CODE || (*run->at < TMO_LOOP_NEAR && !is_streamed(run) && tmo_input_of(run->program) != TMO_INPUT_LINK);
  if (quick) return iterate_group(run, most);
#endif
  const iteration_code code = read_iteration(run->at);
  run->op = (uint16_t)(run->group->first_op + code.op);
  const tmo_op *const op = &tmo_ops(run->program)[run->op];
  const tmo_nest nest = tmo_nest_of(run->program, run->group, op);
  uint16_t *const next = counter(run, code.op);
  const bool is_tiled = tmo_is_tiled(run->group);
  if (!take_iteration(run, &nest, next, code.skipped, is_tiled)) return TMO_ERROR_ITERATIONS;
  if (is_streamed(run) && lacks_rows(run, op)) {
    keep_rows(run);
    return TMO_WAIT;
  }
  tmo_status status = TMO_OK;
  if (tmo_is_message(op)) status = exchange_row(run, op);
  if (status != TMO_OK) return status;
  count_iteration(run, &nest, next, code.skipped, is_tiled);
  if (!tmo_is_message(op)) status = tmo_iterate(run, op, nest.tensor);
  if (status != TMO_OK) return status;
  run->at = code.after;
  --run->iterations;
  return after_iteration(run);
}

tmo_status tmo_step(tmo_run_state *run) {
  if (run->iterations > 0 && find_iteration(run, 1) == TMO_MORE) run->op = (uint16_t)(run->group->first_op + read_iteration(run->at).op);
  return step(run, 1);
}

#ifndef TMO_WITHIN_CORES /* tmo_cores.c includes only the code before this line */
void tmo_more_rows(tmo_run_state *run) { run->rows += run->stream->pushed; }

tmo_status tmo_run(const void *program, void *const *io, void *workspace) {
  tmo_run_state run;
  tmo_status status = TMO_MORE;
  tmo_begin(&run, program, io, workspace);
  while (status == TMO_MORE) status = step(&run, UINT32_MAX);
  return status;
}

/* If the inference has begun, moves `run` to the position `at`. The counters in the workspace state which row or tile each operator computes next,
 * and the loops of the program determine which operator is next. Returns false if at->rows or at->iterations is impossible for the program. */
static bool resume(tmo_run_state *run, const tmo_stream *at) {
  if (at->rows == 0) return true;
  if (is_streamed(run)) {
    if (at->rows >= run->stream->height || at->rows % run->stream->pushed != 0) return false;
    run->rows += at->rows;
  }
  if (at->iterations > run->iterations) return false;
  const uint32_t done = run->iterations - at->iterations;
  run->iterations = at->iterations;
  if (at->iterations > 0) tmo_seek(run, done);
  return true;
}

tmo_status tmo_push(const void *program, void *const *io, void *workspace, tmo_stream *stream) {
  tmo_run_state run;
  tmo_status status = TMO_MORE;
  tmo_begin(&run, program, io, workspace);
  if (!resume(&run, stream)) return TMO_ERROR_ITERATIONS;
  while (status == TMO_MORE) status = step(&run, UINT32_MAX);
  stream->rows = status != TMO_WAIT ? 0 : run.stream != NULL ? run.rows : 1u;
  stream->iterations = run.iterations;
  return status;
}

tmo_status tmo_run_paused(const void *program, void *const *io, void *workspace, const uint32_t *pauses, uint32_t n_pauses, tmo_stream *at) {
  tmo_run_state run;
  tmo_status status = TMO_MORE;
  tmo_begin(&run, program, io, workspace);
  const uint32_t all = run.iterations;
  if (!resume(&run, at)) return TMO_ERROR_ITERATIONS;
  for (; n_pauses > 0 && *pauses <= all - run.iterations; --n_pauses) ++pauses;
  const uint32_t left = n_pauses > 0 ? all - *pauses : 0; /* number of iterations after the next pause */
  while (status == TMO_MORE && run.iterations > left) status = step(&run, run.iterations - left);
  const bool paused = status == TMO_MORE;
  at->rows = paused ? 1u : 0;
  at->iterations = paused ? run.iterations : 0;
  return paused ? TMO_WAIT : status;
}
#endif
