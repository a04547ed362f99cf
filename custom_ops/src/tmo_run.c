/* SPDX-License-Identifier: Apache-2.0 */
/* The executor: which operator fires next. Knows the order of units, nothing of what a firing reads, writes or computes. */
#include <string.h>

#include "tmo/fire.h"
#include "tmo/frame.h"
#include "tmo/tmo.h"
#include "tmo/view.h"
#include "tmo/walk.h"

/* The counter of an operator in its block: its next strip. A row block counts strips alone: rows; others have a whole tmo_unit, of which
 * the strip is the first. */
static uint16_t *counter(const tmo_run_state *run, const tmo_block *block, uint16_t op) {
  const size_t size = tmo_is_tiled(block) ? sizeof(tmo_unit) : sizeof(uint16_t);
  return (uint16_t *)(void *)(run->workspace + block->counters + size * (uint16_t)(op - block->first_op));
}

static bool has_units_left(const tmo_run_state *run, const tmo_block *block, uint16_t op) {
  const uint16_t strips = tmo_is_tiled(block) ? block->strips : tmo_walked(run->program, &tmo_ops(run->program)[op])->height;
  return *counter(run, block, op) < strips;
}

static void enter_block(tmo_run_state *run, const tmo_block *block) {
  const uint16_t end = (uint16_t)(block->first_op + block->n_ops);
  for (uint16_t op = block->first_op; op < end; ++op) {
    uint16_t *const next = counter(run, block, op);
    *next = 0;
    if (!tmo_is_tiled(block)) continue;
    tmo_enter_strip(tmo_walked(run->program, &tmo_ops(run->program)[op]), block->strips, (tmo_unit *)next);
  }
  run->sink = (uint16_t)(end - 1);
}

static bool is_streamed(const tmo_run_state *run) { return tmo_has_part(TMO_PART_STREAM) && run->stream != NULL; }

/* Rows of the streamed input that are still to come. */
static bool expects_rows(const tmo_run_state *run) { return is_streamed(run) && run->rows < run->stream->height; }

/* Whether a sink of the block wants units: run->sink. Sinks come last operator first. A block that nobody has entered wants some. */
static bool wants_units(tmo_run_state *run) {
  if (run->sink == TMO_NONE) return true;
  for (;; --run->sink) {
    const bool is_sink = (tmo_ops(run->program)[run->sink].flags & TMO_FLAG_SINK) != 0;
    if (is_sink && has_units_left(run, run->block, run->sink)) return true;
    if (run->sink == run->block->first_op) return false;
  }
}

/* Leaves a block that is complete: nobody waits, and its counters are not read again. False: there is no other block. */
static bool leave_block(tmo_run_state *run) {
  const tmo_header *h = tmo_header_of(run->program);
  if (run->block == tmo_blocks(h) + h->n_blocks - 1) return false;
  ++run->block;
  run->sink = TMO_NONE;
  run->n_waiting = 0;
  return true;
}

/* Goes to the next sink, of this block or a later one, that wants units. TMO_MORE: found; TMO_OK: there is none; TMO_WAIT: none in the first
 * block, and the others must not start before all rows of the input have come. */
static tmo_status find_sink(tmo_run_state *run) {
  do {
    if (run->block != tmo_blocks(run->program) && expects_rows(run)) break;
    if (run->sink == TMO_NONE) enter_block(run, run->block);
    if (wants_units(run)) return TMO_MORE;
  } while (leave_block(run));
  return expects_rows(run) ? TMO_WAIT : TMO_OK;
}

/* Whether an operator that lacks nothing else reads rows of the streamed input that have not come. */
TMO_OWN_FRAME static bool lacks_rows(const tmo_run_state *run, const tmo_op *op) {
  for (uint8_t k = 0; k < op->n_inputs; ++k) {
    const bool streamed = tmo_is_frame(run->program, &tmo_tensors(run->program)[op->input[k]]);
    if (streamed && tmo_last_row(run->program, op, &run->unit, k) >= (int32_t)run->rows) return true;
  }
  return false;
}

/* The newest rows get a place in the ring, before others take theirs. */
static void keep_rows(const tmo_run_state *run) {
  const tmo_tensor *t = run->stream;
  const uint32_t bytes = tmo_row_bytes(t), first = run->rows - t->rows;
  for (uint32_t y = t->depth < t->rows ? run->rows - t->depth : first; y < run->rows; ++y) {
    memcpy(run->workspace + t->offset + tmo_remainder(y, t->depth) * bytes, (const uint8_t *)run->io[0] + (y - first) * bytes, bytes);
  }
}

/* The operators that wait for one another: each for the next, all for the last. Of a long chain only its end is kept; the start is found
 * again, from the sink, when it is its turn. */
static void push_waiting(tmo_run_state *run, uint16_t op) {
  run->top = (uint8_t)((run->top + 1) % TMO_WAITING);
  run->waiting[run->top] = op;
  run->served &= (uint16_t) ~(1u << run->top);
  if (run->n_waiting < TMO_WAITING) ++run->n_waiting;
}

static void pop_waiting(tmo_run_state *run) {
  run->top = (uint8_t)((run->top + TMO_WAITING - 1) % TMO_WAITING);
  --run->n_waiting;
}

/* Whether an external frame has all that the program reads. */
static bool frames_hold(const void *program, void *const *io) {
  const tmo_header *h = tmo_header_of(program);
  for (uint32_t i = 0; tmo_input_of(program) == TMO_INPUT_EXTERNAL && i < h->n_tensors; ++i) {
    const tmo_tensor *t = &tmo_tensors(program)[i];
    if (t->base == 1 && !tmo_frame_holds((const tmo_frame *)io[0], t->channels, tmo_row_bytes(t), t->height)) return false;
  }
  return true;
}

/* After a reset, each row of a ring is what it is filled with. When a run has ended, the rows that it kept are the newest ones from then on;
 * TMO_WAIT: they do not fill the window yet. TMO_ERROR_STATE: another program left the state. */
static tmo_status turn_rings(const tmo_run_state *run, bool ended) {
  if (!tmo_has_part(TMO_PART_STATE) || tmo_header_of(run->program)->state == 0) return TMO_OK;
  uint8_t *const state = (uint8_t *)run->io[tmo_state_base(run->program) - 1];
  uint16_t *oldest = (uint16_t *)(void *)state;
  tmo_status status = TMO_OK;
  for (const tmo_ring *ring = tmo_rings(run->program); ring->depth > 0; ++ring, ++oldest) {
    if (*oldest == 0) {
      memset(state + ring->offset, ring->fill, ring->depth * ring->row);
      *oldest = ring->key;
    }
    const uint32_t slot = (uint32_t)*oldest - ring->key;
    if (slot >= ring->depth) return TMO_ERROR_STATE;
    if (!ended) continue;
    if (ring->window != 0) {
      if (slot + 1 == ring->depth) continue;
      status = TMO_WAIT;
    }
    *oldest = (uint16_t)(ring->key + (slot + ring->advance) % ring->depth);
  }
  return status;
}

/* Row run->unit of a tensor goes over the link. */
TMO_OWN_FRAME static tmo_status cross(const tmo_run_state *run, const tmo_op *op) {
  tmo_crosser *const link = (tmo_crosser *)run->io[tmo_state_base(run->program) - 1];
  const tmo_tensor *t = &tmo_tensors(run->program)[op->kind == TMO_OP_SEND ? op->input[0] : op->output];
  int8_t *const row = (int8_t *)(uintptr_t)(tmo_base_of(run, t) + tmo_row_offset(t, run->unit.row));
  const tmo_crossing *const what = (const tmo_crossing *)tmo_constant(run->program, op->weights);
  return link->cross(link, what, op->kind == TMO_OP_SEND, run->unit.row, row, tmo_row_bytes(t));
}

void tmo_begin(tmo_run_state *run, const void *program, void *const *io, void *workspace) {
  run->program = (const uint8_t *)program;
  run->io = io;
  run->workspace = (uint8_t *)workspace;
  run->firings = frames_hold(program, io) ? tmo_header_of(program)->firings : 0;
  run->order = tmo_orders(program);
  if (turn_rings(run, false) != TMO_OK) run->firings = 0;
  run->block = tmo_blocks(program);
  run->sink = TMO_NONE;
  run->stream = NULL;
  run->rows = 0;
  run->served = 0;
  run->top = run->n_waiting = 0;
  if (tmo_input_of(program) != TMO_INPUT_STREAM) return;
  run->stream = tmo_tensors(program);
  while (run->stream->base != 1) ++run->stream; /* tmo_check(): there is one */
  run->rows = run->stream->rows;
}


/* Where no firing is left, or there was none. Of a streamed input, rows that nobody reads may be. */
static tmo_status without_firings(const tmo_run_state *run) {
  if (is_streamed(run)) return expects_rows(run) ? TMO_WAIT : TMO_OK;
  if (!frames_hold(run->program, run->io)) return TMO_ERROR_FRAME;
  return tmo_has_part(TMO_PART_STATE) && tmo_header_of(run->program)->state > 0 ? TMO_ERROR_STATE : TMO_ERROR_FIRINGS;
}

/* An operator, and where its next unit is: in a row block, a row. */
typedef struct {
  tmo_walk walk;
  uint16_t *next;
} stage;

static TMO_ALWAYS_INLINE stage stage_of(const tmo_run_state *run, const tmo_block *block, uint16_t op) {
  const stage s = {tmo_walk_of(run->program, block, &tmo_ops(run->program)[op]), counter(run, block, op)};
  return s;
}

/* How far the producer of operand k is ahead of run->unit of the reader: above 0, all that is read exists. If it is behind, and makes rows
 * again in every strip, it goes on to the strip that it is wanted in. */
static int32_t producer_ahead(const tmo_run_state *run, const tmo_block *block, const stage *reader, uint8_t k, const stage *producer) {
  if (!tmo_is_tiled(block)) return tmo_rows_ahead(run->program, reader->walk.op, &run->unit, k, &producer->walk, *producer->next);
  tmo_unit *const next = (tmo_unit *)(void *)producer->next;
  const int32_t ahead = tmo_units_ahead(&reader->walk, &run->unit, &producer->walk, next);
  if (ahead < 0) tmo_unit_skip(&producer->walk, next, run->unit.strip);
  return ahead;
}

/* Goes from the operator on top, which waits from now on, to the first producer that has not made all that it reads. False: there is none. */
static bool wait_for_producer(tmo_run_state *run, const tmo_block *block, const stage *s) {
  const tmo_op *op = s->walk.op;
  for (uint8_t k = 0; k < op->n_inputs; ++k) {
    if (op->producer[k] == TMO_NONE) continue;
    const stage producer = stage_of(run, block, op->producer[k]);
    const int32_t ahead = producer_ahead(run, block, s, k, &producer);
    if (ahead > 0) continue;
    if (ahead == 0 && k + 1 == op->n_inputs) run->served |= (uint16_t)(1u << run->top);
    push_waiting(run, op->producer[k]);
    return true;
  }
  return false;
}

/* Counters lie in the workspace, where a damaged program can overwrite them: a unit is looked at before it is believed. */
static bool take_unit(tmo_run_state *run, const tmo_block *block, const stage *s) {
  if (tmo_is_tiled(block)) {
    run->unit = *(const tmo_unit *)(const void *)s->next;
    return tmo_unit_fits(&s->walk, &run->unit);
  }
  const uint16_t row = *s->next;
  const tmo_unit unit = {row, 0, 0, row};
  run->unit = unit;
  return row < s->walk.strips;
}

static TMO_ALWAYS_INLINE void count_unit(const tmo_block *block, const stage *s) {
  if (tmo_is_tiled(block)) {
    tmo_unit_next(&s->walk, (tmo_unit *)(void *)s->next);
  } else {
    ++*s->next;
  }
}

/* Whether the program says who fires next: run->op. A block's first firing is searched for, always, and enters it; where a damaged program
 * says otherwise, counters are any. */
static bool is_in_order(tmo_run_state *run) {
  const tmo_order *order = run->order;
  if (order == NULL) return false;
  while (order->first - run->firings >= order->count) { /* modulo 2^32: it is over, or has not begun */
    if (order->first < run->firings) return false;
    run->order = ++order;
    run->n_waiting = 0; /* they have been served */
  }
  const tmo_block *const block = run->block;
  const uint8_t op = run->program[order->ops + (order->first - run->firings) % order->period];
  if (op >= block->n_ops) return false;
  run->op = (uint16_t)(block->first_op + op);
  return true;
}

/* Goes by the demands to the operator that waits for nobody: run->op. TMO_MORE: there is one. */
TMO_OWN_FRAME static tmo_status search(tmo_run_state *run) {
  if (run->n_waiting == 0) {
    const tmo_status found = find_sink(run);
    if (found != TMO_MORE) return found == TMO_OK ? TMO_ERROR_FIRINGS : found;
    push_waiting(run, run->sink);
  }
  const tmo_block *const block = run->block;
  for (;;) {
    run->op = run->waiting[run->top];
    const stage s = stage_of(run, block, run->op);
    if (!take_unit(run, block, &s)) return TMO_ERROR_FIRINGS;
    if ((run->served >> run->top & 1) != 0 || !wait_for_producer(run, block, &s)) break;
  }
  pop_waiting(run);
  return TMO_MORE;
}

/* Where no firing is left to do. */
static tmo_status at_end(tmo_run_state *run) {
  const tmo_status left = find_sink(run);
  if (left == TMO_OK) return turn_rings(run, true);
  return left == TMO_MORE ? TMO_ERROR_FIRINGS : left;
}

/* Fires the unit that is wanted, of the operator that waits for nobody. Where the order is known nobody is asked, and who waits for whom is
 * forgotten: it is found again. */
tmo_status tmo_step(tmo_run_state *run) {
  if (run->firings == 0) return without_firings(run);
  if (!is_in_order(run)) {
    const tmo_status found = search(run);
    if (found != TMO_MORE) return found;
  }
  const tmo_block *const block = run->block;
  const stage s = stage_of(run, block, run->op);
  if (!take_unit(run, block, &s)) return TMO_ERROR_FIRINGS;
  if (is_streamed(run) && lacks_rows(run, s.walk.op)) {
    keep_rows(run);
    run->n_waiting = 0; /* it is found again */
    return TMO_WAIT;
  }
  tmo_status status;
  if (tmo_is_crossing(s.walk.op)) {
    status = cross(run, s.walk.op);
    if (status == TMO_OK) count_unit(block, &s);
    if (status == TMO_WAIT) run->n_waiting = 0; /* the same */
  } else {
    count_unit(block, &s);
    status = tmo_fire(run, s.walk.op);
  }
  if (status != TMO_OK) return status;
  return --run->firings > 0 ? TMO_MORE : at_end(run);
}

#ifndef TMO_WITHIN_CORES /* what tmo_cores.c, which this file is part of, has in another form */
void tmo_more_rows(tmo_run_state *run) { run->rows += run->stream->rows; }

tmo_status tmo_run(const void *program, void *const *io, void *workspace) {
  tmo_run_state run;
  tmo_status status = TMO_MORE;
  tmo_begin(&run, program, io, workspace);
  while (status == TMO_MORE) status = tmo_step(&run);
  return status;
}

/* Goes on in the block where it waited: what has been fired there, the counters say. False: the two numbers are damaged. */
static bool resume(tmo_run_state *run, const tmo_stream *stream) {
  if (stream->firings > run->firings) return false;
  if (run->stream == NULL) {
    if (stream->rows > tmo_header_of(run->program)->n_blocks) return false;
    run->block += stream->rows - 1;
  } else if (stream->rows >= run->stream->height || stream->rows % run->stream->rows != 0) {
    return false;
  } else {
    run->rows += stream->rows;
  }
  run->sink = (uint16_t)(run->block->first_op + run->block->n_ops - 1);
  run->firings = stream->firings;
  return true;
}

/* Everything but two numbers is found again: the first sink that wants units, and who waits for whom. */
tmo_status tmo_push(const void *program, void *const *io, void *workspace, tmo_stream *stream) {
  tmo_run_state run;
  tmo_status status = TMO_MORE;
  tmo_begin(&run, program, io, workspace);
  if (stream->rows > 0 && !resume(&run, stream)) return TMO_ERROR_FIRINGS;
  while (status == TMO_MORE) status = tmo_step(&run);
  stream->rows = status != TMO_WAIT ? 0 : run.stream != NULL ? run.rows : 1u + (uint32_t)(run.block - tmo_blocks(program));
  stream->firings = run.firings;
  return status;
}

/* As in tmo_push(), everything but two numbers is found again. */
tmo_status tmo_run_paused(const void *program, void *const *io, void *workspace, const uint32_t *pauses, uint32_t n_pauses, tmo_stream *at) {
  tmo_run_state run;
  tmo_status status = TMO_MORE;
  tmo_begin(&run, program, io, workspace);
  const uint32_t all = run.firings;
  if (at->rows > 0) {
    if (at->rows > tmo_header_of(program)->n_blocks || at->firings > all) return TMO_ERROR_FIRINGS;
    run.block += at->rows - 1;
    run.sink = (uint16_t)(run.block->first_op + run.block->n_ops - 1);
    run.firings = at->firings;
  }
  for (; n_pauses > 0 && *pauses <= all - run.firings; --n_pauses) ++pauses;
  const uint32_t left = n_pauses > 0 ? all - *pauses : 0; /* firings, at the pause */
  while (status == TMO_MORE && run.firings > left) status = tmo_step(&run);
  const bool paused = status == TMO_MORE;
  at->rows = paused ? 1 + (uint32_t)(run.block - tmo_blocks(program)) : 0;
  at->firings = paused ? run.firings : 0;
  return paused ? TMO_WAIT : status;
}
#endif
