/* The validator: what it lets through, the executor runs without ever leaving its buffers. Sizes are uint32_t and stay at TOO_MANY when they
 * do not fit.
 *
 * Data may still be wrong (a ring that is too shallow, buffers that overlap): that is the converter's checker's business. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("Os", "no-move-loop-invariants", "no-tree-dominator-opts") /* it runs once, and is the largest part of the library */
#endif

#include "tmo/access.h"
#include "tmo/build.h"
#include "tmo/packed.h"
#include "tmo/tmo.h"
#include "tmo/walk.h"

#define TOO_MANY UINT32_MAX                 /* more than any buffer has */
#define MAX_EXTENT ((uint32_t)1 << 30)      /* of a window, and of all strips, so that coordinates are int32_t */
#define MAX_POOL_AREA ((uint32_t)1 << 23)   /* pixels of a pooling window, so that sums are int32_t */
#define MAX_SOFTMAX_CHANNELS 4095           /* so that the sum of their exponentials is below 2^31 */
#define MAX_ADD_SHIFT 22                    /* so that 9 bits stay inside int32_t */
#define MAX_S16_SHIFT 7                     /* so that 15 - shift bits go */
#define MAX_READS 16                        /* elements read per byte of the program: checking stays linear when arrays are shared */

#define HAS_BINARY (((TMO_KINDS) & TMO_BINARY_KINDS) != 0)
#define HAS_S16_FILTER (tmo_has_kind(TMO_OP_CONV_S16) || tmo_has_kind(TMO_OP_DEPTHWISE_S16))
#define HAS_PACKED_FILTER (((TMO_PACKINGS) & ~((uint64_t)1 << TMO_PACKING_NONE | (uint64_t)1 << TMO_PACKING_DSP_ADD)) != 0)

/* The same on every ABI: the converter packs these from a table. */
_Static_assert(TMO_MAX_KERNEL_H <= TMO_MAX_TAPS, "one array of pointers holds either");
_Static_assert(sizeof(tmo_header) == 56 && sizeof(tmo_tensor) == 28 && sizeof(tmo_lane) == 12 && sizeof(tmo_op) == 80 &&
                   sizeof(tmo_block) == 12 && sizeof(tmo_unit) == 8 && sizeof(tmo_access) == 16 && sizeof(tmo_copy) == 8 &&
                   sizeof(tmo_move) == 28 && sizeof(tmo_order) == 16,
               "packed layout");

typedef struct {
  const uint8_t *program;
  const tmo_header *header;
  const tmo_tensor *tensors;
  const tmo_op *ops;
  const uint32_t *io_bytes;
  uint32_t reads_left; /* elements of arrays that may be read still */
} checker;

/* An operator with its operands looked up. */
typedef struct {
  const tmo_block *block;
  const tmo_op *op;
  const tmo_tensor *in;
  const tmo_tensor *out;
} operation;

/* a * b, or TOO_MANY; which only 0 makes less. */
TMO_OWN_FRAME static uint32_t times(uint32_t a, uint32_t b) {
  const uint64_t product = (uint64_t)a * b;
  return product < TOO_MANY ? (uint32_t)product : TOO_MANY;
}

/* a / b, rounded up. */
static uint32_t ceil_div(uint32_t a, uint32_t b) { return a / b + (a % b > 0); }

/* alignment: a power of two. */
TMO_OWN_FRAME static bool inside(uint32_t offset, uint32_t bytes, uint32_t size, uint32_t alignment) {
  return (offset & (alignment - 1)) == 0 && offset <= size && bytes <= size - offset && bytes != TOO_MANY;
}

static bool in_workspace(const checker *c, uint32_t offset, uint32_t bytes, uint32_t alignment) {
  return inside(offset, bytes, c->header->workspace, alignment);
}

static bool has_constant(const checker *c, uint32_t offset, uint32_t bytes, uint32_t alignment) {
  return offset != 0 && inside(offset, bytes, c->header->size, alignment);
}

static bool has_words(const checker *c, uint32_t offset, uint32_t n) { return has_constant(c, offset, times(4, n), 4); }

/* Counts the reading of n elements. */
static bool may_read(checker *c, uint32_t n) {
  if (n > c->reads_left) return false;
  c->reads_left -= n;
  return true;
}

/* Of the buffer that a tensor lies in. */
static uint32_t base_bytes(const checker *c, const tmo_tensor *t) {
  return t->base == 0 ? c->header->workspace : c->io_bytes[t->base - 1];
}

/* The newest rows are in io[0], older ones in a ring. An external frame is looked at when it is there. */
static tmo_status check_frame(const checker *c, const tmo_tensor *t) {
  const uint32_t row = times(t->width, t->channels);
  if (tmo_has_lanes(t)) return TMO_ERROR_TABLE;
  if (tmo_input_of(c->program) == TMO_INPUT_EXTERNAL) return times(row, t->height) <= INT32_MAX ? TMO_OK : TMO_ERROR_TABLE;
  if (t->rows == 0 || t->height % t->rows != 0 || t->depth > t->height) return TMO_ERROR_TABLE;
  if (!in_workspace(c, t->offset, times(row, t->depth), 1)) return TMO_ERROR_TABLE;
  return times(row, t->rows) <= c->io_bytes[0] ? TMO_OK : TMO_ERROR_IO;
}

/* All views of a streamed frame are of the same rows. */
static bool same_stream(const tmo_tensor *a, const tmo_tensor *b) {
  return a->offset == b->offset && a->height == b->height && a->depth == b->depth && a->rows == b->rows && tmo_row_bytes(a) == tmo_row_bytes(b);
}

/* A program whose input is streamed has one, and no other. */
static bool check_stream(const checker *c) {
  const tmo_tensor *first = NULL;
  for (uint32_t i = 0; i < c->header->n_tensors; ++i) {
    const tmo_tensor *t = &c->tensors[i];
    if (t->base != 1) continue;
    if (first != NULL && !same_stream(first, t)) return false;
    first = t;
  }
  return first != NULL && c->header->n_inputs == 1;
}

static tmo_status check_tensor(const checker *c, const tmo_tensor *t) {
  const uint32_t n_io = (uint32_t)c->header->n_inputs + c->header->n_outputs;
  const bool constant = t->base == TMO_PROGRAM_BASE;
  if ((t->base > n_io && !constant) || t->layout > TMO_LAYOUT_PIXELS_TURNED) return TMO_ERROR_TABLE;
  if (t->channels == 0 || t->width == 0 || t->height == 0) return TMO_ERROR_TABLE;
  const bool whole = !tmo_has_lanes(t) && t->depth == t->height && !tmo_is_frame(c->program, t);
  if (t->layout != TMO_LAYOUT_HWC && !whole) return TMO_ERROR_TABLE;
  if (tmo_is_frame(c->program, t)) return check_frame(c, t);
  if (tmo_has_lanes(t)) return TMO_OK; /* check_lanes() */
  if (t->depth == 0 || t->depth > t->height) return TMO_ERROR_TABLE;
  const uint32_t bytes = times(times(t->width, t->channels), t->depth);
  if (constant) return has_constant(c, t->offset, bytes, 1) ? TMO_OK : TMO_ERROR_TABLE;
  if (inside(t->offset, bytes, base_bytes(c, t), 1)) return TMO_OK;
  return t->base == 0 ? TMO_ERROR_TABLE : TMO_ERROR_IO;
}

/* The strips of a tensor that a tiled block makes. */
static bool check_strips(const tmo_block *block, const tmo_tensor *t) {
  return t->advance > 0 && t->rows >= t->advance && (uint32_t)block->strips * t->advance < MAX_EXTENT;
}

/* Lanes hold the rows of a strip, each once, and lie inside. */
static bool check_lanes(checker *c, const tmo_tensor *t, uint32_t pixel) {
  if (!tmo_has_lanes(t)) return true;
  if (!has_constant(c, t->lanes, t->n_lanes * sizeof(tmo_lane), 4) || !may_read(c, t->n_lanes)) return false;
  const tmo_lane *lanes = (const tmo_lane *)tmo_constant(c->program, t->lanes);
  uint32_t rows = 0;
  for (uint32_t i = 0; i < t->n_lanes; ++i) {
    rows += lanes[i].rows;
    if (lanes[i].depth == 0 || !inside(lanes[i].offset, times(lanes[i].depth, pixel), base_bytes(c, t), 1)) return false;
  }
  return rows == t->rows;
}

/* The window of each output coordinate begins inside the padded input and reaches into the input. All are uint16_t: nothing wraps. */
static bool window_fits(uint32_t kernel, uint32_t stride, uint32_t dilation, uint32_t pad, uint32_t in, uint32_t out) {
  if (kernel == 0 || stride == 0 || dilation == 0) return false;
  const uint32_t extent = (kernel - 1) * dilation + 1;
  return extent < MAX_EXTENT && pad < extent && (out - 1) * stride < in + pad;
}

static bool check_windowed(const checker *c, const operation *o) {
  const tmo_op *op = o->op;
  if (!window_fits(op->kernel_h, op->stride_h, op->dilation_h, op->pad_top, o->in->height, o->out->height)) return false;
  if (!window_fits(op->kernel_w, op->stride_w, op->dilation_w, op->pad_left, o->in->width, o->out->width)) return false;
  if (!tmo_iterative(op)) {
    return tmo_is_tiled(o->block) ? (uint32_t)op->kernel_h * op->kernel_w <= TMO_MAX_TAPS : op->kernel_h <= TMO_MAX_KERNEL_H;
  }
  const bool whole = op->kernel_h == o->in->height && op->dilation_h == 1 && op->pad_top == 0 && o->out->height == 1;
  return whole && in_workspace(c, op->accumulator, times(times(4, o->out->width), o->out->channels), 4);
}

/* As high and as wide. */
static bool same_size(const tmo_tensor *a, const tmo_tensor *b) { return a->height == b->height && a->width == b->width; }

/* Convolutions of int16. */
static bool is_s16_filter(const tmo_op *op) {
  return HAS_S16_FILTER && (op->kind == TMO_OP_CONV_S16 || op->kind == TMO_OP_DEPTHWISE_S16);
}

/* Multipliers and shifts: `n` of each. */
static bool check_scaling(checker *c, const tmo_op *op, uint32_t n) {
  if (!has_words(c, op->multipliers, n) || !has_constant(c, op->shifts, n, 1)) return false;
  if (!may_read(c, n)) return false;
  const int8_t *shifts = (const int8_t *)tmo_constant(c->program, op->shifts);
  const int32_t most = is_s16_filter(op) ? MAX_S16_SHIFT : 30;
  for (uint32_t i = 0; i < n; ++i) {
    if (shifts[i] < -31 || shifts[i] > most) return false;
  }
  return true;
}

/* Weights, bias, scaling. Of int16: channels take two bytes, biases eight, and no sums are kept from call to call. */
static bool check_filter(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  const bool s16 = is_s16_filter(op), depthwise = op->kind == TMO_OP_DEPTHWISE || op->kind == TMO_OP_DEPTHWISE_S16;
  const uint32_t bytes = s16 ? 2 : 1, in = o->in->channels / bytes, out = o->out->channels / bytes;
  if (s16 && (o->in->channels % 2 != 0 || o->out->channels % 2 != 0 || tmo_iterative(op))) return false;
  if (depthwise && out % in != 0) return false;
  const uint32_t inputs = depthwise ? 1 : in; /* that an output channel reads */
  const uint32_t weights = times(times((uint32_t)op->kernel_h * op->kernel_w, inputs), out);
  if (!has_constant(c, op->weights, weights, 1)) return false;
  if (op->bias != 0 && !has_words(c, op->bias, times(bytes, out))) return false;
  return check_scaling(c, op, op->flags & TMO_FLAG_PER_CHANNEL ? out : 1);
}

/* The shifts of n scales, m2, c, e each, are such that a twin in C computes them. */
static bool check_packed_scales(const int32_t *scales, uint32_t n) {
  for (; n > 0; --n, scales += 3) {
    if (scales[2] < 1 || scales[2] > TMO_PACKED_SHIFT) return false;
  }
  return true;
}

/* The same of n scales -e. */
static bool check_mve_shifts(const int32_t *shifts, uint32_t n) {
  for (; n > 0; --n, ++shifts) {
    if (*shifts > -1 || *shifts < -TMO_PACKED_SHIFT) return false;
  }
  return true;
}

static bool check_packed_conv(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  const bool mve = tmo_is_packed_as(op, TMO_PACKING_MVE_CONV), dense = tmo_is_packed_as(op, TMO_PACKING_DSP_DENSE);
  const uint64_t values = tmo_packed_values(op, o->in->channels);
  const uint32_t at_once = mve ? 4 : 2, groups = ceil_div(o->out->channels, at_once);
  const uint32_t words = mve ? 3 * 4 : TMO_PACKED_SCALES; /* of the scales of each */
  const bool direct = tmo_packed_direct(op, o->in->channels, o->out->channels, op->tile == 0 || dense ? o->out->width : op->tile);
  if ((op->kind == TMO_OP_DEPTHWISE && o->in->channels != 1) || (values > tmo_packed_tile(op) && !direct)) return false;
  if (dense && (o->out->width != 1 || !direct || o->out->channels % 2 != 0)) return false;
  if (values >= TOO_MANY || !has_constant(c, op->weights, times(times(at_once, (uint32_t)values), groups), 4)) return false;
  if (!has_words(c, op->bias, times(words, groups)) || !may_read(c, groups)) return false;
  const int32_t *scales = (const int32_t *)tmo_constant(c->program, op->bias);
  for (uint32_t i = 0; i < groups; ++i, scales += words) {
    if (mve ? !check_mve_shifts(scales + 8, 4) : !check_packed_scales(scales + 2, 2)) return false;
  }
  return true;
}

static bool check_packed_depthwise(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  const bool mve = tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE);
  const uint32_t taps = (uint32_t)op->kernel_h * op->kernel_w, at_once = mve ? 16 : 4;
  const uint32_t groups = ceil_div(o->out->channels, at_once);
  const uint32_t words = mve ? 16 + ceil_div(taps, 2) * 8 + 32 : 4 + ceil_div(taps, 3) * 6 + 12; /* of each group */
  const bool deep = o->in->channels >= at_once || (mve && tmo_mve_has_nine(op) && o->in->channels % 4 == 0);
  if (op->kind != TMO_OP_DEPTHWISE || o->in->channels != o->out->channels || !deep || taps > TMO_PACKED_TAPS) return false;
  if (!has_words(c, op->weights, times(words, groups)) || !may_read(c, groups)) return false;
  const int32_t *end = (const int32_t *)tmo_constant(c->program, op->weights);
  for (uint32_t i = 0; i < groups; ++i) {
    end += words;
    if (mve ? !check_mve_shifts(end - 16, 16) : !check_packed_scales(end - 12, 4)) return false;
  }
  return true;
}

/* Whether an operator with weights may be packed like this, for this target. */
static bool known_packing(const checker *c, uint16_t packing) {
  switch (packing) {
    case TMO_PACKING_DSP_CONV:
    case TMO_PACKING_DSP_DEPTHWISE:
    case TMO_PACKING_DSP_DENSE: return c->header->target != TMO_TARGET_GENERIC;
    case TMO_PACKING_MVE_CONV:
    case TMO_PACKING_MVE_DEPTHWISE: return c->header->target == TMO_TARGET_MVE;
    default: return false;
  }
}

/* Constants of a packed operator, and its scratch. */
static bool check_packed(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  const bool depthwise = tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) || tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE);
  if (!known_packing(c, op->packing) || tmo_iterative(op) || tmo_groups(op) > 1) return false;
  if (depthwise ? !check_packed_depthwise(c, o) : !check_packed_conv(c, o)) return false;
  return in_workspace(c, op->accumulator, tmo_scratch_bytes(op, o->in, o->out), 4);
}

/* A window of one pixel. */
static bool pointwise(const tmo_op *op) {
  const bool high = op->kernel_h == 1 && op->stride_h == 1 && op->dilation_h == 1 && op->pad_top == 0;
  const bool wide = op->kernel_w == 1 && op->stride_w == 1 && op->dilation_w == 1 && op->pad_left == 0;
  return high && wide && !tmo_iterative(op);
}

static bool check_packed_add(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  const bool packed = c->header->target != TMO_TARGET_GENERIC && tmo_is_packed_as(op, TMO_PACKING_DSP_ADD) && tmo_groups(op) == 1;
  for (uint8_t k = 0; k < op->n_inputs; ++k) { /* nothing is repeated */
    const tmo_tensor *in = &c->tensors[op->input[k]];
    if (!same_size(in, o->out) || in->channels != o->out->channels) return false;
  }
  if (!packed || op->kind != TMO_OP_ADD || !pointwise(op) || !has_words(c, op->bias, 11)) return false;
  const int32_t *scales = (const int32_t *)tmo_constant(c->program, op->bias);
  for (uint32_t i = 0; i < 8; i += 4) {
    if (scales[i] < 0 || scales[i] > MAX_ADD_SHIFT || !check_packed_scales(scales + i + 1, 1)) return false;
  }
  return check_packed_scales(scales + 8, 1);
}

static bool check_pool(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  const uint32_t rows = op->kernel_h < o->in->height ? op->kernel_h : o->in->height;
  const uint32_t columns = op->kernel_w < o->in->width ? op->kernel_w : o->in->width;
  if (o->out->channels != o->in->channels || op->dilation_h != 1 || op->dilation_w != 1) return false;
  if (rows * columns > MAX_POOL_AREA || !check_windowed(c, o)) return false;
  return op->kind != TMO_OP_MEAN || check_scaling(c, op, 1);
}

static bool check_combination(checker *c, const tmo_op *op) {
  switch (op->kind) {
    case TMO_OP_MAXIMUM:
    case TMO_OP_MINIMUM: return true;
    case TMO_OP_MUL: return check_scaling(c, op, 1);
    case TMO_OP_PRELU: return check_scaling(c, op, 2);
    case TMO_OP_ADD_S16: return check_scaling(c, op, 3);
    default: return op->param >= 0 && op->param <= MAX_ADD_SHIFT && check_scaling(c, op, 3);
  }
}

/* Both operands have the output's height, width and channels, or 1; channel groups are those of the output. */
static bool check_binary(checker *c, const operation *o) {
  if (!pointwise(o->op)) return false;
  const bool s16 = tmo_is_s16(o->op);
  if (s16 && o->out->channels % 2 != 0) return false;
  for (uint8_t k = 0; k < o->op->n_inputs; ++k) {
    const tmo_tensor *in = &c->tensors[o->op->input[k]];
    if (in->height != o->out->height && in->height != 1) return false;
    if (in->width != o->out->width && in->width != 1) return false;
    if (s16 && (in->height != o->out->height || tmo_row_bytes(in) != tmo_row_bytes(o->out))) return false;
    if (in->channels != o->out->channels && (in->channels != 1 || tmo_groups(o->op) > 1)) return false;
  }
  return check_combination(c, o->op);
}

/* Row y of the operand makes row y of the output. */
static bool check_pointwise(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  if (!pointwise(op) || o->in->height != o->out->height || tmo_row_bytes(o->in) != tmo_row_bytes(o->out)) return false;
  if (tmo_is_tiled(o->block) && o->in->width != o->out->width) return false;
  if (op->kind == TMO_OP_LOOKUP) return has_constant(c, op->weights, TMO_TABLE_BYTES, 1);
  return o->in->channels == o->out->channels && o->out->channels <= MAX_SOFTMAX_CHANNELS && op->param <= 0 && check_scaling(c, op, 1);
}

/* Every pixel of indices names a row of the table. Frames have pixels of int8. */
static bool check_gather(const checker *c, const operation *o) {
  const tmo_op *op = o->op;
  if (!same_size(o->in, o->out) || o->in->channels != TMO_INDEX_BYTES) return false;
  if (tmo_iterative(op) || tmo_groups(op) > 1 || op->param < 1 || tmo_is_frame(c->program, o->in)) return false;
  return has_constant(c, op->weights, times((uint32_t)op->param, o->out->channels), 1);
}

static const tmo_access *accesses(const checker *c, const tmo_op *op) {
  return (const tmo_access *)(const void *)(c->program + op->access);
}

/* The rows that are read at once are not too many, and their numbers are int32_t. */
static bool check_accesses(const checker *c, const operation *o) {
  const tmo_op *op = o->op;
  if (tmo_is_tiled(o->block) || tmo_iterative(op) || !has_constant(c, op->access, op->n_inputs * sizeof(tmo_access), 4)) return false;
  uint32_t rows = 0;
  for (uint32_t k = 0; k < op->n_inputs; ++k) {
    const tmo_access *a = &accesses(c, op)[k];
    const bool small = a->add > -(int32_t)MAX_EXTENT && a->add < (int32_t)MAX_EXTENT && (uint32_t)a->mul * o->out->height < MAX_EXTENT;
    if (a->div == 0 || a->extent == 0 || !small) return false;
    if (a->table != 0 && !has_constant(c, a->table, 2 * (uint32_t)o->out->height, 2)) return false;
    rows += a->extent;
  }
  return rows <= TMO_MAX_KERNEL_H;
}

/* Of the operand that has the n-th of the rows that are read. 0: there are not so many. */
static uint32_t accessed_row_bytes(const checker *c, const tmo_op *op, uint32_t n) {
  for (uint32_t k = 0; k < op->n_inputs; ++k) {
    const uint32_t extent = accesses(c, op)[k].extent;
    if (n < extent) return tmo_row_bytes(&c->tensors[op->input[k]]);
    n -= extent;
  }
  return 0;
}

/* Numbers below MAX_EXTENT, so that int64_t holds their products with counts. */
static bool run_fits(int64_t first, int64_t step, uint32_t count, uint32_t bytes, uint32_t size) {
  const int64_t last = first + step * (int64_t)(count - 1);
  const int64_t low = step < 0 ? last : first, high = step < 0 ? first : last;
  return low >= 0 && high < TOO_MANY && inside((uint32_t)high, bytes, size, 1);
}

static bool check_move(const checker *c, const operation *o, const tmo_copy *copy, const tmo_move *m) {
  const int64_t phases = (int64_t)m->phase_step * (copy->period - 1);
  const uint32_t from = accessed_row_bytes(c, o->op, m->row), to = tmo_row_bytes(o->out);
  return m->count > 0 && m->bytes > 0 && run_fits(m->source, m->source_step, m->count, m->bytes, from) &&
         run_fits(m->source + phases, m->source_step, m->count, m->bytes, from) &&
         run_fits(m->target, m->target_step, m->count, m->bytes, to);
}

static bool check_copy(checker *c, const operation *o) {
  if (!check_accesses(c, o) || !has_constant(c, o->op->weights, sizeof(tmo_copy), 4)) return false;
  const tmo_copy *copy = (const tmo_copy *)(const void *)(c->program + o->op->weights);
  const tmo_move *moves = (const tmo_move *)(const void *)(copy + 1);
  const uint32_t bytes = sizeof(tmo_copy) + copy->n_moves * (uint32_t)sizeof(tmo_move);
  if (copy->period == 0 || !has_constant(c, o->op->weights, bytes, 4) || !may_read(c, copy->n_moves)) return false;
  for (uint32_t i = 0; i < copy->n_moves; ++i) {
    if (!check_move(c, o, copy, &moves[i])) return false;
  }
  return true;
}

static bool check_resize(const checker *c, const operation *o) {
  const tmo_op *op = o->op;
  const int32_t half = op->param ? op->stride_h / 2 - 512 : 0;
  if (op->param < 0 || op->param > 1 || o->in->channels != o->out->channels || !check_accesses(c, o)) return false;
  const tmo_access *a = accesses(c, op);
  if (a->table != 0 || a->mul != op->stride_h || a->div != 1024 || a->extent != 2 || a->add != half) return false;
  const uint32_t last_row = op->stride_h * (o->out->height - 1u), last_column = op->stride_w * (o->out->width - 1u);
  if (last_row >= MAX_EXTENT || last_column >= MAX_EXTENT) return false;
  const int32_t wide = op->param ? op->stride_w / 2 - 512 : 0; /* each output pixel reads an input pixel */
  return (int32_t)last_row + half < o->in->height * 1024 && (int32_t)last_column + wide < o->in->width * 1024;
}

static bool check_transpose_conv(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  if (!check_accesses(c, o) || !check_filter(c, o)) return false;
  if (op->stride_h == 0 || op->stride_w == 0 || op->dilation_h != 1 || op->dilation_w != 1 || op->kernel_h == 0 || op->kernel_w == 0) {
    return false;
  }
  const tmo_access *a = accesses(c, op);
  const int32_t extent = (op->kernel_h - 1) / op->stride_h + 1;
  return a->table == 0 && a->mul == 1 && a->div == op->stride_h && a->extent == extent &&
         a->add == op->pad_top - op->stride_h * (extent - 1);
}

static bool check_batch_matmul(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  const tmo_tensor *right = &c->tensors[op->input[1]];
  const bool transposed = op->param == 1;
  const uint32_t depth = o->in->channels, out = o->out->channels;
  if (op->param < 0 || op->param > 1 || o->in->width != 1 || right->width != 1 || o->out->width != 1) return false;
  if (right->channels != (transposed ? depth : out) || !check_accesses(c, o)) return false;
  const tmo_access *a = accesses(c, op);
  return a[0].extent == 1 && a[1].extent == (transposed ? out : depth) && check_scaling(c, op, 1);
}

/* What a build has no kernel for, tmo_check_build() has refused. */
static bool check_kind(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  if (op->packing != TMO_PACKING_NONE) {
    if (op->kind == TMO_OP_ADD) return tmo_has_packing(TMO_PACKING_DSP_ADD) && check_packed_add(c, o);
    return (op->kind == TMO_OP_CONV || op->kind == TMO_OP_DEPTHWISE) && HAS_PACKED_FILTER && check_packed(c, o) && check_windowed(c, o);
  }
  if (tmo_is_binary(op)) return HAS_BINARY && check_binary(c, o);
  switch (op->kind) {
    case TMO_OP_COPY: return tmo_has_kind(TMO_OP_COPY) && check_copy(c, o);
    case TMO_OP_RESIZE_BILINEAR: return tmo_has_kind(TMO_OP_RESIZE_BILINEAR) && check_resize(c, o);
    case TMO_OP_TRANSPOSE_CONV: return tmo_has_kind(TMO_OP_TRANSPOSE_CONV) && check_transpose_conv(c, o);
    case TMO_OP_BATCH_MATMUL: return tmo_has_kind(TMO_OP_BATCH_MATMUL) && check_batch_matmul(c, o);
    case TMO_OP_CONV:
    case TMO_OP_DEPTHWISE:
    case TMO_OP_CONV_S16:
    case TMO_OP_DEPTHWISE_S16: return check_filter(c, o) && check_windowed(c, o);
    case TMO_OP_AVERAGE_POOL:
    case TMO_OP_MAX_POOL:
    case TMO_OP_MEAN: return check_pool(c, o);
    case TMO_OP_SOFTMAX:
    case TMO_OP_LOOKUP: return check_pointwise(c, o);
    case TMO_OP_GATHER: return tmo_has_kind(TMO_OP_GATHER) && check_gather(c, o);
    default: return false;
  }
}

static bool same_rows(const tmo_tensor *a, const tmo_tensor *b) {
  return a->base == b->base && a->offset == b->offset && a->height == b->height && a->depth == b->depth &&
         a->layout == b->layout && tmo_row_bytes(a) == tmo_row_bytes(b);
}

/* An operand is resident, or the output of an operator that comes earlier in the block. */
static bool check_operand(const checker *c, const tmo_block *block, uint32_t index, uint32_t k) {
  const tmo_op *op = &c->ops[index];
  if (op->input[k] >= c->header->n_tensors) return false;
  const tmo_tensor *in = &c->tensors[op->input[k]];
  const bool frame = tmo_is_frame(c->program, in), streamed = tmo_input_of(c->program) == TMO_INPUT_STREAM;
  if (frame && (op->producer[k] != TMO_NONE || tmo_reads_group(op))) return false;
  if (frame) return !streamed || block->first_op == 0; /* later blocks find nothing of it */
  if (op->producer[k] == TMO_NONE) return !tmo_has_lanes(in) && in->depth == in->height && !tmo_reads_group(op);
  if (op->producer[k] < block->first_op || op->producer[k] >= index) return false;
  const tmo_op *producer = &c->ops[op->producer[k]];
  if (!tmo_is_tiled(block)) return same_rows(in, &c->tensors[producer->output]);
  if (op->input[k] != producer->output || tmo_reads_group(op) != tmo_writes_group(producer)) return false;
  return !tmo_reads_group(op) || op->group_channels == producer->group_channels; /* of the same channels: as many groups, too */
}

/* Where pixels of an external frame become int8. Looks at accesses that check_kind() has found to exist. */
static bool check_conversion(const checker *c, const operation *o) {
  if (tmo_input_of(c->program) != TMO_INPUT_EXTERNAL) return true;
  const uint32_t bytes = tmo_converted_bytes(c->program, o->block, o->op);
  for (uint8_t k = 0; bytes > 0 && k < o->op->n_inputs; ++k) {
    const tmo_tensor *in = &c->tensors[o->op->input[k]];
    if (tmo_is_frame(c->program, in) && !in_workspace(c, in->offset, bytes, 1)) return false;
  }
  return true;
}

/* Groups divide the channels that are read, or written, or both, and are not empty. */
static bool check_groups(const operation *o) {
  const tmo_op *op = o->op;
  if (tmo_groups(op) == 1) return !tmo_sums_groups(op);
  if (op->groups == UINT16_MAX) return false; /* one pass more must be countable */
  if (tmo_iterative(op) || op->kind == TMO_OP_SOFTMAX || tmo_is_s16(op) || (tmo_sums_groups(op) && op->kind != TMO_OP_CONV)) return false;
  const bool reads = tmo_reads_group(op), writes = tmo_writes_group(op);
  if (reads && writes && o->in->channels != o->out->channels) return false;
  const uint32_t channels = reads ? o->in->channels : o->out->channels;
  const uint32_t before_last = (op->groups - 1u) * op->group_channels;
  return before_last < channels && channels - before_last <= op->group_channels;
}

/* The sums of the highest strip. */
static bool check_group_sums(checker *c, const operation *o) {
  if (!may_read(c, o->block->strips)) return false;
  int32_t highest = 0;
  for (uint16_t m = 0; m < o->block->strips; ++m) {
    const int32_t rows = tmo_strip_end(o->out, m) - tmo_strip_first(o->out, m);
    if (rows > highest) highest = rows;
  }
  return in_workspace(c, o->op->accumulator, times(times(4 * (uint32_t)o->out->width, o->out->channels), (uint32_t)highest), 4);
}

/* How an operator of a tiled block walks, and where its pixels go. */
static bool check_tiled(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  if (op->tile == 0 || !check_strips(o->block, o->out) || !check_groups(o)) return false;
  if (!check_lanes(c, o->out, tmo_pixel_bytes(op, o->out, tmo_writes_group(op)))) return false;
  if (tmo_iterative(op) && !(check_strips(o->block, o->in) && o->in->rows == o->in->advance)) return false;
  return !tmo_sums_groups(op) || check_group_sums(c, o);
}

static bool check_arity(const tmo_op *op) {
  if (op->kind == TMO_OP_COPY) return op->n_inputs >= 1 && op->n_inputs <= TMO_MAX_INPUTS;
  return op->n_inputs == (tmo_is_binary(op) || op->kind == TMO_OP_BATCH_MATMUL ? 2 : 1);
}

/* Not by its window. */
static bool reads_by_access(const tmo_op *op) {
  return op->kind == TMO_OP_COPY || op->kind == TMO_OP_RESIZE_BILINEAR || op->kind == TMO_OP_TRANSPOSE_CONV ||
         op->kind == TMO_OP_BATCH_MATMUL;
}

/* A firing of a row block goes through its rows forwards. */
static bool has_turned_pixels(const checker *c, const operation *o) {
  bool turned = o->out->layout == TMO_LAYOUT_PIXELS_TURNED;
  for (uint8_t k = 0; k < o->op->n_inputs; ++k) turned = turned || c->tensors[o->op->input[k]].layout == TMO_LAYOUT_PIXELS_TURNED;
  return turned;
}

static bool has_filter(const tmo_op *op) {
  return op->kind == TMO_OP_CONV || op->kind == TMO_OP_DEPTHWISE || op->kind == TMO_OP_TRANSPOSE_CONV || tmo_is_s16(op);
}

static bool check_op(checker *c, const tmo_block *block, uint32_t index) {
  const tmo_op *op = &c->ops[index];
  const uint8_t known = TMO_FLAG_SINK | TMO_FLAG_ITERATIVE | TMO_FLAG_PER_CHANNEL | TMO_FLAG_SUMS | TMO_FLAG_SWAPPED;
  if ((op->flags & ~known) != 0 || op->act_min > op->act_max) return false;
  if ((op->flags & TMO_FLAG_PER_CHANNEL) != 0 && !has_filter(op)) return false;
  if (!check_arity(op) || op->output >= c->header->n_tensors || (op->access != 0) != reads_by_access(op)) return false;
  for (uint32_t k = 0; k < op->n_inputs; ++k) {
    if (!check_operand(c, block, index, k)) return false;
  }
  const operation o = {block, op, &c->tensors[op->input[0]], &c->tensors[op->output]};
  if (tmo_is_frame(c->program, o.out) || o.out->base == TMO_PROGRAM_BASE) return false;
  const bool by_row = !has_turned_pixels(c, &o) && op->tile == 0 && op->groups <= 1 && !tmo_sums_groups(op) && !tmo_has_lanes(o.out);
  return (tmo_is_tiled(block) ? check_tiled(c, &o) : by_row) && check_kind(c, &o) && check_conversion(c, &o);
}

/* first: the operator after the previous block's last. */
static tmo_status check_block(checker *c, const tmo_block *block, uint32_t first) {
  if (block->first_op != first || block->n_ops == 0 || block->n_ops > c->header->n_ops - first) return TMO_ERROR_TABLE;
  const uint32_t counter = tmo_is_tiled(block) ? sizeof(tmo_unit) : sizeof(uint16_t);
  if (!in_workspace(c, block->counters, counter * block->n_ops, 2)) return TMO_ERROR_TABLE;
  for (uint32_t i = first; i < first + block->n_ops; ++i) {
    if (!check_op(c, block, i)) return TMO_ERROR_OP;
  }
  return TMO_OK;
}

/* They name operators of their blocks. Any such order is harmless: who fires stays inside his buffers, whatever his unit. */
TMO_OWN_FRAME static bool check_orders(checker *c) {
  const uint32_t n = c->header->n_blocks;
  const tmo_order *order = tmo_order_of(c->program, 0);
  if (order == NULL) return true;
  if (!has_constant(c, c->header->orders, n * (uint32_t)sizeof *order, 4)) return false;
  for (const tmo_block *block = tmo_blocks(c->program), *const end = block + n; block != end; ++block, ++order) {
    if (order->count == 0) continue;
    if (order->period == 0 || !has_constant(c, order->ops, order->period, 1) || !may_read(c, order->period)) return false;
    for (uint32_t i = 0; i < order->period; ++i) {
      if (c->program[order->ops + i] >= block->n_ops) return false;
    }
  }
  return true;
}

tmo_status tmo_check(const void *program, size_t program_bytes, const uint32_t *io_bytes, size_t n_inputs, size_t n_outputs,
                     size_t workspace_bytes) {
  tmo_status status = tmo_check_build(program, program_bytes, n_inputs, n_outputs, workspace_bytes);
  if (status != TMO_OK) return status;
  const tmo_header *h = tmo_header_of(program);
  checker c = {(const uint8_t *)program, h, tmo_tensors(program), tmo_ops(program), io_bytes, times(h->size, MAX_READS)};
  for (uint32_t i = 0; i < h->n_tensors; ++i) {
    status = check_tensor(&c, &c.tensors[i]);
    if (status != TMO_OK) return status;
  }
  if (tmo_input_of(program) != TMO_INPUT_ARENA && h->n_inputs == 0) return TMO_ERROR_TABLE;
  if (tmo_input_of(program) == TMO_INPUT_STREAM && !check_stream(&c)) return TMO_ERROR_TABLE;
  uint32_t first = 0;
  for (uint32_t i = 0; i < h->n_blocks; ++i) {
    const tmo_block *block = &tmo_blocks(program)[i];
    status = check_block(&c, block, first);
    if (status != TMO_OK) return status;
    first += block->n_ops;
  }
  if (first != h->n_ops || !check_orders(&c)) return TMO_ERROR_TABLE;
  return h->firings > 0 ? TMO_OK : TMO_ERROR_FIRINGS;
}
