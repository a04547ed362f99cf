/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes operators that are packed for ESP-NN, by gathering the input values under a window and calling ESP-NN's kernel. On hosts and in
 * builds without TMO_ESP_NN, functions in C compute the same bits as ESP-NN. */
#include <string.h>

#include "tmo/packed.h"

#if TMO_RUNS_ESP

#ifdef TMO_ESP_NN
#include "tmo/esp.h"
#endif

enum {
  ESP_VECTOR = 16,           /* number of bytes in a vector of ESP-NN */
  ESP_EIGHT = 8,          /* number of channels of a depthwise convolution that the function in C computes together */
  ESP_CHANNELS = 64,      /* largest number of channels in a call, because ESP-NN has a word for each channel on its stack */
  ESP_CACHED = 16384,     /* number of bytes of weights that stay in the cache while several pixels are computed */
};

/* Returns the number of biases that an operator has. The multipliers follow the biases, and the shifts follow the multipliers. */
static uint32_t esp_scales(const tmo_kernel *k) {
  return tmo_is_packed_as(k->op, TMO_PACKING_ESP_CONV) ? k->out_channels : tmo_esp_channels(k->op, k->out_channels);
}
static const int32_t *esp_multipliers(const tmo_kernel *k) { return k->bias + esp_scales(k); }
static const int32_t *esp_shifts(const tmo_kernel *k) { return k->bias + 2 * esp_scales(k); }

static int8_t *to_vector(void *at) { return (int8_t *)(((uintptr_t)at + ESP_VECTOR - 1) & ~(uintptr_t)(ESP_VECTOR - 1)); }

static int8_t esp_scaled(const tmo_kernel *k, uint32_t channel, uint32_t sum) {
  const int32_t value = tmo_rescale((int32_t)sum, esp_multipliers(k)[channel], (int8_t)esp_shifts(k)[channel]);
  return tmo_clamp(tmo_wrapping_add(value, k->op->output_zero_point), k->op->act_min, k->op->act_max);
}

/* Computes n channels of an output pixel, beginning with channel c. The argument `values` is the number of the pixel's input values, which are
 * aligned. */
static void multiply_channels(const tmo_kernel *k, const int8_t *bytes, uint32_t values, uint32_t c, uint32_t n, int8_t *out) {
#ifdef TMO_ESP_NN
  esp_nn_fully_connected_per_ch_s8(bytes, 0, (uint16_t)values, k->weights + c * values, 0, k->bias + c, out + c, (uint16_t)n,
                                   k->op->output_zero_point, esp_shifts(k) + c, esp_multipliers(k) + c, k->op->act_min, k->op->act_max);
#else
  const tmo_runs run = {.at = &bytes, .stride = 1, .count = 1, .parts = 1, .bytes = values, .step = 1, .filter = values};
  uint32_t sums[ESP_CHANNELS];
  for (uint32_t i = 0; i < n; ++i) sums[i] = (uint32_t)k->bias[c + i];
  tmo_conv_sums(&run, k->weights + c * values, n, sums);
  for (uint32_t i = 0; i < n; ++i) out[c + i] = esp_scaled(k, c + i, sums[i]);
#endif
}

static void multiply_values(const tmo_kernel *k, const int8_t *bytes, uint32_t values, int8_t *out) {
  for (uint32_t c = 0; c < k->out_channels; c += ESP_CHANNELS) {
    const uint32_t left = k->out_channels - c;
    multiply_channels(k, bytes, values, c, left < ESP_CHANNELS ? left : ESP_CHANNELS, out);
  }
}

#if defined(__GNUC__)
static TMO_ALWAYS_INLINE void copy_word(int8_t *to, const int8_t *from) {
  uint32_t word;
  memcpy(&word, __builtin_assume_aligned(from, 4), sizeof word);
  memcpy(__builtin_assume_aligned(to, 4), &word, sizeof word);
}
#endif

/* Copies n bytes, four at a time if both addresses are multiples of 4. copy_values() runs for every tap, and saves time because a library's
 * memmove() may copy byte by byte. In a damaged program, source and target may overlap. */
static TMO_ALWAYS_INLINE void copy_values(int8_t *to, const int8_t *from, uint32_t n) {
#if defined(__GNUC__)
  if ((((uintptr_t)to | (uintptr_t)from) & 3) == 0) {
    for (; n >= 16; n -= 16, to += 16, from += 16) {
      TMO_UNROLLED for (uint32_t i = 0; i < 16; i += 4) copy_word(to + i, from + i);
    }
    for (; n >= 4; n -= 4, to += 4, from += 4) copy_word(to, from);
  }
#endif
  for (; n > 0; --n) *to++ = *from++;
}

/* Sets n bytes to `value`, four at a time if the address is a multiple of 4. fill_values() saves time, because a library's memset() may set one
 * byte at a time. */
static void fill_values(int8_t *to, int8_t value, uint32_t n) {
#if defined(__GNUC__)
  if (((uintptr_t)to & 3) == 0) {
    const uint32_t word = (uint8_t)value * 0x01010101u;
    for (; n >= 4; n -= 4, to += 4) memcpy(__builtin_assume_aligned(to, 4), &word, sizeof word);
  }
#endif
  for (; n > 0; --n) *to++ = value;
}

/* Copies the input values under a window, with the zero point in place of values outside the input. */
static void take_values(const tmo_kernel *k, const tmo_window *w, int8_t *to) {
  const tmo_op *op = k->op;
  const uint32_t pixel = k->in_channels, row = op->kernel_w * pixel, columns = w->columns;
  const bool by_row = tmo_reads_rows(k);
  const uint32_t rows = columns == 0 ? 0 : by_row ? w->count : w->count / columns;
  if (rows < op->kernel_h || columns < op->kernel_w) fill_values(to, op->input_zero_point[0], op->kernel_h * row);
  to += w->first_row * row + w->first_column * pixel;
  for (uint32_t r = 0; r < rows; ++r, to += row) {
    if (by_row && op->dilation_w == 1) {
      copy_values(to, w->pixels[r] + w->offset, columns * pixel);
      continue;
    }
    for (uint32_t c = 0; c < columns; ++c) {
      copy_values(to + c * pixel, by_row ? w->pixels[r] + w->offset + c * op->dilation_w * pixel : w->pixels[r * columns + c], pixel);
    }
  }
}

void tmo_conv_esp_gather(const tmo_kernel *k, const tmo_window *w) { take_values(k, w, to_vector(k->scratch)); }

void tmo_conv_esp_multiply(const tmo_kernel *k, int8_t *out) { multiply_values(k, to_vector(k->scratch), tmo_packed_values(k->op, k->in_channels), out); }

void tmo_conv_esp_pixel(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_op *op = k->op;
  const uint32_t values = tmo_packed_values(op, k->in_channels);
  const bool whole = op->kernel_h == 1 && op->kernel_w == 1 && window->count == 1 && values == k->in_channels;
  const int8_t *bytes = to_vector(k->scratch);
  if (whole && (uintptr_t)window->pixels[0] % ESP_VECTOR == 0) { /* ESP-NN reads whole aligned vectors without a copy */
    bytes = window->pixels[0];
  } else {
    tmo_conv_esp_gather(k, window);
  }
  multiply_values(k, bytes, values, out);
}

void tmo_conv_esp_columns(const tmo_kernel *k, const tmo_window *rows, const tmo_columns_job *columns) {
  const tmo_op *op = k->op;
  const uint32_t values = tmo_packed_values(op, k->in_channels), step = op->stride_w * k->in_channels;
  int8_t *out = columns->out;
  if (op->kernel_h == 1 && op->kernel_w == 1 && op->pad_left == 0 && rows->count > 0 && values == k->in_channels &&
      ((uintptr_t)rows->pixels[0] % ESP_VECTOR == 0) && (columns->end - 1) * op->stride_w < k->in_width) { /* ESP-NN reads whole aligned vectors without a copy */
    const uint32_t cached = ESP_CACHED / values, most = cached < ESP_CHANNELS ? cached + 1 : ESP_CHANNELS;
    for (uint32_t c = 0, n; c < k->out_channels; c += n) { /* n channels of all pixels are computed together, so the weights of the n channels stay in the cache */
      const int8_t *pixel = rows->pixels[0] + columns->first * step;
      int8_t *at = out;
      n = k->out_channels - c < most ? k->out_channels - c : most;
      for (uint32_t x = columns->first; x < columns->end; ++x, pixel += step, at += columns->step) multiply_channels(k, pixel, values, c, n, at);
    }
    return;
  }
  for (uint32_t x = columns->first; x < columns->end; ++x, out += columns->step) {
    const tmo_window column = tmo_column(k, rows, (uint16_t)x);
    tmo_conv_esp_gather(k, &column);
    tmo_conv_esp_multiply(k, out);
  }
}

void tmo_conv_esp_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  const tmo_columns_job all = {0, k->out_width, 1, out, k->out_channels};
  tmo_conv_esp_columns(k, rows, &all);
}

#ifdef TMO_ESP_NN
/* Copies the channels of n pixels, which are `step` bytes apart in the source and `to_step` bytes apart in the target. */
static void copy_pixels(int8_t *to, uint32_t to_step, const int8_t *from, uint32_t step, uint32_t channels, uint32_t n) {
  if (to_step == step) {
    copy_values(to, from, n * step);
    return;
  }
  for (; n > 0; --n, to += to_step, from += step) copy_values(to, from, channels);
}

typedef struct {
  data_dims_t input, filter, output;
  dw_conv_params_t params;
  int8_t *own, *image, *made; /* scratch memory for ESP-NN itself, for the input values, and for the output */
} esp_call;

/* Prepares a call of ESP-NN's depthwise convolution. ESP-NN reads and writes whole vectors, and may read stride_w - 1 columns after the last window.
 * Returns false if this version of ESP-NN needs more scratch memory than the program provides. */
static bool prepare_call(const tmo_kernel *k, uint32_t n, esp_call *call) {
  const tmo_op *op = k->op;
  const uint32_t wide = tmo_esp_columns(op, n), padded = esp_scales(k), room = tmo_esp_depthwise_own(op, padded, n);
  call->input = (data_dims_t){(int32_t)wide, op->kernel_h, (int32_t)padded, 1};
  call->filter = (data_dims_t){op->kernel_w, op->kernel_h, 0, 0};
  call->output = (data_dims_t){(int32_t)n, 1, (int32_t)padded, 1};
  call->params = (dw_conv_params_t){0, op->output_zero_point, 1, {op->stride_w, 1}, {0, 0}, {1, 1}, {op->act_min, op->act_max}};
  call->own = to_vector(k->scratch);
  call->image = to_vector(call->own + room);
  call->made = to_vector(call->image + op->kernel_h * wide * padded);
  return esp_nn_get_depthwise_conv_scratch_size(&call->input, &call->filter, &call->output, &call->params) <= (int)room;
}

/* Calls ESP-NN's depthwise convolution for pixels whose input values were copied. ESP-NN declares some inputs without `const`, but does not write to
 * these inputs. */
static void call_esp(const tmo_kernel *k, const esp_call *call, int8_t *out) {
  const quant_data_t scales = {(int32_t *)(uintptr_t)esp_shifts(k), (int32_t *)(uintptr_t)esp_multipliers(k)};
  const uint32_t padded = (uint32_t)call->output.channels;
  const bool direct = padded == k->out_channels && (uintptr_t)out % ESP_VECTOR == 0;
  esp_nn_set_depthwise_conv_scratch_buf(call->own);
  esp_nn_depthwise_conv_s8(&call->input, call->image, &call->filter, k->weights, k->bias, &call->output, direct ? out : call->made, &call->params,
                           &scales);
  if (!direct) copy_pixels(out, k->out_channels, call->made, padded, k->out_channels, (uint32_t)call->output.width);
}

/* Copies `columns` columns of an input row, from column `start` on. Some of the copied columns may be outside the input row. The channels that ESP-NN
 * adds as padding may have any values. */
static void take_image_row(const tmo_kernel *k, const int8_t *row, int32_t start, uint32_t columns, uint32_t padded, int8_t *image) {
  const int8_t zero = k->op->input_zero_point[0];
  const int32_t width = row == NULL ? 0 : k->in_width, end = start + (int32_t)columns;
  const int32_t first = start < 0 ? 0 : start < width ? start : width, last = end < width ? end : width;
  const uint32_t there = last > first ? (uint32_t)(last - first) : 0, before = there > 0 ? (uint32_t)(first - start) : columns;
  fill_values(image, zero, before * padded);
  if (there == 0) return;
  copy_pixels(image + before * padded, padded, row + (uint32_t)first * k->in_channels, k->in_channels, k->in_channels, there);
  fill_values(image + (before + there) * padded, zero, (columns - before - there) * padded);
}

static bool esp_depthwise_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  const tmo_op *op = k->op;
  const uint32_t padded = esp_scales(k), most = tmo_esp_pixels(op, padded, k->out_width);
  esp_call call;
  if (!prepare_call(k, most, &call)) return false;
  for (uint32_t x = 0, n; x < k->out_width; x += n, out += n * k->out_channels) {
    n = k->out_width - x < most ? k->out_width - x : most;
    if (n < most && !prepare_call(k, n, &call)) return false;
    int8_t *image = call.image;
    for (uint32_t ky = 0; ky < op->kernel_h; ++ky, image += (uint32_t)call.input.width * padded) {
      const uint32_t r = ky - rows->first_row;
      const int8_t *const row = r < rows->count ? rows->pixels[r] + rows->offset : NULL;
      take_image_row(k, row, (int32_t)(x * op->stride_w) - op->pad_left, (n - 1) * op->stride_w + op->kernel_w, padded, image);
    }
    call_esp(k, &call, out);
  }
  return true;
}
#endif

/* Computes n adjacent output pixels with a function in C instead of ESP-NN. The taps of adjacent pixels are `step` bytes apart, and `taps` has the
 * addresses of the first pixel's taps. */
static void esp_depthwise_in_c(const tmo_kernel *k, const int8_t *const *taps, uint32_t step, uint32_t n, int8_t *out) {
  const uint32_t all = (uint32_t)k->op->kernel_h * k->op->kernel_w, channels = k->out_channels, padded = esp_scales(k);
  for (uint32_t offset = 0; n > 0; --n, offset += step, out += channels) {
    for (uint32_t c = 0; c < channels; c += ESP_EIGHT) {
      const uint32_t some = channels - c < ESP_EIGHT ? channels - c : ESP_EIGHT;
      uint32_t sums[ESP_EIGHT];
      for (uint32_t i = 0; i < some; ++i) sums[i] = (uint32_t)k->bias[c + i];
      for (uint32_t t = 0; t < all; ++t) {
        const int8_t *const x = taps[t] + offset + c, *const w = k->weights + t * padded + c;
        for (uint32_t i = 0; i < some; ++i) sums[i] += (uint32_t)(x[i] * w[i]);
      }
      for (uint32_t i = 0; i < some; ++i) out[c + i] = esp_scaled(k, c + i, sums[i]);
    }
  }
}

void tmo_depthwise_esp(const tmo_kernel *k, const int8_t *const *taps, int8_t *out, uint32_t pixels, uint32_t step) {
#ifdef TMO_ESP_NN
  esp_call call;
  if (!tmo_by_row(k->op) && pixels == 1 && prepare_call(k, 1, &call)) {
    const uint32_t padded = esp_scales(k), wide = k->op->kernel_w, beyond = (uint32_t)call.input.width - wide;
    int8_t *image = call.image;
    for (uint32_t y = 0; y < k->op->kernel_h; ++y, image += beyond * padded) {
      for (uint32_t x = 0; x < wide; ++x, image += padded) copy_values(image, *taps++, k->in_channels);
    }
    call_esp(k, &call, out);
    return;
  }
#endif
  esp_depthwise_in_c(k, taps, step, pixels, out);
}

bool tmo_depthwise_esp_row(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
#ifdef TMO_ESP_NN
  return esp_depthwise_row(k, rows, out);
#else
  (void)k;
  (void)rows;
  (void)out;
  return false;
#endif
}

#endif /* TMO_RUNS_ESP */
