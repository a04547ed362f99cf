/* SPDX-License-Identifier: Apache-2.0 */
/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_quantize(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const uint32_t n = k->out_width * k->out_channels;
  const int32_t scale = k->op->scale_bits, zero_out = k->op->output_zero_point;
  float r1 = tmo_as_float((int32_t)(scale));
  for (uint32_t i = 0; i < n; ++i) {
    float r2 = tmo_float32_at(&x[(int32_t)(4 * (i))]), r3 = (r2 / r1);
    int32_t r4 = tmo_nearest(r3), r5 = (int32_t)((uint32_t)r4 + (uint32_t)(int32_t)(zero_out)), r6 = (r5 > -128 ? r5 : -128),
            r7 = (r6 < 127 ? r6 : 127), r8 = r7;
    y[i] = (int8_t)r8;
  }
}

void tmo_quantize_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const uint32_t n = k->out_width * k->out_channels / 2;
  const int32_t scale = k->op->scale_bits, zero_out = k->op->output_zero_point;
  float r1 = tmo_as_float((int32_t)(scale));
  for (uint32_t i = 0; i < n; ++i) {
    float r2 = tmo_float32_at(&x[(int32_t)(4 * (i))]), r3 = (r2 / r1);
    int32_t r4 = tmo_nearest(r3), r5 = (int32_t)((uint32_t)r4 + (uint32_t)(int32_t)(zero_out)), r6 = (r5 > -32768 ? r5 : -32768),
            r7 = (r6 < 32767 ? r6 : 32767), r8 = r7;
    tmo_put_int16(&y[(int32_t)(2 * (i))], r8);
  }
}

void tmo_dequantize(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const uint32_t n = k->out_width * k->out_channels / 4;
  const int32_t scale = k->op->scale_bits, zero_x = k->op->input_zero_point[0];
  float r1 = tmo_as_float((int32_t)(scale));
  for (uint32_t i = 0; i < n; ++i) {
    int32_t r2 = x[i], r3 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_x));
    float r4 = (float)r3, r5 = (r1 * r4);
    tmo_put_float32(&y[(int32_t)(4 * (i))], r5);
  }
}

void tmo_dequantize_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const uint32_t n = k->out_width * k->out_channels / 4;
  const int32_t scale = k->op->scale_bits, zero_x = k->op->input_zero_point[0];
  float r1 = tmo_as_float((int32_t)(scale));
  for (uint32_t i = 0; i < n; ++i) {
    int32_t r2 = tmo_int16_at(&x[(int32_t)(2 * (i))]), r3 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_x));
    float r4 = (float)r3, r5 = (r1 * r4);
    tmo_put_float32(&y[(int32_t)(4 * (i))], r5);
  }
}

void tmo_widen(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const uint32_t n = k->out_width * k->out_channels / 2;
  const int32_t zero_out = k->op->output_zero_point, zero_x = k->op->input_zero_point[0], scale_out = k->multipliers[0],
                shift_out = k->shifts[0];
  for (uint32_t i = 0; i < n; ++i) {
    int32_t r1 = x[i], r2 = (int32_t)((uint32_t)r1 - (uint32_t)(int32_t)(zero_x)),
            r3 = tmo_rescale(r2, (int32_t)(scale_out), (int32_t)(shift_out)), r4 = (int32_t)((uint32_t)r3 + (uint32_t)(int32_t)(zero_out)),
            r5 = (r4 > -32768 ? r4 : -32768), r6 = (r5 < 32767 ? r5 : 32767), r7 = r6;
    tmo_put_int16(&y[(int32_t)(2 * (i))], r7);
  }
}

void tmo_narrow(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const uint32_t n = k->out_width * k->out_channels;
  const int32_t zero_out = k->op->output_zero_point, zero_x = k->op->input_zero_point[0], scale_out = k->multipliers[0],
                shift_out = k->shifts[0];
  for (uint32_t i = 0; i < n; ++i) {
    int32_t r1 = tmo_int16_at(&x[(int32_t)(2 * (i))]), r2 = (int32_t)((uint32_t)r1 - (uint32_t)(int32_t)(zero_x)),
            r3 = tmo_rescale(r2, (int32_t)(scale_out), (int32_t)(shift_out)), r4 = (int32_t)((uint32_t)r3 + (uint32_t)(int32_t)(zero_out)),
            r5 = (r4 > -128 ? r4 : -128), r6 = (r5 < 127 ? r5 : 127), r7 = r6;
    y[i] = (int8_t)r7;
  }
}

void tmo_rescale_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const uint32_t n = k->out_width * k->out_channels / 2;
  const int32_t zero_out = k->op->output_zero_point, zero_x = k->op->input_zero_point[0], scale_out = k->multipliers[0],
                shift_out = k->shifts[0];
  for (uint32_t i = 0; i < n; ++i) {
    int32_t r1 = tmo_int16_at(&x[(int32_t)(2 * (i))]), r2 = (int32_t)((uint32_t)r1 - (uint32_t)(int32_t)(zero_x)),
            r3 = tmo_rescale(r2, (int32_t)(scale_out), (int32_t)(shift_out)), r4 = (int32_t)((uint32_t)r3 + (uint32_t)(int32_t)(zero_out)),
            r5 = (r4 > -32768 ? r4 : -32768), r6 = (r5 < 32767 ? r5 : 32767), r7 = r6;
    tmo_put_int16(&y[(int32_t)(2 * (i))], r7);
  }
}
