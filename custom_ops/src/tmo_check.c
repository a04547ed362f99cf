/* The validator: what it lets through, the executor runs without ever leaving its buffers. Everything is compared in 64 bits.
 *
 * Data may still be wrong (a ring that is too shallow, buffers that overlap): that is the converter's checker's business. */
#include "tmo/access.h"
#include "tmo/tmo.h"
#include "tmo/walk.h"

#define MAX_EXTENT ((uint64_t)1 << 30)      /* of a window, and of all strips, so that coordinates are int32_t */
#define MAX_POOL_AREA ((uint64_t)1 << 23)   /* pixels of a pooling window, so that sums are int32_t */
#define MAX_SOFTMAX_CHANNELS 4095           /* so that the sum of their exponentials is below 2^31 */
#define MAX_ADD_SHIFT 22                    /* so that 9 bits stay inside int32_t */
#define MAX_READS 16                        /* elements read per byte of the program: checking stays linear when arrays are shared */

/* The same on every ABI: the converter packs these from a table. */
_Static_assert(sizeof(tmo_header) == 56 && sizeof(tmo_tensor) == 28 && sizeof(tmo_lane) == 12 && sizeof(tmo_op) == 64 &&
                   sizeof(tmo_block) == 12 && sizeof(tmo_unit) == 8,
               "packed layout");

typedef struct {
  const uint8_t *program;
  const tmo_header *header;
  const tmo_tensor *tensors;
  const tmo_op *ops;
  const uint32_t *io_bytes;
  uint64_t reads_left; /* elements of arrays that may be read still */
} checker;

/* An operator with its operands looked up. */
typedef struct {
  const tmo_block *block;
  const tmo_op *op;
  const tmo_tensor *in;
  const tmo_tensor *out;
} operation;

/* a * b for a, b up to 2^32, cut off there: more than any buffer has. */
static uint64_t times(uint64_t a, uint64_t b) {
  const uint64_t most = (uint64_t)1 << 32;
  const uint64_t product = a * b;
  return product < most ? product : most;
}

static bool inside(uint64_t offset, uint64_t bytes, uint64_t size, uint32_t alignment) {
  return offset % alignment == 0 && offset <= size && bytes <= size - offset;
}

static bool in_workspace(const checker *c, uint64_t offset, uint64_t bytes, uint32_t alignment) {
  return inside(offset, bytes, c->header->workspace, alignment);
}

static bool has_constant(const checker *c, uint32_t offset, uint64_t bytes, uint32_t alignment) {
  return offset != 0 && inside(offset, bytes, c->header->size, alignment);
}

/* Counts the reading of n elements. */
static bool may_read(checker *c, uint64_t n) {
  if (n > c->reads_left) return false;
  c->reads_left -= n;
  return true;
}

static tmo_status check_header(const void *program, size_t program_bytes) {
  const tmo_header *h = tmo_header_of(program);
  if ((uintptr_t)program % 16 != 0) return TMO_ERROR_ALIGNMENT;
  if (program_bytes < sizeof(tmo_header)) return TMO_ERROR_TRUNCATED;
  if (h->magic != TMO_MAGIC) return TMO_ERROR_MAGIC;
  if (h->version != TMO_VERSION) return TMO_ERROR_VERSION;
  if (h->target != TMO_TARGET_GENERIC) return TMO_ERROR_TARGET;
  if (h->size > program_bytes) return TMO_ERROR_TRUNCATED;
  if (h->size < sizeof(tmo_header)) return TMO_ERROR_TABLE;
  if (!inside(h->tensors, (uint64_t)h->n_tensors * sizeof(tmo_tensor), h->size, 4)) return TMO_ERROR_TABLE;
  if (!inside(h->ops, (uint64_t)h->n_ops * sizeof(tmo_op), h->size, 4)) return TMO_ERROR_TABLE;
  if (!inside(h->blocks, (uint64_t)h->n_blocks * sizeof(tmo_block), h->size, 4)) return TMO_ERROR_TABLE;
  return TMO_OK;
}

/* Of the buffer that a tensor lies in. */
static uint64_t base_bytes(const checker *c, const tmo_tensor *t) {
  return t->base == 0 ? c->header->workspace : c->io_bytes[t->base - 1];
}

static tmo_status check_tensor(const checker *c, const tmo_tensor *t) {
  const uint32_t n_io = (uint32_t)c->header->n_inputs + c->header->n_outputs;
  if (t->base > n_io || t->layout != TMO_LAYOUT_HWC) return TMO_ERROR_TABLE;
  if (t->channels == 0 || t->width == 0 || t->height == 0) return TMO_ERROR_TABLE;
  if (t->n_lanes > 0) return TMO_OK; /* check_lanes() */
  if (t->depth == 0 || t->depth > t->height) return TMO_ERROR_TABLE;
  const uint64_t bytes = times(times(t->width, t->channels), t->depth);
  if (inside(t->offset, bytes, base_bytes(c, t), 1)) return TMO_OK;
  return t->base == 0 ? TMO_ERROR_TABLE : TMO_ERROR_IO;
}

/* The strips of a tensor that a tiled block makes. */
static bool check_strips(const tmo_block *block, const tmo_tensor *t) {
  return t->advance > 0 && t->rows >= t->advance && (uint64_t)block->strips * t->advance < MAX_EXTENT;
}

/* Lanes hold the rows of a strip, each once, and lie inside. */
static bool check_lanes(checker *c, const tmo_tensor *t, uint32_t pixel) {
  if (t->n_lanes == 0) return true;
  if (!has_constant(c, t->lanes, t->n_lanes * sizeof(tmo_lane), 4) || !may_read(c, t->n_lanes)) return false;
  const tmo_lane *lanes = (const tmo_lane *)tmo_constant(c->program, t->lanes);
  uint32_t rows = 0;
  for (uint32_t i = 0; i < t->n_lanes; ++i) {
    rows += lanes[i].rows;
    if (lanes[i].depth == 0 || !inside(lanes[i].offset, times(lanes[i].depth, pixel), base_bytes(c, t), 1)) return false;
  }
  return rows == t->rows;
}

/* The window of each output coordinate begins inside the padded input and reaches into the input. */
static bool window_fits(uint32_t kernel, uint32_t stride, uint32_t dilation, uint32_t pad, uint32_t in, uint32_t out) {
  if (kernel == 0 || stride == 0 || dilation == 0) return false;
  const uint64_t extent = (uint64_t)(kernel - 1) * dilation + 1;
  return extent < MAX_EXTENT && pad < extent && (uint64_t)(out - 1) * stride < (uint64_t)in + pad;
}

static bool check_windowed(const checker *c, const operation *o) {
  const tmo_op *op = o->op;
  if (!window_fits(op->kernel_h, op->stride_h, op->dilation_h, op->pad_top, o->in->height, o->out->height)) return false;
  if (!window_fits(op->kernel_w, op->stride_w, op->dilation_w, op->pad_left, o->in->width, o->out->width)) return false;
  if (!tmo_iterative(op)) {
    return o->block->strips > 0 ? (uint32_t)op->kernel_h * op->kernel_w <= TMO_MAX_TAPS : op->kernel_h <= TMO_MAX_KERNEL_H;
  }
  const bool whole = op->kernel_h == o->in->height && op->dilation_h == 1 && op->pad_top == 0 && o->out->height == 1;
  return whole && in_workspace(c, op->accumulator, 4 * (uint64_t)tmo_row_bytes(o->out), 4);
}

/* Multipliers and shifts: `n` of each. */
static bool check_scaling(checker *c, const tmo_op *op, uint32_t n) {
  if (!has_constant(c, op->multipliers, 4 * (uint64_t)n, 4) || !has_constant(c, op->shifts, n, 1)) return false;
  if (!may_read(c, n)) return false;
  const int8_t *shifts = (const int8_t *)tmo_constant(c->program, op->shifts);
  for (uint32_t i = 0; i < n; ++i) {
    if (shifts[i] < -31 || shifts[i] > 30) return false;
  }
  return true;
}

static bool check_convolution(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  const bool depthwise = op->kind == TMO_OP_DEPTHWISE;
  if (depthwise && o->out->channels % o->in->channels != 0) return false;
  const uint64_t inputs = depthwise ? 1 : o->in->channels; /* that an output channel reads */
  const uint64_t weights = times(times((uint64_t)op->kernel_h * op->kernel_w, inputs), o->out->channels);
  if (!has_constant(c, op->weights, weights, 1)) return false;
  if (op->bias != 0 && !has_constant(c, op->bias, 4 * (uint64_t)o->out->channels, 4)) return false;
  return check_windowed(c, o) && check_scaling(c, op, op->flags & TMO_FLAG_PER_CHANNEL ? o->out->channels : 1);
}

static bool check_pool(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  const uint64_t rows = op->kernel_h < o->in->height ? op->kernel_h : o->in->height;
  const uint64_t columns = op->kernel_w < o->in->width ? op->kernel_w : o->in->width;
  if (o->out->channels != o->in->channels || op->dilation_h != 1 || op->dilation_w != 1) return false;
  if (rows * columns > MAX_POOL_AREA || !check_windowed(c, o)) return false;
  return op->kind != TMO_OP_MEAN || check_scaling(c, op, 1);
}

/* Row y of every operand makes row y of the output. */
static bool check_pointwise(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  const bool high = op->kernel_h == 1 && op->stride_h == 1 && op->dilation_h == 1 && op->pad_top == 0;
  const bool wide = op->kernel_w == 1 && op->stride_w == 1 && op->dilation_w == 1 && op->pad_left == 0;
  if (!high || !wide || tmo_iterative(op)) return false;
  for (uint8_t k = 0; k < op->n_inputs; ++k) {
    const tmo_tensor *in = &c->tensors[op->input[k]];
    if (in->height != o->out->height || tmo_row_bytes(in) != tmo_row_bytes(o->out)) return false;
    if (o->block->strips > 0 && in->width != o->out->width) return false;
  }
  if (op->kind == TMO_OP_ADD) return op->param >= 0 && op->param <= MAX_ADD_SHIFT && check_scaling(c, op, 3);
  if (op->kind == TMO_OP_REQUANT) return check_scaling(c, op, 1);
  return o->in->channels == o->out->channels && o->out->channels <= MAX_SOFTMAX_CHANNELS && op->param <= 0 && check_scaling(c, op, 1);
}

static bool check_kind(checker *c, const operation *o) {
  switch (o->op->kind) {
    case TMO_OP_CONV:
    case TMO_OP_DEPTHWISE: return check_convolution(c, o);
    case TMO_OP_AVERAGE_POOL:
    case TMO_OP_MAX_POOL:
    case TMO_OP_MEAN: return check_pool(c, o);
    case TMO_OP_ADD:
    case TMO_OP_SOFTMAX:
    case TMO_OP_REQUANT: return check_pointwise(c, o);
    default: return false;
  }
}

static bool same_rows(const tmo_tensor *a, const tmo_tensor *b) {
  return a->base == b->base && a->offset == b->offset && a->height == b->height && a->depth == b->depth &&
         tmo_row_bytes(a) == tmo_row_bytes(b);
}

/* An operand is resident, or the output of an operator that comes earlier in the block. */
static bool check_operand(const checker *c, const tmo_block *block, uint32_t index, uint32_t k) {
  const tmo_op *op = &c->ops[index];
  if (op->input[k] >= c->header->n_tensors) return false;
  const tmo_tensor *in = &c->tensors[op->input[k]];
  if (op->producer[k] == TMO_NONE) return in->n_lanes == 0 && in->depth == in->height && !tmo_reads_group(op);
  if (op->producer[k] < block->first_op || op->producer[k] >= index) return false;
  const tmo_op *producer = &c->ops[op->producer[k]];
  if (block->strips == 0) return same_rows(in, &c->tensors[producer->output]);
  if (op->input[k] != producer->output || tmo_reads_group(op) != tmo_writes_group(producer)) return false;
  return !tmo_reads_group(op) || op->group_channels == producer->group_channels; /* of the same channels: as many groups, too */
}

/* Groups divide the channels that are read, or written, or both, and are not empty. */
static bool check_groups(const operation *o) {
  const tmo_op *op = o->op;
  if (tmo_groups(op) == 1) return !tmo_sums_groups(op);
  if (op->groups == UINT16_MAX) return false; /* one pass more must be countable */
  if (tmo_iterative(op) || op->kind == TMO_OP_SOFTMAX || (tmo_sums_groups(op) && op->kind != TMO_OP_CONV)) return false;
  const bool reads = tmo_reads_group(op), writes = tmo_writes_group(op);
  if (reads && writes && o->in->channels != o->out->channels) return false;
  const uint32_t channels = reads ? o->in->channels : o->out->channels;
  const uint64_t before_last = (uint64_t)(op->groups - 1) * op->group_channels;
  return before_last < channels && channels - before_last <= op->group_channels;
}

/* The sums of the highest strip. */
static bool check_group_sums(checker *c, const operation *o) {
  const tmo_walk w = tmo_walk_of(c->program, o->block, o->op);
  if (!may_read(c, w.strips)) return false;
  int32_t highest = 0;
  for (uint16_t m = 0; m < w.strips; ++m) {
    const int32_t rows = tmo_strip_end(&w, m) - tmo_strip_first(&w, m);
    if (rows > highest) highest = rows;
  }
  return in_workspace(c, o->op->accumulator, times(times(4 * (uint64_t)o->out->width, o->out->channels), (uint64_t)highest), 4);
}

/* How an operator of a tiled block walks, and where its pixels go. */
static bool check_tiled(checker *c, const operation *o) {
  const tmo_op *op = o->op;
  if (op->tile == 0 || !check_strips(o->block, o->out) || !check_groups(o)) return false;
  if (!check_lanes(c, o->out, tmo_pixel_bytes(op, o->out, tmo_writes_group(op)))) return false;
  if (tmo_iterative(op) && !(check_strips(o->block, o->in) && o->in->rows == o->in->advance)) return false;
  return !tmo_sums_groups(op) || check_group_sums(c, o);
}

static bool check_op(checker *c, const tmo_block *block, uint32_t index) {
  const tmo_op *op = &c->ops[index];
  const uint8_t known = TMO_FLAG_SINK | TMO_FLAG_ITERATIVE | TMO_FLAG_PER_CHANNEL | TMO_FLAG_SUMS;
  if ((op->flags & ~known) != 0 || op->act_min > op->act_max) return false;
  if (op->n_inputs != (op->kind == TMO_OP_ADD ? 2 : 1) || op->output >= c->header->n_tensors) return false;
  for (uint32_t k = 0; k < op->n_inputs; ++k) {
    if (!check_operand(c, block, index, k)) return false;
  }
  const operation o = {block, op, &c->tensors[op->input[0]], &c->tensors[op->output]};
  const bool by_row = op->tile == 0 && op->groups <= 1 && !tmo_sums_groups(op) && o.out->n_lanes == 0;
  return (block->strips > 0 ? check_tiled(c, &o) : by_row) && check_kind(c, &o);
}

/* first: the operator after the previous block's last. */
static tmo_status check_block(checker *c, const tmo_block *block, uint32_t first) {
  if (block->first_op != first || block->n_ops == 0 || block->n_ops > c->header->n_ops - first) return TMO_ERROR_TABLE;
  const uint64_t counter = block->strips > 0 ? sizeof(tmo_unit) : sizeof(uint16_t);
  if (!in_workspace(c, block->counters, counter * block->n_ops, 2)) return TMO_ERROR_TABLE;
  for (uint32_t i = first; i < first + block->n_ops; ++i) {
    if (!check_op(c, block, i)) return TMO_ERROR_OP;
  }
  return TMO_OK;
}

tmo_status tmo_check(const void *program, size_t program_bytes, const uint32_t *io_bytes, size_t n_inputs, size_t n_outputs,
                     size_t workspace_bytes) {
  tmo_status status = check_header(program, program_bytes);
  if (status != TMO_OK) return status;
  const tmo_header *h = tmo_header_of(program);
  if (h->n_inputs != n_inputs || h->n_outputs != n_outputs || h->workspace > workspace_bytes) return TMO_ERROR_IO;

  checker c = {(const uint8_t *)program, h, tmo_tensors(program), tmo_ops(program), io_bytes, (uint64_t)h->size * MAX_READS};
  for (uint32_t i = 0; i < h->n_tensors; ++i) {
    status = check_tensor(&c, &c.tensors[i]);
    if (status != TMO_OK) return status;
  }
  uint32_t first = 0;
  for (uint32_t i = 0; i < h->n_blocks; ++i) {
    const tmo_block *block = &tmo_blocks(program)[i];
    status = check_block(&c, block, first);
    if (status != TMO_OK) return status;
    first += block->n_ops;
  }
  if (first != h->n_ops) return TMO_ERROR_TABLE;
  return h->firings > 0 ? TMO_OK : TMO_ERROR_FIRINGS;
}
