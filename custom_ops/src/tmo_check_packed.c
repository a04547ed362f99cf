/* SPDX-License-Identifier: Apache-2.0 */
/* This file checks the constants and the scratch memory of packed operators. */
#include "tmo/check.h"

#include "tmo/packed.h"

/* Returns whether the operator is packed for the DSP extension. Each channel then has three scales: m2, c and e. An operator packed for Helium has
 * multipliers and then shifts, where e is a right shift and -e is stored. */
static TMO_ALWAYS_INLINE bool is_dsp(const tmo_op *op) {
  return tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) || tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) || tmo_is_packed_as(op, TMO_PACKING_DSP_DENSE);
}

static uint32_t ceil_div(uint32_t a, uint32_t b) { return a / b + (a % b > 0); }

/* Returns whether kernels support the right shift e. */
static bool is_shift(uint32_t e) { return e - 1 < TMO_PACKED_SHIFT; }

/* Checks groups of `words` words. The last n words of each group are scales. */
static bool check_scales(tmo_checker *c, uint32_t at, uint32_t channel_groups, uint32_t words, uint32_t n, bool dsp) {
  if (!tmo_has_words(c, at, tmo_times(words, channel_groups)) || !tmo_may_read(c, channel_groups)) return false;
  const int32_t *end = (const int32_t *)tmo_constant(c->program, at);
  for (; channel_groups > 0; --channel_groups) {
    end += words;
    for (uint32_t i = 0; i < n; ++i) {
      if (!is_shift(dsp ? (uint32_t)end[-1 - 3 * (int32_t)i] : 0u - (uint32_t)end[-1 - (int32_t)i])) return false;
    }
  }
  return true;
}

static bool check_conv(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool dsp = is_dsp(op), dense = tmo_is_packed_as(op, TMO_PACKING_DSP_DENSE);
  const uint32_t at_once = dsp ? 2 : 4, words = dsp ? TMO_PACKED_SCALES : 3 * 4, channel_groups = ceil_div(o->out->channels, at_once);
  const bool direct = tmo_packed_direct(op, o->in->channels, o->out->channels, tmo_by_row(op) || dense ? o->out->width : op->tile);
  if (op->kind != TMO_OP_CONV && (op->kind != TMO_OP_DEPTHWISE || o->in->channels != 1)) return false;
  /* the weights of larger filters do not fit into a program */
  if (tmo_times((uint32_t)op->kernel_h * op->kernel_w, o->in->channels) >= TMO_MAX_EXTENT) return false;
  if (dsp && !tmo_has_part(TMO_PART_DSP_NARROW) && op->kernel_w * o->in->channels < 4) return false; /* the kernels read at least four bytes of a row */
  const uint32_t values = tmo_packed_values(op, o->in->channels);
  if (values > tmo_packed_tile(op) && !direct) return false;
  if (tmo_at_once(op) > TMO_PACKED_PIXELS || (tmo_at_once(op) > 1 && values > TMO_PACKED_TILE)) return false;
  if (tmo_makes_two_rows(op) && (o->out->width != TMO_FIVE_PIXELS || values > TMO_FIVE_VALUES)) return false;
  if (dense && (o->out->width != 1 || !direct || o->out->channels % 2 != 0)) return false;
  if (!tmo_has_weights(c, op, tmo_times(at_once * values, channel_groups), 4)) return false;
  return check_scales(c, op->scales, channel_groups, words, at_once, dsp);
}

static bool check_depthwise(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool dsp = is_dsp(op);
  const uint32_t taps = (uint32_t)op->kernel_h * op->kernel_w, at_once = dsp ? 4 : 16, channels = o->in->channels;
  const uint32_t words = dsp ? 4 + ceil_div(taps, 3) * 6 + 12 : 16 + ceil_div(taps, 2) * 8 + 32; /* words of constants in one group of channels */
  if (tmo_at_once(op) > TMO_PACKED_PIXELS || (tmo_makes_two_rows(op) && !tmo_dsp_has_3x3(op, o->out->width))) return false;
  if (!dsp && !tmo_has_part(TMO_PART_TAPS) && !tmo_mve_has_nine(op)) return false;
  const bool deep = channels >= at_once || (!dsp && tmo_mve_has_nine(op) && channels % 4 == 0);
  if (op->kind != TMO_OP_DEPTHWISE || channels != o->out->channels || !deep || taps > TMO_PACKED_TAPS) return false;
  return check_scales(c, op->weights, ceil_div(channels, at_once), words, at_once, dsp);
}

#if TMO_RUNS_RVV
static bool is_rvv(const tmo_op *op) { return tmo_is_packed_as(op, TMO_PACKING_RVV_CONV) || tmo_is_packed_as(op, TMO_PACKING_RVV_DEPTHWISE); }

static bool check_rvv(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool depthwise = tmo_is_packed_as(op, TMO_PACKING_RVV_DEPTHWISE), of_one = o->in->channels == 1;
  const uint32_t taps = (uint32_t)op->kernel_h * op->kernel_w, values = depthwise ? taps : tmo_times(taps, o->in->channels);
  const uint32_t channels = o->out->channels;
  if (depthwise ? op->kind != TMO_OP_DEPTHWISE || o->in->channels != channels || taps > TMO_PACKED_TAPS
                : op->kind != TMO_OP_CONV && (op->kind != TMO_OP_DEPTHWISE || !of_one)) {
    return false;
  }
  const bool direct = !depthwise && tmo_packed_direct(op, o->in->channels, channels, tmo_by_row(op) ? o->out->width : op->tile);
  if (values > TMO_MVE_TILE && !direct) return false;
  if (!tmo_has_weights(c, op, tmo_times(values, channels), 1)) return false;
  if (!tmo_has_words(c, op->scales, tmo_times(2, channels) + ceil_div(channels, 2)) || !tmo_may_read(c, channels)) return false;
  const int16_t *rights = (const int16_t *)((const int32_t *)tmo_constant(c->program, op->scales) + 2 * channels);
  for (uint32_t i = 0; i < channels; ++i) {
    if (rights[i] < 1 || rights[i] > TMO_PACKED_SHIFT) return false;
  }
  return true;
}
#endif

#if TMO_RUNS_ESP
static bool is_esp(const tmo_op *op) { return tmo_is_packed_as(op, TMO_PACKING_ESP_CONV) || tmo_is_packed_as(op, TMO_PACKING_ESP_DEPTHWISE); }

static bool check_esp(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool depthwise = tmo_is_packed_as(op, TMO_PACKING_ESP_DEPTHWISE);
  const uint32_t taps = (uint32_t)op->kernel_h * op->kernel_w, channels = o->out->channels;
  uint32_t values = taps, padded = channels;
  if (depthwise) {
    if (op->kind != TMO_OP_DEPTHWISE || o->in->channels != channels || taps > TMO_PACKED_TAPS || op->dilation_w != 1) return false;
    /* larger filters do not fit into a program, or the size of their scratch overflows */
    if (tmo_times(taps * 4, tmo_times(channels + 15, op->stride_w)) >= TMO_MAX_EXTENT / 16) return false;
    padded = tmo_esp_channels(op, channels);
  } else {
    if (op->kind != TMO_OP_CONV && (op->kind != TMO_OP_DEPTHWISE || o->in->channels != 1)) return false;
    if (tmo_times(taps, o->in->channels) > TMO_MVE_TILE) return false;
    values = tmo_packed_values(op, o->in->channels);
  }
  if (!tmo_has_weights(c, op, tmo_times(values, padded), 16)) return false;
  if (!tmo_has_words(c, op->scales, tmo_times(3, padded)) || !tmo_may_read(c, padded)) return false;
  const int32_t *shifts = (const int32_t *)tmo_constant(c->program, op->scales) + 2 * padded;
  for (uint32_t i = 0; i < padded; ++i) {
    if (!is_shift(0u - (uint32_t)shifts[i])) return false;
  }
  return true;
}
#endif

/* Returns whether the core for which the program is packed can run the operator's packing. */
static bool known_packing(const tmo_checker *c, const tmo_op *op) {
  const uint16_t target = tmo_header_of(c->program)->target;
#if TMO_RUNS_RVV
  if (is_rvv(op) || target == TMO_TARGET_RVV) return is_rvv(op) && target == TMO_TARGET_RVV;
#endif
#if TMO_RUNS_ESP
  if (is_esp(op) || target == TMO_TARGET_ESP) return is_esp(op) && target == TMO_TARGET_ESP;
#endif
  if (tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) || tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE)) return target == TMO_TARGET_MVE;
  return target != TMO_TARGET_GENERIC && is_dsp(op);
}

/* Checks the constants of a packed operator, as its packing arranges them. */
static bool check_packed_layout(tmo_checker *c, const tmo_operation *o) {
#if TMO_RUNS_RVV
  if (is_rvv(o->op)) return check_rvv(c, o);
#endif
#if TMO_RUNS_ESP
  if (is_esp(o->op)) return check_esp(c, o);
#endif
  return tmo_packs_depthwise(o->op) ? check_depthwise(c, o) : check_conv(c, o);
}

/* Checks the scratch memory and the constants of a packed operator. */
bool tmo_check_packed_filter(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  if (!known_packing(c, op) || tmo_iterative(op) || tmo_channel_groups(op) > 1) return false;
  return check_packed_layout(c, o) && tmo_in_workspace(c, op->scratch, tmo_scratch_bytes(op, o->in, o->out), 4);
}

bool tmo_check_packed_add(const tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const uint16_t target = tmo_header_of(c->program)->target;
  if (!tmo_is_packed_as(op, TMO_PACKING_DSP_ADD) || target == TMO_TARGET_GENERIC || (TMO_RUNS_RVV && target == TMO_TARGET_RVV) ||
      (TMO_RUNS_ESP && target == TMO_TARGET_ESP)) {
    return false;
  }
  if (op->kind != TMO_OP_ADD || tmo_channel_groups(op) > 1 || !tmo_has_words(c, op->scales, 11)) return false;
  for (uint8_t k = 0; k < op->n_inputs; ++k) { /* a packed addition does not repeat an operand */
    const tmo_tensor *in = &c->tensors[op->input[k]];
    if (!tmo_same_size(in, o->out) || in->channels != o->out->channels) return false;
  }
  const int32_t *scales = (const int32_t *)tmo_constant(c->program, op->scales);
  for (uint32_t i = 0; i < 8; i += 4) {
    if (scales[i] < 0 || scales[i] > TMO_MAX_ADD_SHIFT || !is_shift((uint32_t)scales[i + 3])) return false;
  }
  const int32_t *const half = scales + 4 * tmo_half(scales);
  return half[1] == INT32_MIN && tmo_half_shift(half) >= 0 && is_shift((uint32_t)scales[10]);
}
