/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/backend.h"

#if TMO_HAS_BACKEND

#if defined(TMO_ESP_NN) && defined(TMO_CMSIS_NN)
#error "Define only one of the macros TMO_ESP_NN and TMO_CMSIS_NN"
#endif

#ifdef TMO_ESP_NN
#include "tmo/esp.h"
#else
#include <arm_nnsupportfunctions.h>
#ifdef ARM_MATH_MVEI
#error "On Helium, CMSIS-NN needs sums of the weights, which programs do not have: convert with --target cortex-m55, and build without TMO_CMSIS_NN"
#endif
#endif

/* largest number of channels in one call; each call converts the shifts of these channels to int32 on the stack */
enum { BACKEND_CHANNELS = 8 };

typedef struct {
  int32_t multipliers[BACKEND_CHANNELS], shifts[BACKEND_CHANNELS];
} scalings;

static void set_scalings(const tmo_kernel *k, uint32_t first, uint32_t n, scalings *s) {
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t c = k->op->flags & TMO_FLAG_PER_CHANNEL ? first + i : 0;
    s->multipliers[i] = k->multipliers[c];
    s->shifts[i] = k->shifts[c];
  }
}

/* Computes n output channels, each from `taps` input values and `taps` weights. ESP-NN and CMSIS-NN declare some inputs without const, but do not
 * write to them. */
static void run_dot(const tmo_op *op, const int8_t *in, uint32_t taps, const int8_t *weights, const int32_t *bias, const scalings *s,
                    uint32_t n, int8_t *out) {
#ifdef TMO_ESP_NN
  esp_nn_fully_connected_per_ch_s8(in, -op->input_zero_point[0], (uint16_t)taps, weights, 0, bias, out, (uint16_t)n, op->output_zero_point,
                                   s->shifts, s->multipliers, op->act_min, op->act_max);
#else
  (void)arm_nn_vec_mat_mult_t_per_ch_s8(in, weights, NULL, bias, out, -op->input_zero_point[0], op->output_zero_point, s->multipliers,
                                        s->shifts, (int32_t)taps, (int32_t)n, op->act_min, op->act_max, 1, 0);
#endif
}

void tmo_conv_backend(const tmo_kernel *k, const int8_t *pixel, int8_t *out) {
  const uint32_t taps = k->op->kernel_w * k->in_channels;
  for (uint32_t c = 0; c < k->out_channels; c += BACKEND_CHANNELS) {
    scalings s;
    const uint32_t n = k->out_channels - c < BACKEND_CHANNELS ? k->out_channels - c : BACKEND_CHANNELS;
    set_scalings(k, c, n, &s);
    run_dot(k->op, pixel, taps, k->weights + c * taps, k->bias ? k->bias + c : NULL, &s, n, out + c);
  }
}

#endif
