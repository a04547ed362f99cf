#include "vendor.h"

static unsigned calls;

unsigned vendor_calls(void) { return calls; }

void vendor_fully_connected(const vendor_layer *layer, const int8_t *input, uint32_t taps, const int8_t *filter, uint32_t channels,
                            uint32_t step, int8_t *out) {
  ++calls;
  for (uint32_t c = 0; c < channels; ++c) {
    uint32_t sum = layer->bias ? (uint32_t)layer->bias[c] : 0;
    for (uint32_t t = 0; t < taps; ++t) {
      sum += (uint32_t)((input[t] + layer->input_offset) * (filter[c * taps + t] + layer->filter_offset));
    }
    const int32_t scaled = tmo_rescale((int32_t)sum, layer->multipliers[c], layer->shifts[c]);
    const int32_t value = tmo_wrapping_add(scaled, layer->output_offset);
    out[c * step] = tmo_clamp(value, (int8_t)layer->activation_min, (int8_t)layer->activation_max);
  }
}
