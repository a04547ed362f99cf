/* SPDX-License-Identifier: Apache-2.0 */
/* This header declares functions that compute outputs with the vector instructions of a core. */
#ifndef TMO_VECTORS_H_
#define TMO_VECTORS_H_

#include "generated.h"
#include "kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes one output pixel, whose first channel is element i of the output. The pointer `out` is NULL if a later call adds more products to the
 * sums. If the vector instructions cannot compute the pixel, the function returns false and computes nothing. */
#if TMO_RVV
TMO_LINKAGE bool tmo_conv_vectors(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out);
/* Computes a row of an operator whose windows are one column wide. */
TMO_LINKAGE bool tmo_conv_row_vectors(const tmo_kernel *k, const tmo_window *rows, int8_t *out);
TMO_LINKAGE bool tmo_depthwise_vectors(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out);
#else
static inline bool tmo_conv_vectors(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  (void)k, (void)v, (void)i, (void)out;
  return false;
}
static inline bool tmo_conv_row_vectors(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  (void)k, (void)rows, (void)out;
  return false;
}
static inline bool tmo_depthwise_vectors(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
  (void)k, (void)v, (void)i, (void)out;
  return false;
}
#endif

/* Returns whether output element i needs only element i of each operand. */
static inline bool tmo_is_elementwise(const tmo_kernel *k) {
  if (k->channel_step[0] != 1 || k->channel_step[1] != 1) return false;
  return k->out_width == 1 || (k->pixel_step[0] == k->out_channels && k->pixel_step[1] == k->out_channels);
}

/* Computes all output elements of an ADD operator, or returns false if the vector instructions cannot compute the elements. */
#if TMO_RVV || TMO_CORE_DSP || defined(TMO_ESP_NN)
TMO_LINKAGE bool tmo_add_vectors(const tmo_kernel *k, const int8_t *a, const int8_t *b, int8_t *out);
#else
static inline bool tmo_add_vectors(const tmo_kernel *k, const int8_t *a, const int8_t *b, int8_t *out) {
  (void)k, (void)a, (void)b, (void)out;
  return false;
}
#endif

#ifdef TMO_ESP_NN
TMO_LINKAGE bool tmo_mul_vectors(const tmo_kernel *k, const int8_t *a, const int8_t *b, int8_t *out);
/* Computes a row of a pool from whole input rows. */
TMO_LINKAGE bool tmo_pool_row_vectors(const tmo_kernel *k, const tmo_window *rows, int8_t *out);
#else
static inline bool tmo_mul_vectors(const tmo_kernel *k, const int8_t *a, const int8_t *b, int8_t *out) {
  (void)k, (void)a, (void)b, (void)out;
  return false;
}
static inline bool tmo_pool_row_vectors(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  (void)k, (void)rows, (void)out;
  return false;
}
#endif

/* The functions tmo_add_s8() and tmo_mul_s8() use vector instructions if possible. */
static inline void tmo_add_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (!tmo_add_vectors(k, window->pixels[0], window->pixels[1], out)) tmo_add_scalars_s8(k, window, out);
}
static inline void tmo_mul_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (!tmo_mul_vectors(k, window->pixels[0], window->pixels[1], out)) tmo_mul_scalars_s8(k, window, out);
}

#ifdef __cplusplus
}
#endif

#endif /* TMO_VECTORS_H_ */
