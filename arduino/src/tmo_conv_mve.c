/* Packed convolutions for Helium: gather the bytes of a few pixels, multiply them with sixteen channels, scale the sums. */
#include <string.h>

#include "tmo/packed.h"

#if TMO_RUNS_MVE

#if TMO_CORE_MVE
#include <arm_mve.h>
#endif

enum { GROUP = 16 }; /* channels, and bytes of a vector */

#if TMO_CORE_MVE

static void copy(int8_t *to, const int8_t *from, uint32_t n) {
  for (int32_t left = (int32_t)n; left > 0; left -= GROUP, to += GROUP, from += GROUP) {
    const mve_pred16_t some = vctp8q((uint32_t)left);
    vstrbq_p_s8(to, vldrbq_z_s8(from, some), some);
  }
}

/* Four channels at a time. */
static void scale(const tmo_kernel *k, const int32_t *sums, const int32_t *scales, uint32_t channels, int8_t *out) {
  const int32x4_t low = vdupq_n_s32(k->op->act_min), high = vdupq_n_s32(k->op->act_max);
  for (int32_t left = (int32_t)channels; left > 0; left -= 4, sums += 4, scales += 4, out += 4) {
    const int32x4_t sum = vldrwq_s32(sums);
    int32x4_t t = vqrdmulhq_s32(sum, vldrwq_s32(scales));
    t = vrshlq_s32(vaddq_s32(t, vshrq_n_s32(sum, 31)), vldrwq_s32(scales + GROUP));
    t = vminq_s32(vmaxq_s32(vaddq_n_s32(t, k->op->output_zero_point), low), high);
    vstrbq_p_s32(out, t, vctp32q((uint32_t)left));
  }
}

#else

static void copy(int8_t *to, const int8_t *from, uint32_t n) { memcpy(to, from, n); }

static void scale(const tmo_kernel *k, const int32_t *sums, const int32_t *scales, uint32_t channels, int8_t *out) {
  for (uint32_t c = 0; c < channels; ++c) out[c] = tmo_output(k, tmo_mve_scaled(sums[c], scales[c], scales[GROUP + c]));
}

static void sums_in_c(uint32_t pixels, const int8_t *bytes, uint32_t step, const int8_t *weights, const int32_t *biases, uint32_t turns,
                      uint32_t pairs, int32_t *sums) {
  for (uint32_t c = 0; c < 2 * pairs; ++c) {
    for (uint32_t p = 0; p < pixels; ++p) {
      uint32_t sum = (uint32_t)biases[c];
      for (uint32_t i = 0; i < GROUP * turns; ++i) {
        const uint32_t at = ((c / 2 * turns + i / GROUP) * 2 + c % 2) * GROUP + i % GROUP;
        sum += (uint32_t)(weights[at] * bytes[p * step + i]);
      }
      sums[p * GROUP + c] = (int32_t)sum;
    }
  }
}

#define TWIN(pixels)                                                                                                                          \
  void tmo_mve_sums_##pixels(const int8_t *bytes, uint32_t step, const int8_t *weights, const int32_t *biases, uint32_t turns, uint32_t pairs, \
                             int32_t *sums) {                                                                                                 \
    sums_in_c(pixels, bytes, step, weights, biases, turns, pairs, sums);                                                                      \
  }
TWIN(1)
TWIN(2)
TWIN(3)

#endif

static void put_row(const tmo_kernel *k, const tmo_window *w, uint32_t r, int8_t *to) {
  const tmo_op *op = k->op;
  if (op->tile == 0 && op->dilation_w == 1) {
    copy(to, w->pixels[r] + w->offset, w->columns * k->in_channels);
    return;
  }
  for (uint32_t x = 0; x < w->columns; ++x, to += k->in_channels) {
    const int8_t *tap = op->tile == 0 ? w->pixels[r] + w->offset + x * op->dilation_w * k->in_channels : w->pixels[r * w->columns + x];
    copy(to, tap, k->in_channels);
  }
}

void tmo_conv_mve_gather(const tmo_kernel *k, const tmo_window *w, uint32_t pixel) {
  const tmo_op *op = k->op;
  const uint32_t row = op->kernel_w * k->in_channels, taps = w->columns * k->in_channels, left = w->first_column * k->in_channels;
  const uint32_t rows = op->tile == 0 ? w->count : w->columns > 0 ? w->count / w->columns : 0;
  int8_t *to = (int8_t *)k->scratch + TMO_MVE_SUMS + pixel * (uint32_t)tmo_packed_values(op, k->in_channels);
  for (uint32_t ky = 0; ky < op->kernel_h; ++ky, to += row) {
    const uint32_t r = ky - w->first_row;
    const bool there = r < rows && taps > 0;
    if (!there || taps < row) memset(to, op->input_zero_point[0], row);
    if (there) put_row(k, w, r, to + left);
  }
}

void tmo_conv_mve_multiply(const tmo_kernel *k, const int8_t *bytes, uint32_t bytes_step, uint32_t pixels, int8_t *out, uint32_t step) {
  const uint32_t values = (uint32_t)tmo_packed_values(k->op, k->in_channels);
  const int8_t *weights = k->weights;
  const int32_t *scales = k->bias;
  int32_t *const sums = (int32_t *)k->scratch;
  if (bytes == NULL) bytes = (const int8_t *)k->scratch + TMO_MVE_SUMS;
  for (uint32_t c = 0; c < k->out_channels; c += GROUP, scales += 3 * GROUP) {
    const uint32_t n = k->out_channels - c < GROUP ? k->out_channels - c : GROUP, pairs = (n + 1) / 2;
    tmo_mve_sums *const core = pixels == 3 ? tmo_mve_sums_3 : pixels == 2 ? tmo_mve_sums_2 : tmo_mve_sums_1;
    core(bytes, bytes_step, weights, scales, values / GROUP, pairs, sums);
    weights += (size_t)2 * pairs * values;
    for (uint32_t p = 0; p < pixels; ++p) scale(k, sums + p * GROUP, scales + GROUP, n, out + p * step + c);
  }
}

void tmo_conv_mve_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  const tmo_op *op = k->op;
  const uint32_t values = (uint32_t)tmo_packed_values(op, k->in_channels);
  const bool as_they_lie = op->kernel_h == 1 && op->kernel_w == 1 && k->in_channels % GROUP == 0;
  const uint32_t step = op->stride_w * k->in_channels;
  uint32_t n;
  for (uint32_t x = 0; x < k->out_width; x += n, out += n * k->out_channels) {
    n = tmo_packed_pixels(op, values, k->out_width - x);
    if (as_they_lie) {
      tmo_conv_mve_multiply(k, rows->pixels[0] + x * step, step, n, out, k->out_channels);
      continue;
    }
    for (uint32_t p = 0; p < n; ++p) {
      const tmo_window window = tmo_column(k, rows, (uint16_t)(x + p));
      tmo_conv_mve_gather(k, &window, p);
    }
    tmo_conv_mve_multiply(k, NULL, values, n, out, k->out_channels);
  }
}

#if TMO_TWINS

/* Sixteen channels; gives the next constants. */
static const int8_t *sixteen(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t at, uint32_t n_taps, const int8_t *range) {
  static const uint8_t order[GROUP] = {0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15};
  int32_t bias[GROUP], scales[2 * GROUP];
  uint32_t sums[GROUP];
  memcpy(bias, constants, sizeof bias);
  constants += sizeof bias;
  for (uint32_t i = 0; i < GROUP; ++i) sums[order[i]] = (uint32_t)bias[i];
  for (uint32_t t = 0; t < n_taps; ++t, constants += GROUP) {
    for (uint32_t c = 0; c < GROUP; ++c) sums[c] += (uint32_t)(constants[c] * taps[t][at + c]);
  }
  memcpy(scales, constants, sizeof scales);
  for (uint32_t i = 0; i < GROUP; ++i) {
    const int32_t value = tmo_wrapping_add(tmo_mve_scaled((int32_t)sums[order[i]], scales[i], scales[GROUP + i]), range[0]);
    out[order[i]] = tmo_clamp(value, range[1], range[2]);
  }
  return constants + sizeof scales;
}

void tmo_mve_depthwise(const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t further, uint32_t turns, uint32_t channels,
                       const int8_t *range) {
  for (uint32_t c = 0; c < channels; c += GROUP) {
    if (c + GROUP > channels) c = channels - GROUP;
    constants = sixteen(taps, constants, out + c, further + c, 2 * turns, range);
  }
}

#endif /* TMO_TWINS */

#endif /* TMO_RUNS_MVE */

typedef int tmo_conv_mve_is_not_empty; /* ISO C wants something in every file */
