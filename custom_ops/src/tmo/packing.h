/* SPDX-License-Identifier: Apache-2.0 */
/* This header has functions that describe operators with packed constants (TMO_PACKING_*). */
#ifndef TMO_PACKING_H_
#define TMO_PACKING_H_

#include "access.h"
#include "kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether a packed convolution gets a list of input rows instead of a list of pixels. */
static inline bool tmo_reads_rows(const tmo_kernel *k) { return !tmo_has_part(TMO_PART_TILES) || k->whole_rows; }

/* Returns whether this library runs programs that were packed for the target `target`. */
static inline bool tmo_runs_target(uint16_t target) {
  return target == TMO_TARGET_GENERIC || (target == TMO_TARGET_DSP && TMO_RUNS_DSP) || (target == TMO_TARGET_MVE && TMO_RUNS_MVE) ||
         (target == TMO_TARGET_RVV && TMO_RUNS_RVV) || (target == TMO_TARGET_ESP && TMO_RUNS_ESP);
}

/* Returns the number of input values, with padding, that a packed convolution multiplies for an output channel. */
static inline uint32_t tmo_packed_values(const tmo_op *op, uint32_t in_channels) {
  const uint32_t row = op->kernel_w * in_channels;
  if (tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) || tmo_is_packed_as(op, TMO_PACKING_ESP_CONV)) return (op->kernel_h * row + 15) / 16 * 16;
  if (tmo_is_packed_as(op, TMO_PACKING_RVV_CONV)) return op->kernel_h * row;
  return (op->kernel_h * ((row + 3) / 4 * 4) + 7) / 8 * 8;
}

/* Returns whether a packed operator multiplies its inputs as bytes, instead of widening the bytes to int16. */
static TMO_ALWAYS_INLINE bool tmo_packs_bytes(const tmo_op *op) {
  return tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) || tmo_is_packed_as(op, TMO_PACKING_RVV_CONV) ||
         tmo_is_packed_as(op, TMO_PACKING_ESP_CONV);
}

/* Returns the number of input values that a packed convolution gathers at most for one or two pixels. For three or more pixels, the limit is three
 * eighths as large. */
static TMO_ALWAYS_INLINE uint32_t tmo_packed_tile(const tmo_op *op) { return tmo_packs_bytes(op) ? TMO_MVE_TILE : TMO_PACKED_TILE; }

/* Returns whether a packed operator can compute two adjacent rows at once. A convolution computes two rows at once if a row has five pixels. A
 * depthwise convolution with a 3x3 kernel computes two rows of any width at once. */
static TMO_ALWAYS_INLINE bool tmo_makes_two_rows(const tmo_op *op) {
  if (!tmo_has_part(TMO_PART_TWO_ROWS) || !tmo_by_row(op) || op->at_once != 2) return false;
  return tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) || tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE);
}

/* Returns whether the scratch memory always has room for the input values of all pixels that the kernel computes at once. */
static inline bool tmo_has_wide_tile(const tmo_op *op) {
  return tmo_has_part(TMO_PART_DSP_WIDE) && tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) && (op->at_once == 1 || tmo_makes_two_rows(op));
}

/* For a packed convolution of rows, returns whether tmo_op.at_once gives the number of pixels that fit the scratch memory. */
static inline bool tmo_counts_pixels(const tmo_op *op) {
  const bool counts = (tmo_has_part(TMO_PART_DSP_WIDE) && tmo_is_packed_as(op, TMO_PACKING_DSP_CONV)) || tmo_is_packed_as(op, TMO_PACKING_MVE_CONV);
  return counts && tmo_by_row(op) && op->at_once > TMO_ROOM_FOR_PIXELS;
}

/* Returns whether the kernel computes the last five pixels of a row of `columns` pixels together. The scratch memory then has room for five pixels.
 * The kernel computes three and then two pixels with each pair of channels, while the pair's weights stay in the cache. */
static inline bool tmo_makes_five(const tmo_op *op, uint32_t values, uint32_t columns) {
  return tmo_has_part(TMO_PART_DSP_PAIRS_5) && tmo_has_wide_tile(op) && tmo_by_row(op) && values <= TMO_FIVE_VALUES && columns >= TMO_FIVE_PIXELS && columns % TMO_PACKED_PIXELS == 1;
}

/* Returns how many of a row's remaining output pixels a packed convolution computes next. The argument `values` is the number of input values of a
 * pixel, and the argument `left` is the number of remaining pixels in the row. With the DSP extension, the kernel does not compute the last pixel
 * of a row alone, because a single pixel is slow. For windows of one pixel, two calls for three pixels take fewer instructions than calls for four
 * and two pixels. */
static inline uint32_t tmo_packed_pixels(const tmo_op *op, uint32_t values, uint32_t left) {
  if (tmo_is_packed_as(op, TMO_PACKING_ESP_CONV)) return 1;
  uint32_t most = tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) ? TMO_MVE_PIXELS : TMO_PACKED_PIXELS;
  if (left == TMO_FIVE_PIXELS && tmo_makes_five(op, values, left)) return left;
  if (tmo_counts_pixels(op)) {
    const uint32_t room = (uint32_t)(op->at_once - TMO_ROOM_FOR_PIXELS);
    if (room < most) most = room;
  } else if (!tmo_has_wide_tile(op)) {
    while (most > 1 && most * values > (most > 2 ? tmo_packed_tile(op) / 8 * 3 : tmo_packed_tile(op))) --most;
  }
  const bool threes = op->kernel_w == 1 && left == 2 * most - 2;
  if ((left == most + 1 || threes) && most > 2 && !tmo_packs_bytes(op)) --most;
  return left < most ? left : most;
}

/* Returns whether a packed convolution of single pixels reads the bytes of its input in place, without copying the bytes. */
static inline bool tmo_packed_direct(const tmo_op *op, uint32_t in_channels, uint32_t out_channels, uint32_t columns) {
  if (columns != 1 || tmo_is_packed_as(op, TMO_PACKING_ESP_CONV)) return false;
  const bool has_taps = tmo_has_part(TMO_PART_DSP_WINDOWS) && tmo_is_packed_as(op, TMO_PACKING_DSP_DENSE);
  if (!has_taps && (op->kernel_h != 1 || op->kernel_w != 1)) return false;
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) && !tmo_has_part(TMO_PART_DSP_DIRECT)) return false;
  if (tmo_is_packed_as(op, TMO_PACKING_RVV_CONV)) return true;
  return tmo_is_packed_as(op, TMO_PACKING_MVE_CONV) ? in_channels % 16 == 0 : in_channels % 8 == 0 && out_channels >= 4;
}

/* Returns the number of triples of channel pairs in a dense layer. In a triple, the weights of three pairs are interleaved. If the number of channel
 * pairs is not a multiple of three, two or four pairs follow the triples. */
static inline uint32_t tmo_dense_triples(uint32_t pairs) { return pairs / 3 - (pairs % 3 == 1 ? 1 : 0); }

static TMO_ALWAYS_INLINE bool tmo_packs_depthwise(const tmo_op *op) {
  return tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) || tmo_is_packed_as(op, TMO_PACKING_MVE_DEPTHWISE) ||
         tmo_is_packed_as(op, TMO_PACKING_RVV_DEPTHWISE) || tmo_is_packed_as(op, TMO_PACKING_ESP_DEPTHWISE);
}

/* Returns the number of input columns under n adjacent windows, plus stride_w - 1 columns that ESP-NN may read after the last window. */
static inline uint32_t tmo_esp_columns(const tmo_op *op, uint32_t n) { return n * op->stride_w + op->kernel_w - 1; }

/* Returns the number of channels of a depthwise convolution in ESP-NN, padded to complete vectors of int8 or int16. ESP-NN uses vectors of int16 for
 * few channels, and for all kernels that are not 3x3. */
static inline uint32_t tmo_esp_channels(const tmo_op *op, uint32_t channels) {
  return op->kernel_h == 3 && op->kernel_w == 3 && channels > 8 ? (channels + 15) / 16 * 16 : (channels + 7) / 8 * 8;
}

/* Returns the number of scratch bytes that ESP-NN itself needs for n pixels, rounded up (esp_nn_get_depthwise_conv_scratch_size_esp32s3()). The
 * argument `padded` is the number of channels, including padding. */
static inline uint32_t tmo_esp_depthwise_own(const tmo_op *op, uint32_t padded, uint32_t n) {
  const uint32_t filters = (uint32_t)op->kernel_h * op->kernel_w * padded;
  if (op->kernel_h == 3 && op->kernel_w == 3 && padded % 16 == 0) return filters + 32;
  return 2 * (filters + op->kernel_h * tmo_esp_columns(op, n) * padded) + 64;
}

/* Returns the total number of scratch bytes that a call of ESP-NN for n pixels needs. The scratch memory has ESP-NN's own data, a copy of the input,
 * the output, and padding. */
static inline uint32_t tmo_esp_depthwise_bytes(const tmo_op *op, uint32_t padded, uint32_t n) {
  return tmo_esp_depthwise_own(op, padded, n) + (op->kernel_h * tmo_esp_columns(op, n) + n) * padded + 3 * 16;
}

/* Returns the number of pixels that a call of ESP-NN computes, at least one. The argument `columns` is the number of pixels of an iteration. */
static inline uint32_t tmo_esp_pixels(const tmo_op *op, uint32_t padded, uint32_t columns) {
  const uint32_t one = tmo_esp_depthwise_bytes(op, padded, 1), each = tmo_esp_depthwise_bytes(op, padded, 2) - one;
  if (one >= TMO_ESP_TILE || each == 0) return 1;
  const uint32_t n = 1 + (TMO_ESP_TILE - one) / each;
  return n < columns ? n : columns > 0 ? columns : 1;
}

/* Returns whether tmo_dsp_nine() can compute the operator's pixels. */
static inline bool tmo_has_nine_taps(const tmo_op *op) {
  return tmo_has_part(TMO_PART_DSP_NINE) && tmo_is_packed_as(op, TMO_PACKING_DSP_DEPTHWISE) && (uint32_t)op->kernel_h * op->kernel_w == 9;
}

/* Returns whether one call of tmo_iterate_tiles_below() may compute several tiles of the operator. */
static TMO_ALWAYS_INLINE bool tmo_makes_tiles_below(const tmo_op *op) {
  return tmo_has_part(TMO_PART_FEW_PIXELS) && op->tile > 1 && op->tile <= TMO_PACKED_PIXELS && tmo_has_nine_taps(op);
}

/* Returns the largest number of consecutive iterations that the kernel can compute together. Each iteration computes one pixel. */
static TMO_ALWAYS_INLINE uint32_t tmo_at_once(const tmo_op *op) {
  if (!tmo_has_part(TMO_PART_AT_ONCE)) return 1;
  return op->tile == 1 && op->at_once > 1 && (tmo_has_nine_taps(op) || tmo_is_packed_as(op, TMO_PACKING_DSP_CONV)) ? (uint32_t)op->at_once : 1;
}

/* Returns the number of scratch bytes that an operator needs to compute the tensor `out` from the tensor `in`. */
static inline uint32_t tmo_scratch_bytes(const tmo_op *op, const tmo_tensor *in, const tmo_tensor *out) {
  const uint32_t values = tmo_packed_values(op, in->channels), columns = tmo_by_row(op) ? out->width : op->tile;
  if (tmo_is_packed_as(op, TMO_PACKING_ESP_DEPTHWISE)) {
    const uint32_t padded = tmo_esp_channels(op, in->channels);
    return tmo_esp_depthwise_bytes(op, padded, tmo_esp_pixels(op, padded, columns));
  }
  if (tmo_packs_depthwise(op)) return in->channels;
  if (tmo_is_packed_as(op, TMO_PACKING_DSP_DENSE)) return (uint32_t)op->kernel_h * op->kernel_w > 1 ? in->channels : 0;
  if (tmo_is_packed_as(op, TMO_PACKING_ESP_CONV)) return values + 15;
  if (!tmo_is_packed_as(op, TMO_PACKING_DSP_CONV) && !tmo_packs_bytes(op)) return 0;
  if (tmo_at_once(op) > 1) return 2 * values * tmo_at_once(op);
  if (tmo_makes_two_rows(op)) return 2 * values * 2 * columns;
  if (tmo_packed_direct(op, in->channels, out->channels, columns)) return 0;
  return (tmo_packs_bytes(op) ? 1 : 2) * values * (tmo_makes_five(op, values, columns) ? TMO_FIVE_PIXELS : tmo_packed_pixels(op, values, columns));
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_PACKING_H_ */
