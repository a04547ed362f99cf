/* SPDX-License-Identifier: Apache-2.0 */
/* This file runs a program on two cores, each of which computes its part of every iteration.
 *
 * Both cores run the same loops, so each core knows the next iteration. The file includes source files of the executor, and renames the functions of
 * the included files. An application whose programs need two cores links the functions of this file instead of tmo_run(). */
#include "tmo/cores.h"

#define tmo_iterate_any tmo_cores_iterate_any
#include "tmo/iterate.h"
#include "tmo/source.h"
#include "tmo/packed.h"
#include "tmo/view.h"

typedef struct {
  tmo_run_state run; /* first field, so that the core_run is at the address of `run`; between iterations, run.workspace has the core's counters */
  const tmo_cores *cores;
  uint8_t *workspace;
  uint16_t core;
} core_run;

static tmo_status iterate_share(const tmo_run_state *run, const tmo_op *op);
static void tmo_cores_begin(tmo_run_state *run, const void *program, void *const *io, void *workspace);
static tmo_status tmo_cores_step(tmo_run_state *run);

#define TMO_WITHIN_CORES
#define tmo_begin tmo_cores_begin
#define tmo_step tmo_cores_step
#define tmo_iterate(run, op, made) iterate_share(run, op)
#include "tmo_run.c"
#undef tmo_iterate
#include "tmo_iterate.c"

const tmo_cores *tmo_cores_of(const void *program) {
  const uint32_t cores = tmo_header_of(program)->cores;
  return cores == 0 ? NULL : (const tmo_cores *)tmo_constant(program, cores);
}

/* The columns or channels from `first` to `end` - 1. */
typedef struct {
  uint32_t first, end;
} stretch;

static stretch stretch_of(const tmo_sharding *sharding, uint16_t core, uint32_t all) {
  const stretch s = {core == 0 ? 0 : sharding->cut, core == 0 ? sharding->cut : all};
  return s;
}

/* Restricts the kernel to the output columns in `columns`. Advances the addresses in `rows` to the first input column that the kernel reads. The
 * function writes the kernel's padding to `own`, which is a copy of the operator. */
static void narrow_columns(execution *f, tmo_op *own, const int8_t **rows, uint32_t n, stretch columns) {
  tmo_kernel *k = &f->kernel;
  k->out_width = (uint16_t)(columns.end - columns.first);
  if (HAS_BINARY && own->n_inputs > 1) {
    for (uint8_t i = 0; i < own->n_inputs; ++i) {
      const tmo_tensor *in = &tmo_tensors(f->run->program)[own->input[i]];
      if (in->width > 1) rows[i] += columns.first * in->channels;
    }
    return;
  }
  const int32_t start = (int32_t)(columns.first * own->stride_w) - own->pad_left;
  const uint32_t skipped = start > 0 ? (uint32_t)start : 0;
  own->pad_left = (uint16_t)(start > 0 ? 0 : -start);
  for (uint32_t i = 0; i < n; ++i) rows[i] += skipped * f->in.pixel;
  k->in_width = (uint16_t)(k->in_width - skipped);
}

static uint32_t depthwise_bytes(const tmo_op *op) {
  return 16 + ((uint32_t)op->kernel_h * op->kernel_w + 2) / 3 * 24 + 48; /* number of bytes that the constants of four channels take */
}

static void narrow_channels(execution *f, stretch channels) {
  tmo_kernel *k = &f->kernel;
  const tmo_op *op = k->op;
  const uint32_t first = channels.first;
  k->out_channels = channels.end - first;
  if (tmo_is_in(TMO_FILTERED_KINDS, op->kind)) k->in_channels = k->out_channels;
  if (op->packing == TMO_PACKING_NONE) {
    skip_channels(k, 0, first);
  } else if (tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE)) {
    k->weights += (size_t)(first / 4) * depthwise_bytes(op);
  } else {
    k->weights += (size_t)first * tmo_packed_values(op, k->in_channels);
    k->bias += first / 2 * TMO_PACKED_SCALES;
  }
}

#if TMO_RUNS_DSP
TMO_OWN_FRAME static void packed_channels(const execution *f, const tmo_window *rows, int8_t *out) {
  const tmo_kernel *k = &f->kernel;
  const uint32_t width = f->out.tensor->width, pitch = f->out.pixel;
  if (width == 1 && tmo_packed_direct(k->op, k->in_channels, k->out_channels, 1)) {
    call_packed_row(k, rows, out);
    return;
  }
  const tmo_columns_job all = {0, width, TMO_FIVE_PIXELS, out, pitch};
  tmo_conv_dsp_columns(k, rows, &all);
}
#endif

TMO_OWN_FRAME static void depthwise_channels(const execution *f, const tmo_window *rows, uint32_t x, uint32_t first, int8_t *out) {
  const int8_t *taps[TMO_MAX_TAPS];
  const tmo_kernel *k = &f->kernel;
  const tmo_taps columns = tmo_columns(k, (uint16_t)x);
  uint32_t n = 0;
  for (uint32_t r = 0; r < rows->count; ++r) {
    const int8_t *pixel = rows->pixels[r] + columns.start * f->in.pixel + first;
    for (uint32_t c = columns.count; c > 0; --c, pixel += k->op->dilation_w * f->in.pixel) taps[n++] = pixel;
  }
  const tmo_window window = {taps, (uint16_t)n, (uint16_t)columns.count, rows->first_row, (uint16_t)columns.first, 0, n};
  call_pixel_kernel(k, &window, out);
}

/* Computes some channels of a row of an unpacked convolution that is not depthwise. Each pixel is computed like a row with one column. */
static void conv_channels(execution *f, tmo_op *own, const tmo_window *rows, int8_t *out) {
  const uint16_t pad_left = own->pad_left, in_width = f->kernel.in_width;
  const int8_t *moved[TMO_MAX_KERNEL_H];
  tmo_window window = *rows;
  window.pixels = moved;
  for (uint32_t x = 0; x < f->out.tensor->width; ++x, out += f->out.pixel) {
    const stretch column = {x, x + 1};
    for (uint32_t r = 0; r < rows->count; ++r) moved[r] = rows->pixels[r];
    narrow_columns(f, own, moved, rows->count, column);
    call_row_kernel(&f->kernel, &window, out);
    own->pad_left = pad_left;
    f->kernel.in_width = in_width;
  }
}

static void iterate_channels(execution *f, tmo_op *own, const tmo_window *rows, stretch channels, int8_t *out) {
  narrow_channels(f, channels);
  out += channels.first;
  if (tmo_is_in(TMO_FILTERED_KINDS, own->kind)) {
    own->tile = 1; /* the kernel reads the list of taps only if `tile` is not 0 */
    for (uint32_t x = 0; x < f->out.tensor->width; ++x) depthwise_channels(f, rows, x, channels.first, out + x * f->out.pixel);
#if TMO_RUNS_DSP
  } else if (own->packing != TMO_PACKING_NONE) {
    packed_channels(f, rows, out);
#endif
  } else {
    conv_channels(f, own, rows, out);
  }
}

/* Computes this core's columns or channels of a row. The argument `own` is a copy of the operator, which the function may change. */
TMO_OWN_FRAME static void iterate_both(const core_run *c, tmo_op *own, const tmo_sharding *sharding) {
  const int8_t *rows[TMO_MAX_KERNEL_H];
  execution f;
  set_up_for(&f, &c->run, own);
  const tmo_window window = read_under(&f, 0, rows);
  int8_t *const out = output_pixel(&f, c->run.current.row, 0);
  if (sharding->kind == TMO_SHARDING_CHANNELS) {
    iterate_channels(&f, own, &window, stretch_of(sharding, c->core, f.out.tensor->channels), out);
    return;
  }
  const stretch columns = stretch_of(sharding, c->core, f.out.tensor->width);
  narrow_columns(&f, own, rows, window.count, columns);
  call_row_kernel(&f.kernel, &window, out + columns.first * f.out.pixel);
}

static bool bit_of(const void *program, uint32_t bits, uint32_t i) {
  return (((const uint8_t *)tmo_constant(program, bits))[i / 8] >> i % 8 & 1) != 0;
}

static uint16_t sharding_now(const core_run *c, const tmo_sharding *sharding) {
  const void *program = c->run.program;
  const bool serial = c->cores->serial > 0 && bit_of(program, c->cores->serial, tmo_header_of(program)->iterations - c->run.iterations);
  return serial ? TMO_SHARDING_CORE_0 : sharding->kind;
}

static tmo_status iterate_share(const tmo_run_state *run, const tmo_op *op) {
  core_run *const c = (core_run *)(uintptr_t)run;
  if (c->cores == NULL) return tmo_cores_iterate_any(run, op);
  const tmo_sharding *sharding = (const tmo_sharding *)tmo_constant(run->program, c->cores->shardings) + run->op;
  uint8_t *const counters = c->run.workspace;
  tmo_status status = TMO_OK;
  tmo_op own = *op;
  if (c->core > 0) own.accumulator = sharding->accumulator;
  c->run.workspace = c->workspace;
  const uint16_t kind = sharding_now(c, sharding);
  if (kind > TMO_SHARDING_CORE_1) {
    iterate_both(c, &own, sharding);
  } else if (kind == c->core) {
    status = tmo_cores_iterate_any(run, &own);
  }
  c->run.workspace = counters;
  return status;
}

static void wait_at_barrier(const tmo_team *team, uint16_t core) {
  team->wake(team->context, 1 - core);
  team->wait(team->context, core);
}

/* Runs all iterations on one core. After an error, the core still waits at every barrier, so that the other core can continue. */
static tmo_status run_core(const tmo_team *team, uint16_t core) {
  const uint32_t iterations = tmo_header_of(team->program)->iterations;
  core_run c = {.cores = tmo_cores_of(team->program), .workspace = (uint8_t *)team->workspace, .core = core};
  tmo_status status = TMO_MORE;
  tmo_cores_begin(&c.run, team->program, team->io, c.workspace + (core > 0 ? c.cores->counters : 0));
  for (uint32_t i = 0; i < iterations; ++i) {
    if (bit_of(team->program, c.cores->barriers, i)) wait_at_barrier(team, core);
    if (status == TMO_MORE) status = tmo_cores_step(&c.run);
  }
  return status;
}

static tmo_status run_on_one_core(const void *program, void *const *io, void *workspace) {
  core_run c = {.workspace = (uint8_t *)workspace};
  tmo_status status = TMO_MORE;
  tmo_cores_begin(&c.run, program, io, workspace);
  while (status == TMO_MORE) status = tmo_cores_step(&c.run);
  return status;
}

static tmo_status help(tmo_team *team) { return run_core(team, 1); }

tmo_status tmo_run_shared(tmo_team *team, const void *program, void *const *io, void *workspace) {
  if (team == NULL || tmo_cores_of(program) == NULL) return run_on_one_core(program, io, workspace);
  team->program = program;
  team->io = io;
  team->workspace = workspace;
  team->help = help;
  team->wake(team->context, 1);
  const tmo_status status = run_core(team, 0);
  team->wait(team->context, 0);
  return status == TMO_OK ? team->status : status;
}

#include "tmo/check.h" /* this header makes the compiler optimize all following code for size */

/* If the cores share the channels of an operator, core 0's number of channels must be a multiple of the returned number. Returns 0 if the cores
 * cannot share the channels. */
static uint32_t granule_of(const tmo_op *op) {
  if (op->packing == TMO_PACKING_NONE) return 1;
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_DENSE)) return 6;
  return tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) || tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) ? 4 : 0;
}

/* Returns whether kernels can compute the two parts into which `sharding` divides the columns or channels of an operator. The cores can divide the
 * columns of an operator without a window if output column x needs only column x of each operand. */
static bool check_both(const tmo_operation *o, const tmo_sharding *sharding) {
  const tmo_op *op = o->op;
  if (tmo_iterative(op) || op->access != 0 || op->kind == TMO_OP_GATHER || sharding->cut == 0) return false;
  if (sharding->kind == TMO_SHARDING_COLUMNS) {
    const bool same_columns = tmo_is_in(TMO_WINDOWED_KINDS, op->kind) || op->n_inputs > 1 || o->in->width == o->out->width;
    return same_columns && sharding->cut < o->out->width;
  }
  const bool depthwise = op->kind == TMO_OP_DEPTHWISE && o->in->channels == o->out->channels;
  const uint32_t granule = granule_of(op), least = granule > 1 ? 4 : 1;
  if (op->kind != TMO_OP_CONV && !(depthwise && (uint32_t)op->kernel_h * op->kernel_w <= TMO_MAX_TAPS)) return false;
  return granule > 0 && sharding->cut % granule == 0 && sharding->cut < o->out->channels && o->out->channels - sharding->cut >= least;
}

static bool check_scratch(const tmo_checker *c, const tmo_operation *o, const tmo_sharding *sharding) {
  if (o->op->packing == TMO_PACKING_NONE) return tmo_iterative(o->op) ? sharding->accumulator == o->op->accumulator : true;
  for (uint16_t core = 0; core < 2; ++core) {
    tmo_tensor out = *o->out;
    if (sharding->kind == TMO_SHARDING_COLUMNS) out.width = core == 0 ? sharding->cut : (uint16_t)(out.width - sharding->cut);
    const uint32_t at = core == 0 ? o->op->scratch : sharding->scratch;
    if (!tmo_in_workspace(c, at, tmo_scratch_bytes(o->op, o->in, &out), 4)) return false;
  }
  return true;
}

static bool check_shardings(const tmo_checker *c, const tmo_group *group, const tmo_sharding *shardings) {
  for (uint32_t i = group->first_op; i < (uint32_t)group->first_op + group->n_ops; ++i) {
    const tmo_op *op = &c->ops[i];
    const tmo_operation o = {group, op, &c->tensors[op->input[0]], &c->tensors[op->output]};
    const bool helium = op->packing == TMO_PACKING_MVE_CONV || op->packing == TMO_PACKING_MVE_DEPTHWISE;
    const bool has_one_scratch = op->packing == TMO_PACKING_ESP_DEPTHWISE; /* ESP-NN keeps the address of its scratch memory in a static variable */
    if (has_one_scratch && shardings[i].kind != TMO_SHARDING_CORE_0) return false;
    if (helium || shardings[i].kind > TMO_SHARDING_CHANNELS || !check_scratch(c, &o, &shardings[i])) return false;
    if (shardings[i].kind > TMO_SHARDING_CORE_1 && !check_both(&o, &shardings[i])) return false;
  }
  return true;
}

tmo_status tmo_check_cores(const void *program) {
  const tmo_header *h = tmo_header_of(program);
  if (tmo_cores_of(program) == NULL) return TMO_OK;
  const tmo_checker c = {.program = (const uint8_t *)program, .tensors = tmo_tensors(program), .ops = tmo_ops(program)};
  const tmo_cores *cores = tmo_cores_of(program);
  if (h->input != TMO_INPUT_ARENA || h->state > 0 || !tmo_has_constant(&c, h->cores, sizeof *cores, 4)) return TMO_ERROR_TABLE;
  if (!tmo_has_constant(&c, cores->shardings, tmo_times(sizeof(tmo_sharding), h->n_ops), 4)) return TMO_ERROR_TABLE;
  if (!tmo_has_constant(&c, cores->barriers, h->iterations / 8 + 1, 1)) return TMO_ERROR_TABLE;
  if (cores->serial > 0 && !tmo_has_constant(&c, cores->serial, h->iterations / 8 + 1, 1)) return TMO_ERROR_TABLE;
  const tmo_sharding *shardings = (const tmo_sharding *)tmo_constant(program, cores->shardings);
  for (uint32_t i = 0; i < h->n_groups; ++i) {
    const tmo_group *group = &tmo_groups(program)[i];
    const uint32_t bytes = (uint32_t)sizeof(uint16_t) * group->n_ops;
    if (tmo_is_tiled(group) || cores->counters > h->workspace || cores->counters < bytes || cores->counters % 2 != 0) return TMO_ERROR_TABLE;
    if (!tmo_in_workspace(&c, group->counters, cores->counters + bytes, 2)) return TMO_ERROR_TABLE;
    if (!check_shardings(&c, group, shardings)) return TMO_ERROR_OP;
  }
  return TMO_OK;
}
