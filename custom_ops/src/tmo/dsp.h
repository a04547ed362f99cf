/* SPDX-License-Identifier: Apache-2.0 */
/* Each function of this header computes the same as one instruction of Cortex-M's DSP extension. */
#ifndef TMO_DSP_H_
#define TMO_DSP_H_

#include <string.h>

#include "build.h"
#include "fixed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Loads a word of four bytes from any address. */
static inline int32_t tmo_word(const int8_t *from) {
  int32_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

static TMO_ALWAYS_INLINE int32_t tmo_saturated_byte(int32_t x) {
#if TMO_CORE_DSP && defined(__thumb2__)
  __asm__("ssat %0, #8, %1" : "=r"(x) : "r"(x));
  return x;
#else
  return tmo_clamp(x, INT8_MIN, INT8_MAX);
#endif
}

static TMO_ALWAYS_INLINE int32_t tmo_saturated_half(int32_t x) {
#if TMO_CORE_DSP && defined(__thumb2__)
  __asm__("ssat %0, #16, %1" : "=r"(x) : "r"(x));
  return x;
#else
  return x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x;
#endif
}

#if TMO_CORE_DSP && defined(__thumb2__)

/* The function tmo_even_bytes() takes bytes 0 and 2 of `word`, and tmo_odd_bytes() takes bytes 1 and 3. Each function widens its two bytes to int16,
 * and adds them to the two int16 values in `to`. */
static TMO_ALWAYS_INLINE int32_t tmo_even_bytes(int32_t to, int32_t word) {
  if (__builtin_constant_p(to) && to == 0) {
    __asm__("sxtb16 %0, %1" : "=r"(word) : "r"(word));
    return word;
  }
  __asm__("sxtab16 %0, %1, %2" : "=r"(word) : "r"(to), "r"(word));
  return word;
}

static TMO_ALWAYS_INLINE int32_t tmo_odd_bytes(int32_t to, int32_t word) {
  if (__builtin_constant_p(to) && to == 0) {
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(word) : "r"(word));
    return word;
  }
  __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(word) : "r"(to), "r"(word));
  return word;
}

/* The function tmo_low_halves() joins the lower halves of two words, and tmo_high_halves() joins the upper halves of two words. */
static TMO_ALWAYS_INLINE int32_t tmo_low_halves(int32_t first, int32_t second) {
  __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(first) : "r"(first), "r"(second));
  return first;
}

static TMO_ALWAYS_INLINE int32_t tmo_high_halves(int32_t first, int32_t second) {
  __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(first) : "r"(second), "r"(first));
  return first;
}

#define TMO_ADD_PRODUCT(name, instruction)                                                 \
  static TMO_ALWAYS_INLINE int32_t name(int32_t sum, int32_t a, int32_t b) {               \
    __asm__(instruction " %0, %1, %2, %3" : "=r"(sum) : "r"(a), "r"(b), "r"(sum));         \
    return sum;                                                                            \
  }
/* The function tmo_add_high_low() multiplies the upper half of `a` by the lower half of `b`, and adds the product to `sum`. For example,
 * tmo_add_low_low() multiplies the lower halves of `a` and `b`. */
TMO_ADD_PRODUCT(tmo_add_low_low, "smlabb")
TMO_ADD_PRODUCT(tmo_add_high_low, "smlatb")
TMO_ADD_PRODUCT(tmo_add_low_high, "smlabt")
TMO_ADD_PRODUCT(tmo_add_high_high, "smlatt")
/* tmo_add_two() and tmo_add_two_wide() multiply the lower halves of two words, multiply the upper halves, and add both products to `sum`. */
TMO_ADD_PRODUCT(tmo_add_two, "smlad")

static TMO_ALWAYS_INLINE int64_t tmo_add_two_wide(int64_t sum, int32_t a, int32_t b) {
  __asm__("smlald %Q0, %R0, %1, %2" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
}

/* Compares each byte of a word with the byte at the same place in another word, and returns the greater bytes. */
static TMO_ALWAYS_INLINE int32_t tmo_greater_bytes(int32_t a, int32_t b) {
  int32_t greater;
  __asm__("ssub8 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(greater) : "r"(a), "r"(b) : "cc");
  return greater;
}

/* The function tmo_greater_halves() returns the greater of two int16 values in each half of a word. */
static TMO_ALWAYS_INLINE int32_t tmo_greater_halves(int32_t a, int32_t b) {
  int32_t greater;
  __asm__("ssub16 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(greater) : "r"(a), "r"(b) : "cc");
  return greater;
}

static TMO_ALWAYS_INLINE int32_t tmo_lesser_halves(int32_t a, int32_t b) {
  int32_t lesser;
  __asm__("ssub16 %0, %1, %2\n\tsel %0, %2, %1" : "=&r"(lesser) : "r"(a), "r"(b) : "cc");
  return lesser;
}

#else

static inline int32_t tmo_two_halves(int32_t low, int32_t high) { return (int32_t)((uint32_t)(uint16_t)low | (uint32_t)high << 16); }
static inline int32_t tmo_even_bytes(int32_t to, int32_t word) { return tmo_two_halves((int16_t)to + (int8_t)word, (to >> 16) + (int8_t)(word >> 16)); }
static inline int32_t tmo_odd_bytes(int32_t to, int32_t word) { return tmo_even_bytes(to, word >> 8); }
static inline int32_t tmo_low_halves(int32_t first, int32_t second) { return tmo_two_halves(first, second); }
static inline int32_t tmo_high_halves(int32_t first, int32_t second) { return tmo_two_halves(first >> 16, second >> 16); }
static inline int64_t tmo_add_two_wide(int64_t sum, int32_t a, int32_t b) {
  return (int64_t)((uint64_t)sum + (uint64_t)((int64_t)((int16_t)a * (int16_t)b) + (a >> 16) * (b >> 16)));
}
static inline int32_t tmo_add_low_low(int32_t sum, int32_t a, int32_t b) { return tmo_wrapping_add(sum, (int16_t)a * (int16_t)b); }
static inline int32_t tmo_add_high_low(int32_t sum, int32_t a, int32_t b) { return tmo_wrapping_add(sum, (a >> 16) * (int16_t)b); }
static inline int32_t tmo_add_low_high(int32_t sum, int32_t a, int32_t b) { return tmo_wrapping_add(sum, (int16_t)a * (b >> 16)); }
static inline int32_t tmo_add_high_high(int32_t sum, int32_t a, int32_t b) { return tmo_wrapping_add(sum, (a >> 16) * (b >> 16)); }
static inline int32_t tmo_add_two(int32_t sum, int32_t a, int32_t b) { return (int32_t)tmo_add_two_wide(sum, a, b); }
static inline int32_t tmo_greater_bytes(int32_t a, int32_t b) {
  uint32_t greater = 0;
  for (uint32_t bits = 0; bits < 32; bits += 8) greater |= (uint32_t)(uint8_t)((int8_t)(a >> bits) > (int8_t)(b >> bits) ? a >> bits : b >> bits) << bits;
  return (int32_t)greater;
}
static inline int32_t tmo_greater_halves(int32_t a, int32_t b) {
  return tmo_two_halves((int16_t)a > (int16_t)b ? a : b, (a >> 16 > b >> 16 ? a : b) >> 16);
}
static inline int32_t tmo_lesser_halves(int32_t a, int32_t b) { return tmo_two_halves((int16_t)a < (int16_t)b ? a : b, (a >> 16 < b >> 16 ? a : b) >> 16); }

#endif

#ifdef __cplusplus
}
#endif

#endif /* TMO_DSP_H_ */
