#include "vendor.h"

#include <stdlib.h>
#include <string.h>

static unsigned calls;
static void *scratch;

unsigned vendor_calls(void) { return calls; }

void vendor_scratch(void *at) { scratch = at; }

static int8_t scaled(const vendor_layer *layer, uint32_t channel, uint32_t sum) {
  const int32_t value = tmo_rescale((int32_t)sum, layer->multipliers[channel], layer->shifts[channel]);
  return tmo_clamp(tmo_wrapping_add(value, layer->output_offset), (int8_t)layer->activation_min, (int8_t)layer->activation_max);
}

void vendor_fully_connected(const vendor_layer *layer, const int8_t *input, uint32_t taps, const int8_t *filter, uint32_t channels,
                            uint32_t step, int8_t *out) {
  ++calls;
  for (uint32_t c = 0; c < channels; ++c) {
    uint32_t sum = layer->bias ? (uint32_t)layer->bias[c] : 0;
    for (uint32_t t = 0; t < taps; ++t) {
      sum += (uint32_t)((input[t] + layer->input_offset) * (filter[c * taps + t] + layer->filter_offset));
    }
    out[c * step] = scaled(layer, c, sum);
  }
}

/* ESP-NN loads and stores vectors of 16 bytes, which must be aligned. */
static void need_alignment(const void *at) {
  if ((uintptr_t)at % 16 != 0) abort();
}

void vendor_depthwise(const vendor_layer *layer, const vendor_image *image, const int8_t *input, const int8_t *filter, int32_t scratch_bytes,
                      int8_t *out) {
  ++calls;
  need_alignment(input);
  need_alignment(out);
  need_alignment(scratch);
  memset(scratch, 0x55, (size_t)scratch_bytes);
  for (int32_t x = 0; x < image->out_width; ++x) {
    for (int32_t c = 0; c < image->channels; ++c) {
      uint32_t sum = layer->bias ? (uint32_t)layer->bias[c] : 0;
      for (int32_t t = 0; t < image->kernel_h * image->kernel_w; ++t) {
        const int32_t column = x * image->stride + t % image->kernel_w, row = t / image->kernel_w;
        sum += (uint32_t)((input[(row * image->width + column) * image->channels + c] + layer->input_offset) * filter[t * image->channels + c]);
      }
      out[x * image->channels + c] = scaled(layer, (uint32_t)c, sum);
    }
  }
}

/* If the last elements do not fill a vector, ESP-NN's element-wise kernels round the last elements differently. */
static void need_vectors(const int8_t *a, const int8_t *b, const int8_t *out, int32_t n) {
  need_alignment(a);
  need_alignment(b);
  need_alignment(out);
  if (n % 16 != 0) abort();
}

void vendor_add(const vendor_layer *layer, const int8_t *a, const int8_t *b, int32_t left_shift, int32_t n, int8_t *out) {
  ++calls;
  need_vectors(a, b, out, n);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t left = tmo_rescale((a[i] + layer->bias[0]) * (1 << left_shift), layer->multipliers[0], layer->shifts[0]);
    const int32_t right = tmo_rescale((b[i] + layer->bias[1]) * (1 << left_shift), layer->multipliers[1], layer->shifts[1]);
    out[i] = scaled(layer, 2, (uint32_t)left + (uint32_t)right);
  }
}

void vendor_multiply(const vendor_layer *layer, const int8_t *a, const int8_t *b, int32_t n, int8_t *out) {
  ++calls;
  need_vectors(a, b, out, n);
  for (int32_t i = 0; i < n; ++i) out[i] = scaled(layer, 0, (uint32_t)((a[i] + layer->input_offset) * (b[i] + layer->filter_offset)));
}

void vendor_pool(const vendor_image *image, const int8_t *input, int32_t pad, int32_t least, int32_t most, int is_maximum, int8_t *out) {
  ++calls;
  need_vectors(input, input, out, image->channels);
  for (int32_t x = 0; x < image->out_width; ++x) {
    for (int32_t c = 0; c < image->channels; ++c) {
      int32_t sum = 0, largest = INT8_MIN, taps = 0;
      for (int32_t t = 0; t < image->kernel_h * image->kernel_w; ++t) {
        const int32_t column = x * image->stride - pad + t % image->kernel_w, row = t / image->kernel_w;
        if (column < 0 || column >= image->width) continue;
        const int32_t value = input[(row * image->width + column) * image->channels + c];
        sum += value;
        largest = value > largest ? value : largest;
        ++taps;
      }
      if (taps == 0) abort();
      const int32_t mean = (sum + (sum > 0 ? taps / 2 : -(taps / 2))) / taps;
      out[x * image->channels + c] = tmo_clamp(is_maximum ? largest : mean, (int8_t)least, (int8_t)most);
    }
  }
}
