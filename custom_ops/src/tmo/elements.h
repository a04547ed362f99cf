/* SPDX-License-Identifier: Apache-2.0 */
/* Access to elements that are wider than a byte, at any address. Internal. */
#ifndef TMO_ELEMENTS_H_
#define TMO_ELEMENTS_H_

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline int32_t tmo_int16_at(const int8_t *from) {
  int16_t x;
  memcpy(&x, from, sizeof x);
  return x;
}

static inline void tmo_put_int16(int8_t *to, int32_t value) {
  const int16_t x = (int16_t)value;
  memcpy(to, &x, sizeof x);
}

static inline int32_t tmo_int32_at(const int8_t *from) {
  int32_t x;
  memcpy(&x, from, sizeof x);
  return x;
}

static inline void tmo_put_int32(int8_t *to, int32_t value) { memcpy(to, &value, sizeof value); }

static inline float tmo_float32_at(const int8_t *from) {
  float x;
  memcpy(&x, from, sizeof x);
  return x;
}

static inline void tmo_put_float32(int8_t *to, float value) { memcpy(to, &value, sizeof value); }

#ifdef __cplusplus
}
#endif

#endif /* TMO_ELEMENTS_H_ */
