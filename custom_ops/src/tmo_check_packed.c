/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/check.h"

#include "tmo/packed.h"

/* Returns whether the operator is packed for Helium. Operators for Helium store multipliers before shifts, and store a right shift by e bits as the
 * number -e. Operators for the DSP extension store a multiplier, a constant and a right shift for each channel. */
static TMO_ALWAYS_INLINE bool is_mve(const tmo_op *op) {
  return tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) || tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE);
}

/* Returns the quotient of the positive numbers a and b, rounded up. */
static uint32_t ceil_div(uint32_t a, uint32_t b) { return (a - 1) / b + 1; }

static bool is_shift(uint32_t e) { return e - 1 < TMO_PACKED_SHIFT; }

/* Checks the scales of groups of channels. The argument `words` is the number of words that each group of channels has in the program. The words of
 * each group end with n scales. */
static bool check_scales(tmo_checker *c, const tmo_op *op, uint32_t at, uint32_t channel_groups, uint32_t words, uint32_t n) {
  if (!tmo_has_words(c, at, tmo_times(words, channel_groups)) || !tmo_may_read(c, channel_groups)) return false;
  const int32_t *end = (const int32_t *)tmo_constant(c->program, at);
  for (; channel_groups > 0; --channel_groups) {
    end += words;
    for (uint32_t i = 0; i < n; ++i) {
      if (!is_shift(is_mve(op) ? 0u - (uint32_t)end[-1 - (int32_t)i] : (uint32_t)end[-1 - 3 * (int32_t)i])) return false;
    }
  }
  return true;
}

static bool is_direct(const tmo_operation *o) {
  const bool by_row = tmo_by_row(o->op) || (tmo_is_packed_as(o->op, TMO_PACKING_DSP_DENSE) && o->out->width == 1);
  return tmo_packed_direct(o->op, o->in->channels, o->out->channels, by_row ? o->out->width : o->op->tile);
}

static bool check_conv(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool mve = is_mve(op);
  const uint32_t at_once = mve ? 4 : 2, words = mve ? 3 * 4 : TMO_PACKED_SCALES, channel_groups = ceil_div(o->out->channels, at_once);
  if (!mve && !tmo_has_part(TMO_PART_DSP_NARROW) && op->kernel_w * o->in->channels < 4) return false; /* the kernels read at least four bytes of a row */
  const uint32_t values = tmo_packed_values(op, o->in->channels);
  if (values > tmo_packed_tile(op) && !is_direct(o)) return false;
  if (tmo_at_once(op) > TMO_PACKED_PIXELS || (tmo_at_once(op) > 1 && values > TMO_PACKED_TILE)) return false;
  if (tmo_makes_two_rows(op) && (o->out->width != TMO_FIVE_PIXELS || values > TMO_FIVE_VALUES)) return false;
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_DENSE)) {
    const uint32_t taps = (uint32_t)op->kernel_h * op->kernel_w;
    if (!is_direct(o) || o->out->channels % 2 != 0) return false;
    if (taps > 1 && (op->tile != 1 || taps > TMO_PACKED_TAPS || values > TMO_PACKED_TILE)) return false;
  }
  if (!tmo_has_weights(c, op, tmo_times(at_once * values, channel_groups), 4)) return false;
  return check_scales(c, op, op->scales, channel_groups, words, at_once);
}

static bool check_depthwise(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool mve = is_mve(op), nine = mve && tmo_mve_has_nine(op);
  const uint32_t taps = (uint32_t)op->kernel_h * op->kernel_w, at_once = mve ? 16 : 4, channels = o->in->channels;
  const uint32_t words = mve ? 16 + (taps + 1) / 2 * 8 + 32 : 4 + (taps + 2) / 3 * 6 + 12; /* number of words of constants that a group of channels has */
  if (tmo_at_once(op) > TMO_PACKED_PIXELS || (tmo_makes_two_rows(op) && !tmo_dsp_has_3x3(op, o->out->width))) return false;
  if (mve && !nine && !tmo_has_part(TMO_PART_TAPS)) return false;
  if (channels < at_once && !(nine && channels % 4 == 0)) return false;
  return check_scales(c, op, op->weights, ceil_div(channels, at_once), words, at_once);
}

static bool check_rvv(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool depthwise = tmo_packs_depthwise(op);
  const uint32_t channels = o->out->channels, values = (uint32_t)op->kernel_h * op->kernel_w * (depthwise ? 1 : o->in->channels);
  if (!depthwise && values > TMO_MVE_TILE && !is_direct(o)) return false;
  if (!tmo_has_weights(c, op, tmo_times(values, channels), 1)) return false;
  if (!tmo_has_words(c, op->scales, tmo_times(2, channels) + ceil_div(channels, 2)) || !tmo_may_read(c, channels)) return false;
  const int16_t *rights = (const int16_t *)((const int32_t *)tmo_constant(c->program, op->scales) + 2 * channels);
  for (uint32_t i = 0; i < channels; ++i) {
    if (!is_shift((uint32_t)rights[i])) return false;
  }
  return true;
}

static bool check_esp(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  const bool depthwise = tmo_packs_depthwise(op);
  const uint32_t taps = (uint32_t)op->kernel_h * op->kernel_w, channels = o->out->channels;
  if (depthwise) {
    /* for a larger kernel, the weights do not fit into a program, or the size of the scratch memory overflows */
    if (op->dilation_w != 1 || tmo_times(taps * 4, tmo_times(channels + 15, op->stride_w)) >= TMO_MAX_EXTENT / 16) return false;
  } else if (taps * o->in->channels > TMO_MVE_TILE) {
    return false;
  }
  const uint32_t values = depthwise ? taps : tmo_packed_values(op, o->in->channels), padded = depthwise ? tmo_esp_channels(op, channels) : channels;
  if (!tmo_has_weights(c, op, tmo_times(values, padded), 16)) return false;
  if (!tmo_has_words(c, op->scales, tmo_times(3, padded)) || !tmo_may_read(c, padded)) return false;
  const int32_t *shifts = (const int32_t *)tmo_constant(c->program, op->scales) + 2 * padded;
  for (uint32_t i = 0; i < padded; ++i) {
    if (!is_shift(0u - (uint32_t)shifts[i])) return false;
  }
  return true;
}

static bool check_add(const tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  if (op->kind != TMO_OP_ADD || !tmo_has_words(c, op->scales, 11)) return false;
  for (uint8_t k = 0; k < op->n_inputs; ++k) { /* a packed addition must not broadcast an operand */
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

/* Returns whether the core for which the program was converted can run the operator's packing. The function tmo_check_build() has checked that this
 * build has the packing. */
static bool runs_packing(const tmo_checker *c, const tmo_op *op) {
  const uint16_t target = tmo_header_of(c->program)->target;
  uint64_t packings = target == TMO_TARGET_GENERIC ? 0 : TMO_OF_DSP;
  if (TMO_RUNS_MVE && target == TMO_TARGET_MVE) packings |= TMO_OF_MVE;
  if (TMO_RUNS_RVV && target == TMO_TARGET_RVV) packings = TMO_OF_RVV;
  if (TMO_RUNS_ESP && target == TMO_TARGET_ESP) packings = TMO_OF_ESP;
  return ((uint32_t)packings >> op->packing & 1) != 0;
}

bool tmo_check_packed(tmo_checker *c, const tmo_operation *o) {
  const tmo_op *op = o->op;
  if (!runs_packing(c, op) || tmo_iterative(op) || tmo_channel_groups(op) > 1) return false;
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_ADD)) return check_add(c, o);
  const uint32_t taps = (uint32_t)op->kernel_h * op->kernel_w;
  if (tmo_packs_depthwise(op)) {
    if (op->kind != TMO_OP_DEPTHWISE || o->in->channels != o->out->channels || taps > TMO_PACKED_TAPS) return false;
  } else {
    if (op->kind != TMO_OP_CONV && (op->kind != TMO_OP_DEPTHWISE || o->in->channels != 1)) return false;
    if (tmo_times(taps, o->in->channels) >= TMO_MAX_EXTENT) return false; /* from TMO_MAX_EXTENT values on, a kernel's weights do not fit into a program */
  }
  const bool rvv = tmo_is_packed_as(op, TMO_PACKING_RVV_CONV) || tmo_is_packed_as(op, TMO_PACKING_RVV_DEPTHWISE);
  const bool esp = tmo_is_packed_as(op, TMO_PACKING_ESP_CONV) || tmo_is_packed_as(op, TMO_PACKING_ESP_DEPTHWISE);
  const bool valid = rvv ? check_rvv(c, o) : esp ? check_esp(c, o) : tmo_packs_depthwise(op) ? check_depthwise(c, o) : check_conv(c, o);
  return valid && tmo_in_workspace(c, op->scratch, tmo_scratch_bytes(op, o->in, o->out), 4);
}
