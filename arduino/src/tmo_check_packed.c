/* The constants of operators that are packed for a core, and their scratch. */
#include "tmo/check.h"

#include "tmo/packed.h"

#define HAS_SCALES                                                                        \
  (tmo_has_packing(TMO_PACKING_DSP_CONV) || tmo_has_packing(TMO_PACKING_DSP_DEPTHWISE) || \
   tmo_has_packing(TMO_PACKING_DSP_DENSE) || tmo_has_packing(TMO_PACKING_DSP_ADD))

/* a / b, rounded up. */
static uint32_t ceil_div(uint32_t a, uint32_t b) { return a / b + (a % b > 0); }

/* The shifts of n scales, m2, c, e each, are such that a twin in C computes them. */
static bool check_scales(const int32_t *scales, uint32_t n) {
  if (!HAS_SCALES) return false;
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

static bool check_conv(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool mve = tmo_is_packed_as(op, TMO_PACKING_MVE_CONV), dense = tmo_is_packed_as(op, TMO_PACKING_DSP_DENSE);
  const uint64_t values = tmo_packed_values(op, o->in->channels);
  const uint32_t at_once = mve ? 4 : 2, groups = ceil_div(o->out->channels, at_once);
  const uint32_t words = mve ? 3 * 4 : TMO_PACKED_SCALES; /* of the scales of each */
  const bool direct = tmo_packed_direct(op, o->in->channels, o->out->channels, op->tile == 0 || dense ? o->out->width : op->tile);
  if (op->kind != TMO_OP_CONV && (op->kind != TMO_OP_DEPTHWISE || o->in->channels != 1)) return false;
  if (values > tmo_packed_tile(op) && !direct) return false;
  if (dense && (o->out->width != 1 || !direct || o->out->channels % 2 != 0)) return false;
  if (values >= TMO_TOO_MANY || !tmo_has_constant(c, op->weights, tmo_times(tmo_times(at_once, (uint32_t)values), groups), 4)) return false;
  if (!tmo_has_words(c, op->bias, tmo_times(words, groups)) || !tmo_may_read(c, groups)) return false;
  const int32_t *scales = (const int32_t *)tmo_constant(c->program, op->bias);
  for (uint32_t i = 0; i < groups; ++i, scales += words) {
    if (mve ? !check_mve_shifts(scales + 8, 4) : !check_scales(scales + 2, 2)) return false;
  }
  return true;
}

static bool check_depthwise(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool mve = tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE);
  const uint32_t taps = (uint32_t)op->kernel_h * op->kernel_w, at_once = mve ? 16 : 4;
  const uint32_t groups = ceil_div(o->out->channels, at_once);
  const uint32_t words = mve ? 16 + ceil_div(taps, 2) * 8 + 32 : 4 + ceil_div(taps, 3) * 6 + 12; /* of each group */
  const bool deep = o->in->channels >= at_once || (mve && tmo_mve_has_nine(op) && o->in->channels % 4 == 0);
  if (op->kind != TMO_OP_DEPTHWISE || o->in->channels != o->out->channels || !deep || taps > TMO_PACKED_TAPS) return false;
  if (!tmo_has_words(c, op->weights, tmo_times(words, groups)) || !tmo_may_read(c, groups)) return false;
  const int32_t *end = (const int32_t *)tmo_constant(c->program, op->weights);
  for (uint32_t i = 0; i < groups; ++i) {
    end += words;
    if (mve ? !check_mve_shifts(end - 16, 16) : !check_scales(end - 12, 4)) return false;
  }
  return true;
}

#if TMO_RUNS_RVV
static bool is_rvv(const tmo_op *op) { return tmo_is_packed_as(op, TMO_PACKING_RVV_CONV) || tmo_is_packed_as(op, TMO_PACKING_RVV_DEPTHWISE); }

static bool check_rvv(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool depthwise = tmo_is_packed_as(op, TMO_PACKING_RVV_DEPTHWISE), of_one = o->in->channels == 1;
  const uint64_t taps = (uint64_t)op->kernel_h * op->kernel_w, values = depthwise ? taps : tmo_packed_values(op, o->in->channels);
  const uint32_t channels = o->out->channels;
  if (depthwise ? op->kind != TMO_OP_DEPTHWISE || o->in->channels != channels || taps > TMO_PACKED_TAPS
                : op->kind != TMO_OP_CONV && (op->kind != TMO_OP_DEPTHWISE || !of_one)) {
    return false;
  }
  const bool direct = !depthwise && tmo_packed_direct(op, o->in->channels, channels, op->tile == 0 ? o->out->width : op->tile);
  if (values > TMO_MVE_TILE && (!direct || values >= TMO_TOO_MANY)) return false;
  if (!tmo_has_constant(c, op->weights, tmo_times((uint32_t)values, channels), 1)) return false;
  if (!tmo_has_words(c, op->bias, tmo_times(2, channels) + ceil_div(channels, 2)) || !tmo_may_read(c, channels)) return false;
  const int16_t *rights = (const int16_t *)((const int32_t *)tmo_constant(c->program, op->bias) + 2 * channels);
  for (uint32_t i = 0; i < channels; ++i) {
    if (rights[i] < 1 || rights[i] > TMO_PACKED_SHIFT) return false;
  }
  return true;
}
#endif

/* Whether an operator with weights may be packed like this, for this target. */
static bool known_packing(const tmo_checker *c, const tmo_op *op) {
  const uint16_t target = tmo_header_of(c->program)->target;
#if TMO_RUNS_RVV
  if (is_rvv(op) || target == TMO_TARGET_RVV) return is_rvv(op) && target == TMO_TARGET_RVV;
#endif
  if (tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) || tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE)) return target == TMO_TARGET_MVE;
  return target != TMO_TARGET_GENERIC && (tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) || tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) ||
                                          tmo_is_packed_as(op, TMO_PACKING_DSP_DENSE));
}

/* Weights in the layout of their packing, and the scratch. */
bool tmo_check_packed_filter(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool depthwise = tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) || tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE);
  if (!known_packing(c, op) || tmo_iterative(op) || tmo_groups(op) > 1) return false;
#if TMO_RUNS_RVV
  if (is_rvv(op)) return check_rvv(c, o) && tmo_in_workspace(c, op->accumulator, tmo_scratch_bytes(op, o->in, o->out), 4);
#endif
  if (depthwise ? !check_depthwise(c, o) : !check_conv(c, o)) return false;
  return tmo_in_workspace(c, op->accumulator, tmo_scratch_bytes(op, o->in, o->out), 4);
}

bool tmo_check_packed_add(const tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const uint16_t target = tmo_header_of(c->program)->target;
  if (!tmo_is_packed_as(op, TMO_PACKING_DSP_ADD) || target == TMO_TARGET_GENERIC || (TMO_RUNS_RVV && target == TMO_TARGET_RVV)) return false;
  if (op->kind != TMO_OP_ADD || tmo_groups(op) > 1 || !tmo_has_words(c, op->bias, 11)) return false;
  for (uint8_t k = 0; k < op->n_inputs; ++k) { /* nothing is repeated */
    const tmo_tensor *in = &c->tensors[op->input[k]];
    if (!tmo_same_size(in, o->out) || in->channels != o->out->channels) return false;
  }
  const int32_t *scales = (const int32_t *)tmo_constant(c->program, op->bias);
  for (uint32_t i = 0; i < 8; i += 4) {
    if (scales[i] < 0 || scales[i] > TMO_MAX_ADD_SHIFT || !check_scales(scales + i + 1, 1)) return false;
  }
  const int32_t *const half = scales + 4 * tmo_half(scales);
  return half[1] == INT32_MIN && tmo_half_shift(half) >= 0 && check_scales(scales + 8, 1);
}
