/* The executor: which operator fires next, and the call of its kernel. Knows the order of units, nothing of numbers. */
#include <string.h>

#include "tmo/kernels.h"
#include "tmo/tmo.h"
#include "tmo/walk.h"

/* The counter of an operator in its block. A row block counts strips alone: rows. */
static void *counter(const tmo_run_state *run, const tmo_block *block, uint16_t op) {
  const size_t size = block->strips > 0 ? sizeof(tmo_unit) : sizeof(uint16_t);
  return run->workspace + block->counters + size * (uint16_t)(op - block->first_op);
}

static void load_next(const tmo_run_state *run, const tmo_block *block, uint16_t op, tmo_unit *unit) {
  const void *stored = counter(run, block, op);
  if (block->strips > 0) {
    *unit = *(const tmo_unit *)stored;
  } else {
    unit->strip = unit->row = *(const uint16_t *)stored;
    unit->group = unit->tile = 0;
  }
}

static void store_next(const tmo_run_state *run, const tmo_block *block, uint16_t op, const tmo_unit *unit) {
  void *stored = counter(run, block, op);
  if (block->strips > 0) {
    *(tmo_unit *)stored = *unit;
  } else {
    *(uint16_t *)stored = unit->strip;
  }
}

static int8_t *base_of(const tmo_run_state *run, const tmo_tensor *t) {
  return (int8_t *)(t->base == 0 ? run->workspace : (uint8_t *)run->io[t->base - 1]);
}

static void call_row_kernel(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  switch (k->op->kind) {
    case TMO_OP_CONV: tmo_conv_row_s8(k, window, out); break;
    case TMO_OP_DEPTHWISE: tmo_depthwise_row_s8(k, window, out); break;
    case TMO_OP_ADD: tmo_add_s8(k, window, out); break;
    case TMO_OP_SOFTMAX: tmo_softmax_s8(k, window, out); break;
    case TMO_OP_REQUANT: tmo_requant_s8(k, window, out); break;
    default: tmo_pool_row_s8(k, window, out); break;
  }
}

static void call_pixel_kernel(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  switch (k->op->kind) {
    case TMO_OP_CONV: tmo_conv_pixel_s8(k, window, out); break;
    case TMO_OP_DEPTHWISE: tmo_depthwise_pixel_s8(k, window, out); break;
    case TMO_OP_AVERAGE_POOL:
    case TMO_OP_MAX_POOL:
    case TMO_OP_MEAN: tmo_pool_pixel_s8(k, window, out); break;
    default: call_row_kernel(k, window, out); break;
  }
}

/* A firing: what its kernel calls have in common. */
typedef struct {
  const tmo_run_state *run; /* run->unit is being made */
  const tmo_walk *walk;
  const tmo_tensor *in; /* operand 0 */
  const tmo_tensor *out;
  uint32_t in_pixel; /* bytes */
  uint32_t out_pixel;
  tmo_kernel kernel; /* its sums move from pixel to pixel */
} firing;

/* Scalings, bias and weights of the channels that are read and written. */
static void point_at_constants(firing *f, uint32_t first_in, uint32_t first_out) {
  const tmo_op *op = f->kernel.op;
  const void *program = f->run->program;
  const uint32_t first_scale = op->flags & TMO_FLAG_PER_CHANNEL ? first_out : 0;
  tmo_kernel *k = &f->kernel;
  k->multipliers = (const int32_t *)tmo_constant(program, op->multipliers) + first_scale;
  k->shifts = (const int8_t *)tmo_constant(program, op->shifts) + first_scale;
  k->bias = op->bias ? (const int32_t *)tmo_constant(program, op->bias) + first_out : NULL;
  k->weights = (const int8_t *)tmo_constant(program, op->weights);
  if (op->kind == TMO_OP_DEPTHWISE) {
    k->tap_step = f->out->channels;
    k->weights += first_out;
  } else {
    k->tap_step = f->in->channels;
    k->weights += first_out * op->kernel_h * op->kernel_w * k->tap_step + first_in;
  }
}

/* The sums of the output row, or of all the rows that a strip adds up group by group. */
static void point_at_sums(firing *f) {
  const tmo_op *op = f->kernel.op;
  const tmo_unit *unit = &f->run->unit;
  tmo_kernel *k = &f->kernel;
  k->sums = (int32_t *)(void *)(f->run->workspace + op->accumulator);
  if (tmo_iterative(op)) {
    k->first = tmo_unit_opens(unit);
    k->last = tmo_unit_closes(f->walk, unit);
  } else if (tmo_sums_groups(op)) {
    k->sums += tmo_group_sum(f->walk, unit);
    k->first = unit->group == 0;
    k->last = unit->group + 1 == f->walk->groups;
  } else {
    k->sums = NULL;
    k->first = k->last = true;
  }
}

/* Pixel (x, y) of operand k, or of the output. */
static int8_t *pixel(const firing *f, const tmo_tensor *t, uint32_t bytes, uint32_t y, uint32_t x) {
  const tmo_line line = tmo_line_of(f->run->program, t, bytes, f->run->unit.strip, (uint16_t)y);
  return base_of(f->run, t) + tmo_pixel_offset(&line, x);
}

/* The output pixel in column x, or the output row of a row block. */
static void fire_window(const firing *f, uint16_t x) {
  const tmo_op *op = f->kernel.op;
  const uint16_t y = f->run->unit.row;
  const bool by_row = op->tile == 0, iterative = tmo_iterative(op);
  tmo_taps rows = {y, 1, y}, columns = {0, 1, 0};
  if (!iterative) rows = tmo_clip((int32_t)((uint32_t)y * op->stride_h) - op->pad_top, op->kernel_h, op->dilation_h, f->in->height);
  if (tmo_writes_sums(op, f->run->unit.group)) rows.count = 0;
  if (!by_row) columns = tmo_columns(&f->kernel, x);

  const int8_t *pixels[TMO_MAX_TAPS];
  const int8_t *base = base_of(f->run, f->in);
  uint32_t n = 0;
  for (uint32_t r = 0; r < rows.count; ++r) {
    const uint16_t row = (uint16_t)(rows.start + r * op->dilation_h);
    const tmo_line line = tmo_line_of(f->run->program, f->in, f->in_pixel, f->run->unit.strip, row);
    for (uint32_t c = 0; c < columns.count; ++c) pixels[n++] = base + tmo_pixel_offset(&line, columns.start + c * op->dilation_w);
  }
  if (op->n_inputs > 1) pixels[1] = pixel(f, &tmo_tensors(f->run->program)[op->input[1]], f->in_pixel, y, x);
  const tmo_window window = {pixels, (uint16_t)n, columns.count, rows.first, columns.first, 0, n};
  int8_t *out = pixel(f, f->out, f->out_pixel, iterative ? 0 : y, x);
  if (by_row) {
    call_row_kernel(&f->kernel, &window, out);
  } else {
    call_pixel_kernel(&f->kernel, &window, out);
  }
}

static void fire_tile(firing *f) {
  const uint16_t end = tmo_unit_column_end(f->walk, &f->run->unit);
  for (uint16_t x = tmo_unit_column(f->walk, &f->run->unit); x < end; ++x) {
    fire_window(f, x);
    if (f->kernel.sums) f->kernel.sums += f->kernel.out_channels;
  }
}

/* Sets up, or completes, the sums of each output pixel of an iterative operator: a window without taps. */
static void fire_empty(firing *f, bool first) {
  tmo_kernel *k = &f->kernel;
  int32_t *const sums = k->sums;
  k->first = first;
  k->last = !first;
  for (uint16_t x = 0; x < f->out->width; ++x, k->sums += k->out_channels) {
    const tmo_window window = {.area = (uint32_t)k->op->kernel_h * tmo_columns(k, x).count};
    call_pixel_kernel(k, &window, pixel(f, f->out, f->out_pixel, 0, x));
  }
  k->sums = sums;
  k->first = k->last = false;
}

/* Adds an input pixel to the sums of all output pixels whose window it lies under. */
static void add_pixel(firing *f, uint16_t x) {
  tmo_kernel *k = &f->kernel;
  const tmo_op *op = k->op;
  const uint16_t y = f->run->unit.row;
  const uint32_t padded = (uint32_t)x + op->pad_left, extent = (uint32_t)(op->kernel_w - 1) * op->dilation_w + 1;
  const int8_t *in = pixel(f, f->in, f->in_pixel, y, x);
  int32_t *const sums = k->sums;
  for (uint32_t ox = padded < extent ? 0 : (padded - extent) / op->stride_w + 1; ox < f->out->width; ++ox) {
    if (padded < ox * op->stride_w) break;
    const uint32_t distance = padded - ox * op->stride_w;
    if (distance % op->dilation_w != 0) continue;
    const tmo_window window = {&in, 1, 1, y, (uint16_t)(distance / op->dilation_w), 0, 0};
    k->sums = sums + ox * k->out_channels;
    call_pixel_kernel(k, &window, NULL);
  }
  k->sums = sums;
}

/* A tile of an input row. */
static void fire_iterative_tile(firing *f) {
  const bool closes = f->kernel.last;
  const uint16_t end = tmo_unit_column_end(f->walk, &f->run->unit);
  if (f->kernel.first) fire_empty(f, true);
  f->kernel.last = false;
  for (uint16_t x = tmo_unit_column(f->walk, &f->run->unit); x < end; ++x) add_pixel(f, x);
  if (closes) fire_empty(f, false);
}

static void fire(const tmo_run_state *run, const tmo_op *op, const tmo_walk *w) {
  const tmo_tensor *in = &tmo_tensors(run->program)[op->input[0]], *out = &tmo_tensors(run->program)[op->output];
  const bool reads_group = tmo_reads_group(op), writes_group = tmo_writes_group(op);
  const tmo_channels read = tmo_channels_of(op, in, reads_group, run->unit.group);
  const tmo_channels written = tmo_channels_of(op, out, writes_group, run->unit.group);
  firing f = {run, w, in, out, tmo_pixel_bytes(op, in, reads_group), tmo_pixel_bytes(op, out, writes_group), {.op = op}};
  f.kernel.in_channels = read.count;
  f.kernel.out_channels = written.count;
  f.kernel.in_width = in->width;
  f.kernel.out_width = op->tile == 0 ? out->width : 1;
  point_at_constants(&f, read.first, written.first);
  point_at_sums(&f);
  if (op->tile == 0) {
    fire_window(&f, 0);
  } else if (tmo_iterative(op)) {
    fire_iterative_tile(&f);
  } else {
    fire_tile(&f);
  }
}

/* The operator that must fire before `op` can, or TMO_NONE. */
static uint16_t missing_producer(const tmo_run_state *run, const tmo_block *block, const tmo_op *op, const tmo_walk *w) {
  for (uint8_t k = 0; k < op->n_inputs; ++k) {
    if (op->producer[k] == TMO_NONE) continue;
    tmo_unit next;
    load_next(run, block, op->producer[k], &next);
    if (!tmo_operand_exists(run->program, block, op, w, &run->unit, k, &next)) return op->producer[k];
  }
  return TMO_NONE;
}

/* To the strip of the unit that waits for this operator. */
static void skip_strips(const tmo_run_state *run, const tmo_block *block, uint16_t op) {
  const tmo_walk w = tmo_walk_of(run->program, block, &tmo_ops(run->program)[op]);
  tmo_unit next;
  load_next(run, block, op, &next);
  tmo_unit_skip(&w, &next, run->unit.strip);
  store_next(run, block, op, &next);
}

static bool has_units_left(const tmo_run_state *run, const tmo_block *block, uint16_t op) {
  const tmo_walk w = tmo_walk_of(run->program, block, &tmo_ops(run->program)[op]);
  tmo_unit next;
  load_next(run, block, op, &next);
  return !tmo_unit_ended(&w, &next);
}

static void enter_block(tmo_run_state *run, const tmo_block *block) {
  const uint16_t end = (uint16_t)(block->first_op + block->n_ops);
  for (uint16_t op = block->first_op; op < end; ++op) {
    const tmo_walk w = tmo_walk_of(run->program, block, &tmo_ops(run->program)[op]);
    tmo_unit first;
    tmo_unit_first(&w, &first);
    store_next(run, block, op, &first);
  }
  run->sink = (uint16_t)(end - 1);
}

/* Go to the next sink, of this block or a later one, that wants units; false when there is none. A block's sinks come last operator first. */
static bool find_sink(tmo_run_state *run) {
  for (; run->block < tmo_header_of(run->program)->n_blocks; ++run->block, run->sink = TMO_NONE) {
    const tmo_block *block = &tmo_blocks(run->program)[run->block];
    if (run->sink == TMO_NONE) enter_block(run, block);
    for (;; --run->sink) {
      const bool is_sink = (tmo_ops(run->program)[run->sink].flags & TMO_FLAG_SINK) != 0;
      if (is_sink && has_units_left(run, block, run->sink)) return true;
      if (run->sink == block->first_op) break;
    }
  }
  return false;
}

/* The operators that wait for one another: each for the next, all for the last. Of a long chain only its end is kept; the start is found
 * again, from the sink, when it is its turn. */
static void push_waiting(tmo_run_state *run, uint16_t op) {
  run->top = (uint8_t)((run->top + 1) % TMO_WAITING);
  run->waiting[run->top] = op;
  if (run->n_waiting < TMO_WAITING) ++run->n_waiting;
}

static void pop_waiting(tmo_run_state *run) {
  run->top = (uint8_t)((run->top + TMO_WAITING - 1) % TMO_WAITING);
  --run->n_waiting;
}

void tmo_begin(tmo_run_state *run, const void *program, void *const *io, void *workspace) {
  memset(run, 0, sizeof *run);
  run->program = (const uint8_t *)program;
  run->io = io;
  run->workspace = (uint8_t *)workspace;
  run->firings = tmo_header_of(program)->firings;
  run->sink = TMO_NONE;
}

/* Counters lie in the workspace, where a damaged program can overwrite them: a unit is looked at before it is believed. */
tmo_status tmo_step(tmo_run_state *run) {
  if (run->firings == 0) return TMO_ERROR_FIRINGS;
  if (run->n_waiting == 0) {
    if (!find_sink(run)) return TMO_ERROR_FIRINGS;
    push_waiting(run, run->sink);
  }
  const tmo_block *block = &tmo_blocks(run->program)[run->block];
  for (;;) {
    run->op = run->waiting[run->top];
    load_next(run, block, run->op, &run->unit);
    const tmo_op *op = &tmo_ops(run->program)[run->op];
    const tmo_walk w = tmo_walk_of(run->program, block, op);
    if (!tmo_unit_exists(&w, &run->unit)) return TMO_ERROR_FIRINGS;
    const uint16_t missing = missing_producer(run, block, op, &w);
    if (missing == TMO_NONE) {
      tmo_unit next = run->unit;
      tmo_unit_next(&w, &next);
      store_next(run, block, run->op, &next);
      fire(run, op, &w);
      break;
    }
    skip_strips(run, block, missing);
    push_waiting(run, missing);
  }
  pop_waiting(run);
  if (--run->firings > 0) return TMO_MORE;
  return run->n_waiting > 0 || find_sink(run) ? TMO_ERROR_FIRINGS : TMO_OK;
}

tmo_status tmo_run(const void *program, void *const *io, void *workspace) {
  tmo_run_state run;
  tmo_status status = TMO_MORE;
  tmo_begin(&run, program, io, workspace);
  while (status == TMO_MORE) status = tmo_step(&run);
  return status;
}
