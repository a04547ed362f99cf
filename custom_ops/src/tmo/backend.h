/* SPDX-License-Identifier: Apache-2.0 */
/* With this header, a library of the chip's vendor computes convolutions. A build with the macro TMO_ESP_NN calls esp-nn 1.1.1 or later. A build with
 * the macro TMO_CMSIS_NN calls CMSIS-NN 7 or later. */
#ifndef TMO_BACKEND_H_
#define TMO_BACKEND_H_

#include <stddef.h>

#include "kernels.h"

#if defined(TMO_ESP_NN) || defined(TMO_CMSIS_NN)
#define TMO_HAS_BACKEND 1
#else
#define TMO_HAS_BACKEND 0
#endif

#if TMO_HAS_BACKEND
#ifdef __cplusplus
extern "C" {
#endif

/* Computes all channels of one pixel of a 1x1 convolution or a fully connected layer. tmo_conv_backend() writes int8 outputs, not partial sums. */
TMO_LINKAGE void tmo_conv_backend(const tmo_kernel *k, const int8_t *pixel, int8_t *out);

/* Returns whether both the input values of a pixel and the weights of each channel are adjacent in memory. */
static inline bool tmo_is_run(const tmo_kernel *k, const tmo_window *v) {
  const tmo_op *op = k->op;
  if (k->sums != NULL || (uint32_t)op->kernel_w * k->in_channels > UINT16_MAX) return false;
  const bool whole = v->count == 1 && v->columns == op->kernel_w && op->kernel_h == 1 && k->tap_step == k->in_channels;
  return whole && (op->kernel_w == 1 || (op->tile == 0 && op->dilation_w == 1));
}

#ifdef __cplusplus
}
#endif
#endif

#endif /* TMO_BACKEND_H_ */
