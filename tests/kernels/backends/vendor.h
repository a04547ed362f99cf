/* The functions in this file replace the kernels of a chip vendor, and count the calls of these kernels. */
#ifndef TESTS_VENDOR_H_
#define TESTS_VENDOR_H_

#include <stdint.h>

#include "tmo/fixed.h"

typedef struct {
  int32_t input_offset, filter_offset, output_offset, activation_min, activation_max;
  const int32_t *bias, *multipliers, *shifts;
} vendor_layer;

typedef struct {
  int32_t width, channels, kernel_w, kernel_h, stride, out_width;
} vendor_image;

/* With VENDOR_NOTHING, the functions do nothing, so that tests can count the instructions of their callers. */
#ifdef VENDOR_NOTHING
#define VENDOR(declaration) \
  __attribute__((unused, noinline)) static void declaration { __asm__ volatile("" ::: "memory"); }
#else
#define VENDOR(declaration) void declaration;
unsigned vendor_calls(void);
#endif

VENDOR(vendor_fully_connected(const vendor_layer *layer, const int8_t *input, uint32_t taps, const int8_t *filter, uint32_t channels,
                              uint32_t step, int8_t *out))

VENDOR(vendor_scratch(void *scratch))
VENDOR(vendor_depthwise(const vendor_layer *layer, const vendor_image *image, const int8_t *input, const int8_t *filter,
                        int32_t scratch_bytes, int8_t *out))

VENDOR(vendor_add(const vendor_layer *layer, const int8_t *a, const int8_t *b, int32_t left_shift, int32_t n, int8_t *out))
VENDOR(vendor_multiply(const vendor_layer *layer, const int8_t *a, const int8_t *b, int32_t n, int8_t *out))
VENDOR(vendor_pool(const vendor_image *image, const int8_t *input, int32_t pad, int32_t least, int32_t most, int is_maximum, int8_t *out))

#endif /* TESTS_VENDOR_H_ */
