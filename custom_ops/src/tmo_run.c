/* The executor: which operator fires next, and the call of its kernel. Knows the order of rows, nothing of numbers. */
#include <string.h>

#include "tmo/access.h"
#include "tmo/kernels.h"
#include "tmo/tmo.h"

static uint16_t *counters(const tmo_run_state *run, const tmo_block *block) {
  return (uint16_t *)(void *)(run->workspace + block->counters);
}

static int8_t *row(const tmo_run_state *run, const tmo_tensor *t, uint32_t y) {
  uint8_t *base = t->base == 0 ? run->workspace : (uint8_t *)run->io[t->base - 1];
  return (int8_t *)base + tmo_row_offset(t, y);
}

/* The taps, along the height, of a firing: an iterative one has a single row. */
static tmo_taps taps_of(const tmo_op *op, uint16_t height, uint16_t firing) {
  if (tmo_iterative(op)) {
    const tmo_taps one = {firing, 1, firing};
    return one;
  }
  return tmo_clip((int32_t)((uint32_t)firing * op->stride_h) - op->pad_top, op->kernel_h, op->dilation_h, height);
}

static void call_kernel(const tmo_kernel *k, const int8_t *const rows[], int8_t *out) {
  switch (k->op->kind) {
    case TMO_OP_CONV: tmo_conv_row_s8(k, rows, out); break;
    case TMO_OP_DEPTHWISE: tmo_depthwise_row_s8(k, rows, out); break;
    case TMO_OP_ADD: tmo_add_row_s8(k, rows, out); break;
    case TMO_OP_SOFTMAX: tmo_softmax_row_s8(k, rows, out); break;
    case TMO_OP_REQUANT: tmo_requant_row_s8(k, rows, out); break;
    default: tmo_pool_row_s8(k, rows, out); break;
  }
}

static void fire(const tmo_run_state *run, const tmo_op *op, uint16_t firing) {
  const tmo_tensor *tensors = tmo_tensors(run->program);
  const tmo_tensor *in = &tensors[op->input[0]];
  const tmo_tensor *out = &tensors[op->output];
  const tmo_taps taps = taps_of(op, in->height, firing);

  const int8_t *rows[TMO_MAX_KERNEL_H];
  for (uint32_t i = 0; i < taps.count; ++i) rows[i] = row(run, in, taps.start + i * op->dilation_h);
  if (op->n_inputs > 1) rows[1] = row(run, &tensors[op->input[1]], firing);

  const bool iterative = tmo_iterative(op);
  const tmo_kernel kernel = {
      .op = op,
      .weights = (const int8_t *)tmo_constant(run->program, op->weights),
      .bias = op->bias ? (const int32_t *)tmo_constant(run->program, op->bias) : NULL,
      .multipliers = (const int32_t *)tmo_constant(run->program, op->multipliers),
      .shifts = (const int8_t *)tmo_constant(run->program, op->shifts),
      .sums = iterative ? (int32_t *)(void *)(run->workspace + op->accumulator) : NULL,
      .in_channels = in->channels,
      .out_channels = out->channels,
      .in_width = in->width,
      .out_width = out->width,
      .first_tap = taps.first,
      .n_taps = taps.count,
  };
  call_kernel(&kernel, rows, row(run, out, iterative ? 0 : firing));
}

/* Rows of its output that an operator has produced. */
static uint16_t rows_done(const tmo_run_state *run, const tmo_op *op, uint16_t fired) {
  if (!tmo_iterative(op)) return fired;
  return fired >= tmo_firings(run->program, op);
}

/* Rows of input k that must exist before a firing. */
static int32_t rows_needed(const tmo_run_state *run, const tmo_op *op, uint8_t k, uint16_t firing) {
  if (tmo_iterative(op)) return (int32_t)firing + 1;
  const int32_t height = tmo_tensors(run->program)[op->input[k]].height;
  const int32_t end = (int32_t)((uint32_t)firing * op->stride_h) - op->pad_top + (op->kernel_h - 1) * (int32_t)op->dilation_h + 1;
  return end < height ? end : height;
}

/* The operator that must fire before `op` can, or TMO_NONE. */
static uint16_t missing_producer(const tmo_run_state *run, const tmo_block *block, uint16_t op) {
  const tmo_op *ops = tmo_ops(run->program);
  const uint16_t *fired = counters(run, block);
  for (uint8_t k = 0; k < ops[op].n_inputs; ++k) {
    const uint16_t producer = ops[op].producer[k];
    if (producer == TMO_NONE) continue;
    const uint16_t done = rows_done(run, &ops[producer], fired[producer - block->first_op]);
    if (done < rows_needed(run, &ops[op], k, fired[op - block->first_op])) return producer;
  }
  return TMO_NONE;
}

static bool has_firings_left(const tmo_run_state *run, const tmo_block *block, uint16_t op) {
  return counters(run, block)[op - block->first_op] < tmo_firings(run->program, &tmo_ops(run->program)[op]);
}

/* Go to the next sink, of this block or a later one, that wants rows; false when there is none. A block's sinks come last operator first. */
static bool find_sink(tmo_run_state *run) {
  for (; run->block < tmo_header_of(run->program)->n_blocks; ++run->block, run->sink = TMO_NONE) {
    const tmo_block *block = &tmo_blocks(run->program)[run->block];
    if (run->sink == TMO_NONE) {
      memset(counters(run, block), 0, block->n_ops * sizeof(uint16_t));
      run->sink = (uint16_t)(block->first_op + block->n_ops - 1);
    }
    for (;; --run->sink) {
      const bool is_sink = (tmo_ops(run->program)[run->sink].flags & TMO_FLAG_SINK) != 0;
      if (is_sink && has_firings_left(run, block, run->sink)) return true;
      if (run->sink == block->first_op) break;
    }
  }
  return false;
}

void tmo_begin(tmo_run_state *run, const void *program, void *const *io, void *workspace) {
  run->program = (const uint8_t *)program;
  run->io = io;
  run->workspace = (uint8_t *)workspace;
  run->firings = tmo_header_of(program)->firings;
  run->block = 0;
  run->sink = TMO_NONE;
  run->op = 0;
  run->firing = 0;
}

/* Counters lie in the workspace, where a damaged program can overwrite them. Even then only firings that exist are run: a sink has some left,
 * and a producer is missing rows, of which no reader wants more than there are. */
tmo_status tmo_step(tmo_run_state *run) {
  if (run->firings == 0 || !find_sink(run)) return TMO_ERROR_FIRINGS;
  const tmo_block *block = &tmo_blocks(run->program)[run->block];
  uint16_t op = run->sink;
  for (uint16_t p = missing_producer(run, block, op); p != TMO_NONE; p = missing_producer(run, block, op)) op = p;

  run->op = op;
  run->firing = counters(run, block)[op - block->first_op]++;
  fire(run, &tmo_ops(run->program)[op], run->firing);
  if (--run->firings > 0) return TMO_MORE;
  return find_sink(run) ? TMO_ERROR_FIRINGS : TMO_OK;
}

tmo_status tmo_run(const void *program, void *const *io, void *workspace) {
  tmo_run_state run;
  tmo_status status = TMO_MORE;
  tmo_begin(&run, program, io, workspace);
  while (status == TMO_MORE) status = tmo_step(&run);
  return status;
}
