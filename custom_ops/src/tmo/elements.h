/* SPDX-License-Identifier: Apache-2.0 */
/* This header loads and stores int16, int32 and float32 elements at any address. The macros of this header define loops over aligned elements. */
#ifndef TMO_ELEMENTS_H_
#define TMO_ELEMENTS_H_

#include <stdint.h>
#include <string.h>

#include "compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* On cores that load words only at aligned addresses, the following functions access single bytes instead of calling memcpy(). */
static inline int32_t tmo_int16_at(const int8_t *from) {
  int16_t x;
  if (!TMO_UNALIGNED) return from[1] * 256 + (uint8_t)from[0];
  memcpy(&x, from, sizeof x);
  return x;
}

static inline void tmo_put_int16(int8_t *to, int32_t value) {
  const int16_t x = (int16_t)value;
  if (TMO_UNALIGNED) {
    memcpy(to, &x, sizeof x);
  } else {
    to[0] = (int8_t)value;
    to[1] = (int8_t)(value >> 8);
  }
}

static inline int32_t tmo_int32_at(const int8_t *from) {
  int32_t x;
  if (!TMO_UNALIGNED) return (int32_t)((uint32_t)tmo_int16_at(from + 2) << 16 | (uint16_t)tmo_int16_at(from));
  memcpy(&x, from, sizeof x);
  return x;
}

static inline void tmo_put_int32(int8_t *to, int32_t value) {
  if (TMO_UNALIGNED) {
    memcpy(to, &value, sizeof value);
  } else {
    tmo_put_int16(to, value);
    tmo_put_int16(to + 2, value >> 16);
  }
}

static inline float tmo_float32_at(const int8_t *from) {
  const int32_t bits = tmo_int32_at(from);
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline void tmo_put_float32(int8_t *to, float value) {
  int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  tmo_put_int32(to, bits);
}

/* Each macro TMO_..._EACH defines a function of the type tmo_make_elements. A tmo_make_elements function computes adjacent elements of the type `to`
 * from adjacent elements of the type `from`. The parameter `begin` of a macro has declarations that precede the loops. The statements in __VA_ARGS__
 * compute the element y of the output. The variables `x` and `other` have the elements of the first and of the second operand. */
#define TMO_MAP_EACH(name, from, to, begin, ...) TMO_ELEMENTS(name, from, to, begin, TMO_EACH(to, const from x = all_x[i];, __VA_ARGS__))
#define TMO_COMBINE_EACH(name, from, to, begin, ...) \
  TMO_ELEMENTS(name, from, to, begin, TMO_EACH(to, const from x = all_x[i]; const from other = all_other[i];, __VA_ARGS__))

/* The macros whose names end in FOUR load four elements at a time. An element is loaded as the type `type` and converted to the type `value`. */
#define TMO_MAP_FOUR(name, type, value, begin, ...)                                                          \
  TMO_ELEMENTS(name, type, type, begin,                                                                      \
               TMO_FOUR(type, value, TMO_LOAD_FOUR(type, value, x), const value x = four_x[k];, __VA_ARGS__) \
               TMO_EACH(type, const value x = all_x[i];, __VA_ARGS__))
#define TMO_COMBINE_FOUR(name, type, value, begin, ...)                                               \
  TMO_ELEMENTS(name, type, type, begin,                                                               \
               TMO_FOUR(type, value, TMO_LOAD_FOUR(type, value, x) TMO_LOAD_FOUR(type, value, other), \
                        const value x = four_x[k]; const value other = four_other[k];, __VA_ARGS__)   \
               TMO_EACH(type, const value x = all_x[i]; const value other = all_other[i];, __VA_ARGS__))

#define TMO_ELEMENTS(name, from, to, begin, ...)                                     \
  void name(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) { \
    const from *const all_x = (const from *)a;                                       \
    const from *const all_other = (const from *)b;                                   \
    to *const all_y = (to *)out;                                                     \
    uint32_t i = 0;                                                                  \
    begin __VA_ARGS__(void) op, (void)all_other;                                     \
  }
#define TMO_EACH(to, operands, ...) \
  for (; i < n; ++i) {              \
    operands __VA_ARGS__            \
    all_y[i] = (to)y;               \
  }
#define TMO_FOUR(type, value, loads, operands, ...)                               \
  for (; i + 4 <= n; i += 4) {                                                    \
    value four_y[4];                                                              \
    loads                                                                         \
    TMO_UNROLLED for (uint32_t k = 0; k < 4; ++k) {                               \
      operands __VA_ARGS__                                                        \
      four_y[k] = y;                                                              \
    }                                                                             \
    TMO_UNROLLED for (uint32_t k = 0; k < 4; ++k) all_y[i + k] = (type)four_y[k]; \
  }
#define TMO_LOAD_FOUR(type, value, name)          \
  const type *const next_##name = all_##name + i; \
  value four_##name[4];                           \
  TMO_UNROLLED for (uint32_t k = 0; k < 4; ++k) four_##name[k] = next_##name[k];

/* Copies bytes between two addresses that are multiples of 4. The first 16 bytes at `from` must not overlap the bytes at `to`. */
static TMO_ALWAYS_INLINE void tmo_copy_words(int8_t *to, const int8_t *from, uint32_t bytes) {
  for (; bytes >= 16; bytes -= 16, to += 16, from += 16) memcpy(TMO_WORDS(to), TMO_WORDS(from), 16);
  if (bytes == 0) return;
  if (bytes & 8) memcpy(TMO_WORDS(to), TMO_WORDS(from), 8), to += 8, from += 8;
  if (bytes & 4) memcpy(TMO_WORDS(to), TMO_WORDS(from), 4), to += 4, from += 4;
  for (bytes &= 3; bytes > 0; --bytes) *to++ = *from++;
}

/* Copies 16 bytes between addresses that may be unaligned. */
static TMO_ALWAYS_INLINE void tmo_copy_16(int8_t *to, const int8_t *from) {
  TMO_UNROLLED for (uint32_t i = 0; i < 16; i += 4) tmo_put_int32(to + i, tmo_int32_at(from + i));
}

/* Copies bytes between addresses that may be unaligned. The first 16 bytes at `from` must not overlap the bytes at `to`. */
static TMO_ALWAYS_INLINE void tmo_copy_unaligned(int8_t *to, const int8_t *from, uint32_t bytes) {
  if (bytes >= 16) {
    const int8_t *const last = from + bytes - 16;
    int8_t *const end = to + bytes - 16;
    for (; from < last; to += 16, from += 16) tmo_copy_16(to, from);
    tmo_copy_16(end, last);
    return;
  }
  for (; bytes >= 4; bytes -= 4, to += 4, from += 4) tmo_put_int32(to, tmo_int32_at(from));
  for (; bytes > 0; --bytes) *to++ = *from++;
}

/* Copies bytes between ranges that do not overlap. */
static TMO_ALWAYS_INLINE void tmo_copy_bytes(int8_t *to, const int8_t *from, uint32_t bytes) {
  if ((((uintptr_t)to | (uintptr_t)from) & 3) == 0) {
    tmo_copy_words(to, from, bytes);
  } else if (TMO_UNALIGNED) {
    tmo_copy_unaligned(to, from, bytes);
  } else {
    memcpy(to, from, bytes);
  }
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_ELEMENTS_H_ */
