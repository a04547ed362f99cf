/* A fully connected layer with per-channel scaling, like the vendors' libraries. It counts its calls. */
#ifndef TESTS_VENDOR_H_
#define TESTS_VENDOR_H_

#include <stdint.h>

#include "tmo/fixed.h"

typedef struct {
  int32_t input_offset, filter_offset, output_offset, activation_min, activation_max;
  const int32_t *bias, *multipliers, *shifts;
} vendor_layer;

unsigned vendor_calls(void);
void vendor_fully_connected(const vendor_layer *layer, const int8_t *input, uint32_t taps, const int8_t *filter, uint32_t channels,
                            uint32_t step, int8_t *out);

#endif /* TESTS_VENDOR_H_ */
