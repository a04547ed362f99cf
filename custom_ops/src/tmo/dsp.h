/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of Cortex-M's DSP extension, and equal functions in C for other cores. Internal. */
#ifndef TMO_DSP_H_
#define TMO_DSP_H_

#include <string.h>

#include "build.h"
#include "fixed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Loads four bytes from any address. */
static inline int32_t tmo_word(const int8_t *from) {
  int32_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

/* Saturates a value to int8. */
static TMO_ALWAYS_INLINE int32_t tmo_saturated_byte(int32_t x) {
#if TMO_CORE_DSP
  __asm__("ssat %0, #8, %1" : "=r"(x) : "r"(x));
  return x;
#else
  return tmo_clamp(x, INT8_MIN, INT8_MAX);
#endif
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_DSP_H_ */
