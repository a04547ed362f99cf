/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/floats.h"

/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

static TMO_ALWAYS_INLINE void matmul_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out, int32_t down, int32_t across) {
  const int8_t *const left = window->pixels[0];
  const int8_t *const *const right = window->pixels + 1;
  int8_t *const y = out;
  const uint32_t depth = k->in_channels / 4, columns = k->out_channels / 4;
  for (uint32_t m = 0; m < 1; ++m) {
    uint32_t n = 0;
    for (; n + 4 <= columns; n += 4) {
      float r1_0 = tmo_as_float(0), r1_1 = tmo_as_float(0), r1_2 = tmo_as_float(0), r1_3 = tmo_as_float(0);
      for (uint32_t i = 0; i < depth; ++i) {
        float r2 = tmo_float32_at(&left[(int32_t)(4 * (depth * m + i))]),
              r3_0 = tmo_float32_at(&right[across * n + down * i][(int32_t)(4 * (across * i + down * n))]),
              r3_1 = tmo_float32_at(&right[across + across * n + down * i][(int32_t)(4 * (across * i + down + down * n))]),
              r3_2 = tmo_float32_at(&right[2 * across + across * n + down * i][(int32_t)(4 * (across * i + 2 * down + down * n))]),
              r3_3 = tmo_float32_at(&right[3 * across + across * n + down * i][(int32_t)(4 * (across * i + 3 * down + down * n))]);
        r1_0 = r1_0 + r2 * r3_0;
        r1_1 = r1_1 + r2 * r3_1;
        r1_2 = r1_2 + r2 * r3_2;
        r1_3 = r1_3 + r2 * r3_3;
      }
      tmo_put_float32(&y[(int32_t)(4 * (columns * m + n))], r1_0);
      tmo_put_float32(&y[(int32_t)(4 * (1 + columns * m + n))], r1_1);
      tmo_put_float32(&y[(int32_t)(4 * (2 + columns * m + n))], r1_2);
      tmo_put_float32(&y[(int32_t)(4 * (3 + columns * m + n))], r1_3);
    }
    for (; n < columns; ++n) {
      float r1 = tmo_as_float(0);
      for (uint32_t i = 0; i < depth; ++i) {
        float r2 = tmo_float32_at(&left[(int32_t)(4 * (depth * m + i))]),
              r3 = tmo_float32_at(&right[across * n + down * i][(int32_t)(4 * (across * i + down * n))]);
        r1 = r1 + r2 * r3;
      }
      tmo_put_float32(&y[(int32_t)(4 * (columns * m + n))], r1);
    }
  }
}

void tmo_matmul_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) { matmul_f32(k, window, out, 1, 0); }

void tmo_transposed_matmul_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) { matmul_f32(k, window, out, 0, 1); }

void tmo_depthwise_f32(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) {
  const int8_t *const *const x = window->pixels;
  int8_t *const y = out + i;
  const float *const w = (const float *)(const void *)k->weights + tmo_first_tap(k, window);
  const float *const bias = (const float *)(const void *)(k->bias ? k->bias : (const int32_t[1]){0});
  int8_t *const sums = (int8_t *)(tmo_has_sums(k) ? k->sums + i / 4 : NULL);
  const uint32_t rows = k->op->tile == 0 ? window->count : window->columns > 0 ? window->count / window->columns : 0u,
                 columns = window->columns, groups = k->in_channels / 4;
  const int32_t bias_step = k->bias ? 1 : 0, next_row = k->op->tile == 0 ? 1 : window->columns, next_column = k->op->tile == 0 ? 0 : 1,
                apart = k->op->tile == 0 ? (int32_t)(k->op->dilation_w * k->in_channels / 4) : 0, offset = (int32_t)(window->offset / 4),
                row_weights = (int32_t)(k->op->kernel_w * k->tap_step), tap_weights = (int32_t)k->tap_step, low = tmo_float_low(k->op),
                high = tmo_float_high(k->op), first = !tmo_adds_sums() || k->first, last = !tmo_adds_sums() || k->last;
  float r1 = tmo_as_float((int32_t)(low)), r2 = tmo_as_float((int32_t)(high));
  uint32_t g = 0;
  for (; g + 4 <= groups; g += 4) {
    for (uint32_t j = 0; j < 1; ++j) {
      float r3_0 = tmo_as_float(0), r3_1 = tmo_as_float(0), r3_2 = tmo_as_float(0), r3_3 = tmo_as_float(0);
      if ((uint32_t)((int32_t)(first)) < 1) {
        float r4_0 = tmo_float32_at(&sums[(int32_t)(4 * (g + j))]), r4_1 = tmo_float32_at(&sums[(int32_t)(4 * (1 + g + j))]),
              r4_2 = tmo_float32_at(&sums[(int32_t)(4 * (2 + g + j))]), r4_3 = tmo_float32_at(&sums[(int32_t)(4 * (3 + g + j))]);
        r3_0 = r4_0;
        r3_1 = r4_1;
        r3_2 = r4_2;
        r3_3 = r4_3;
      }
      for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t s = 0; s < columns; ++s) {
          for (uint32_t c = 0; c < 1; ++c) {
            const float *const at0 = &w[(int32_t)(c + g + j + r * row_weights + s * tap_weights)];
            float r5_0 = tmo_float32_at(&x[next_column * s + next_row * r][(int32_t)(4 * (apart * s + c + g + offset))]),
                  r5_1 = tmo_float32_at(&x[next_column * s + next_row * r][(int32_t)(4 * (1 + apart * s + c + g + offset))]),
                  r5_2 = tmo_float32_at(&x[next_column * s + next_row * r][(int32_t)(4 * (2 + apart * s + c + g + offset))]),
                  r5_3 = tmo_float32_at(&x[next_column * s + next_row * r][(int32_t)(4 * (3 + apart * s + c + g + offset))]), r6_0 = at0[0],
                  r6_1 = at0[1], r6_2 = at0[2], r6_3 = at0[3];
            r3_0 = r3_0 + r5_0 * r6_0;
            r3_1 = r3_1 + r5_1 * r6_1;
            r3_2 = r3_2 + r5_2 * r6_2;
            r3_3 = r3_3 + r5_3 * r6_3;
          }
        }
      }
      const float *const at0 = &bias[(int32_t)(bias_step * g + bias_step * j)];
      float r7_0 = at0[0], r7_1 = at0[bias_step], r7_2 = at0[2 * bias_step], r7_3 = at0[3 * bias_step];
      if ((uint32_t)((int32_t)(last)) < 1) {
        tmo_put_float32(&sums[(int32_t)(4 * (g + j))], r3_0);
        tmo_put_float32(&sums[(int32_t)(4 * (1 + g + j))], r3_1);
        tmo_put_float32(&sums[(int32_t)(4 * (2 + g + j))], r3_2);
        tmo_put_float32(&sums[(int32_t)(4 * (3 + g + j))], r3_3);
      }
      if ((uint32_t)((int32_t)(-1 + last)) < 1) {
        float r8_0 = (r3_0 + r7_0), r8_1 = (r3_1 + r7_1), r8_2 = (r3_2 + r7_2), r8_3 = (r3_3 + r7_3), r9_0 = (r8_0 < r1 ? r1 : r8_0),
              r9_1 = (r8_1 < r1 ? r1 : r8_1), r9_2 = (r8_2 < r1 ? r1 : r8_2), r9_3 = (r8_3 < r1 ? r1 : r8_3),
              r10_0 = (r2 < r9_0 ? r2 : r9_0), r10_1 = (r2 < r9_1 ? r2 : r9_1), r10_2 = (r2 < r9_2 ? r2 : r9_2),
              r10_3 = (r2 < r9_3 ? r2 : r9_3);
        tmo_put_float32(&y[(int32_t)(4 * (g + j))], r10_0);
        tmo_put_float32(&y[(int32_t)(4 * (1 + g + j))], r10_1);
        tmo_put_float32(&y[(int32_t)(4 * (2 + g + j))], r10_2);
        tmo_put_float32(&y[(int32_t)(4 * (3 + g + j))], r10_3);
      }
    }
  }
  for (; g < groups; ++g) {
    for (uint32_t j = 0; j < 1; ++j) {
      float r3 = tmo_as_float(0);
      if ((uint32_t)((int32_t)(first)) < 1) {
        float r4 = tmo_float32_at(&sums[(int32_t)(4 * (g + j))]);
        r3 = r4;
      }
      for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t s = 0; s < columns; ++s) {
          for (uint32_t c = 0; c < 1; ++c) {
            float r5 = tmo_float32_at(&x[next_column * s + next_row * r][(int32_t)(4 * (apart * s + c + g + offset))]),
                  r6 = w[(int32_t)(c + g + j + r * row_weights + s * tap_weights)];
            r3 = r3 + r5 * r6;
          }
        }
      }
      float r7 = bias[(int32_t)(bias_step * g + bias_step * j)];
      if ((uint32_t)((int32_t)(last)) < 1) {
        tmo_put_float32(&sums[(int32_t)(4 * (g + j))], r3);
      }
      if ((uint32_t)((int32_t)(-1 + last)) < 1) {
        float r8 = (r3 + r7), r9 = (r8 < r1 ? r1 : r8), r10 = (r2 < r9 ? r2 : r9);
        tmo_put_float32(&y[(int32_t)(4 * (g + j))], r10);
      }
    }
  }
}

void tmo_conv_f32(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) {
  const int8_t *const *const x = window->pixels;
  int8_t *const y = out + i;
  const float *const w = (const float *)(const void *)k->weights + tmo_first_tap(k, window);
  const float *const bias = (const float *)(const void *)(k->bias ? k->bias : (const int32_t[1]){0});
  int8_t *const sums = (int8_t *)(tmo_has_sums(k) ? k->sums + i / 4 : NULL);
  const uint32_t rows = k->op->tile == 0 ? window->count : window->columns > 0 ? window->count / window->columns : 0u,
                 columns = window->columns, channels = tmo_is_kind(k->op, TMO_OP_DEPTHWISE_F32) ? 1u : k->in_channels / 4,
                 groups = tmo_is_kind(k->op, TMO_OP_DEPTHWISE_F32) ? k->in_channels / 4 : 1u,
                 each = tmo_is_kind(k->op, TMO_OP_DEPTHWISE_F32) ? k->out_channels / k->in_channels : k->out_channels / 4;
  const int32_t bias_step = k->bias ? 1 : 0, next_row = k->op->tile == 0 ? 1 : window->columns, next_column = k->op->tile == 0 ? 0 : 1,
                apart = k->op->tile == 0 ? (int32_t)(k->op->dilation_w * k->in_channels / 4) : 0, offset = (int32_t)(window->offset / 4),
                filter_weights = tmo_is_kind(k->op, TMO_OP_DEPTHWISE_F32) ? 1 : (int32_t)(k->op->kernel_h * k->op->kernel_w * k->tap_step),
                row_weights = (int32_t)(k->op->kernel_w * k->tap_step), tap_weights = (int32_t)k->tap_step, low = tmo_float_low(k->op),
                high = tmo_float_high(k->op), first = !tmo_adds_sums() || k->first, last = !tmo_adds_sums() || k->last;
  float r1 = tmo_as_float((int32_t)(low)), r2 = tmo_as_float((int32_t)(high));
  for (uint32_t g = 0; g < groups; ++g) {
    uint32_t j = 0;
    for (; j + 4 <= each; j += 4) {
      float r3_0 = tmo_as_float(0), r3_1 = tmo_as_float(0), r3_2 = tmo_as_float(0), r3_3 = tmo_as_float(0);
      if ((uint32_t)((int32_t)(first)) < 1) {
        float r4_0 = tmo_float32_at(&sums[(int32_t)(4 * (each * g + j))]), r4_1 = tmo_float32_at(&sums[(int32_t)(4 * (1 + each * g + j))]),
              r4_2 = tmo_float32_at(&sums[(int32_t)(4 * (2 + each * g + j))]),
              r4_3 = tmo_float32_at(&sums[(int32_t)(4 * (3 + each * g + j))]);
        r3_0 = r4_0;
        r3_1 = r4_1;
        r3_2 = r4_2;
        r3_3 = r4_3;
      }
      for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t s = 0; s < columns; ++s) {
          for (uint32_t c = 0; c < channels; ++c) {
            const float *const at0 = &w[(int32_t)(c + each * filter_weights * g + filter_weights * j + r * row_weights + s * tap_weights)];
            float r5 = tmo_float32_at(&x[next_column * s + next_row * r][(int32_t)(4 * (apart * s + c + g + offset))]), r6_0 = at0[0],
                  r6_1 = at0[filter_weights], r6_2 = at0[2 * filter_weights], r6_3 = at0[3 * filter_weights];
            r3_0 = r3_0 + r5 * r6_0;
            r3_1 = r3_1 + r5 * r6_1;
            r3_2 = r3_2 + r5 * r6_2;
            r3_3 = r3_3 + r5 * r6_3;
          }
        }
      }
      const float *const at0 = &bias[(int32_t)(bias_step * each * g + bias_step * j)];
      float r7_0 = at0[0], r7_1 = at0[bias_step], r7_2 = at0[2 * bias_step], r7_3 = at0[3 * bias_step];
      if ((uint32_t)((int32_t)(last)) < 1) {
        tmo_put_float32(&sums[(int32_t)(4 * (each * g + j))], r3_0);
        tmo_put_float32(&sums[(int32_t)(4 * (1 + each * g + j))], r3_1);
        tmo_put_float32(&sums[(int32_t)(4 * (2 + each * g + j))], r3_2);
        tmo_put_float32(&sums[(int32_t)(4 * (3 + each * g + j))], r3_3);
      }
      if ((uint32_t)((int32_t)(-1 + last)) < 1) {
        float r8_0 = (r3_0 + r7_0), r8_1 = (r3_1 + r7_1), r8_2 = (r3_2 + r7_2), r8_3 = (r3_3 + r7_3), r9_0 = (r8_0 < r1 ? r1 : r8_0),
              r9_1 = (r8_1 < r1 ? r1 : r8_1), r9_2 = (r8_2 < r1 ? r1 : r8_2), r9_3 = (r8_3 < r1 ? r1 : r8_3),
              r10_0 = (r2 < r9_0 ? r2 : r9_0), r10_1 = (r2 < r9_1 ? r2 : r9_1), r10_2 = (r2 < r9_2 ? r2 : r9_2),
              r10_3 = (r2 < r9_3 ? r2 : r9_3);
        tmo_put_float32(&y[(int32_t)(4 * (each * g + j))], r10_0);
        tmo_put_float32(&y[(int32_t)(4 * (1 + each * g + j))], r10_1);
        tmo_put_float32(&y[(int32_t)(4 * (2 + each * g + j))], r10_2);
        tmo_put_float32(&y[(int32_t)(4 * (3 + each * g + j))], r10_3);
      }
    }
    for (; j < each; ++j) {
      float r3 = tmo_as_float(0);
      if ((uint32_t)((int32_t)(first)) < 1) {
        float r4 = tmo_float32_at(&sums[(int32_t)(4 * (each * g + j))]);
        r3 = r4;
      }
      for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t s = 0; s < columns; ++s) {
          for (uint32_t c = 0; c < channels; ++c) {
            float r5 = tmo_float32_at(&x[next_column * s + next_row * r][(int32_t)(4 * (apart * s + c + g + offset))]),
                  r6 = w[(int32_t)(c + each * filter_weights * g + filter_weights * j + r * row_weights + s * tap_weights)];
            r3 = r3 + r5 * r6;
          }
        }
      }
      float r7 = bias[(int32_t)(bias_step * each * g + bias_step * j)];
      if ((uint32_t)((int32_t)(last)) < 1) {
        tmo_put_float32(&sums[(int32_t)(4 * (each * g + j))], r3);
      }
      if ((uint32_t)((int32_t)(-1 + last)) < 1) {
        float r8 = (r3 + r7), r9 = (r8 < r1 ? r1 : r8), r10 = (r2 < r9 ? r2 : r9);
        tmo_put_float32(&y[(int32_t)(4 * (each * g + j))], r10);
      }
    }
  }
}

void tmo_conv_runs_f32(const tmo_kernel *k, const tmo_runs *r, const int8_t *weights, int8_t *out) {
  const int8_t *const *const x = r->at;
  int8_t *const y = out;
  const float *const w = (const float *)(const void *)weights;
  const float *const bias = (const float *)(const void *)(k->bias ? k->bias : (const int32_t[1]){0});
  int8_t *const sums = (int8_t *)k->sums;
  const uint32_t rows = r->count, columns = r->parts, channels = r->bytes, each = k->out_channels / 4;
  const int32_t bias_step = k->bias ? 1 : 0, next_row = r->stride, next_column = r->next_at, apart = (int32_t)r->next_offset,
                offset = (int32_t)r->offset, filter_weights = (int32_t)r->filter, row_weights = (int32_t)r->row,
                tap_weights = (int32_t)r->next_row, low = tmo_float_low(k->op), high = tmo_float_high(k->op),
                first = !tmo_adds_sums() || k->first, last = !tmo_adds_sums() || k->last;
  float r1 = tmo_as_float((int32_t)(low)), r2 = tmo_as_float((int32_t)(high));
  for (uint32_t g = 0; g < 1; ++g) {
    uint32_t j = 0;
    for (; j + 4 <= each; j += 4) {
      float r3_0 = tmo_as_float(0), r3_1 = tmo_as_float(0), r3_2 = tmo_as_float(0), r3_3 = tmo_as_float(0);
      if ((uint32_t)((int32_t)(first)) < 1) {
        float r4_0 = tmo_float32_at(&sums[(int32_t)(4 * (each * g + j))]), r4_1 = tmo_float32_at(&sums[(int32_t)(4 * (1 + each * g + j))]),
              r4_2 = tmo_float32_at(&sums[(int32_t)(4 * (2 + each * g + j))]),
              r4_3 = tmo_float32_at(&sums[(int32_t)(4 * (3 + each * g + j))]);
        r3_0 = r4_0;
        r3_1 = r4_1;
        r3_2 = r4_2;
        r3_3 = r4_3;
      }
      for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t s = 0; s < columns; ++s) {
          for (uint32_t c = 0; c < channels; ++c) {
            const float *const at0 = &w[(int32_t)(c + each * filter_weights * g + filter_weights * j + r * row_weights + s * tap_weights)];
            float r5 = tmo_float32_at(&x[next_column * s + next_row * r][(int32_t)(4 * (apart * s + c + g + offset))]), r6_0 = at0[0],
                  r6_1 = at0[filter_weights], r6_2 = at0[2 * filter_weights], r6_3 = at0[3 * filter_weights];
            r3_0 = r3_0 + r5 * r6_0;
            r3_1 = r3_1 + r5 * r6_1;
            r3_2 = r3_2 + r5 * r6_2;
            r3_3 = r3_3 + r5 * r6_3;
          }
        }
      }
      const float *const at0 = &bias[(int32_t)(bias_step * each * g + bias_step * j)];
      float r7_0 = at0[0], r7_1 = at0[bias_step], r7_2 = at0[2 * bias_step], r7_3 = at0[3 * bias_step];
      if ((uint32_t)((int32_t)(last)) < 1) {
        tmo_put_float32(&sums[(int32_t)(4 * (each * g + j))], r3_0);
        tmo_put_float32(&sums[(int32_t)(4 * (1 + each * g + j))], r3_1);
        tmo_put_float32(&sums[(int32_t)(4 * (2 + each * g + j))], r3_2);
        tmo_put_float32(&sums[(int32_t)(4 * (3 + each * g + j))], r3_3);
      }
      if ((uint32_t)((int32_t)(-1 + last)) < 1) {
        float r8_0 = (r3_0 + r7_0), r8_1 = (r3_1 + r7_1), r8_2 = (r3_2 + r7_2), r8_3 = (r3_3 + r7_3), r9_0 = (r8_0 < r1 ? r1 : r8_0),
              r9_1 = (r8_1 < r1 ? r1 : r8_1), r9_2 = (r8_2 < r1 ? r1 : r8_2), r9_3 = (r8_3 < r1 ? r1 : r8_3),
              r10_0 = (r2 < r9_0 ? r2 : r9_0), r10_1 = (r2 < r9_1 ? r2 : r9_1), r10_2 = (r2 < r9_2 ? r2 : r9_2),
              r10_3 = (r2 < r9_3 ? r2 : r9_3);
        tmo_put_float32(&y[(int32_t)(4 * (each * g + j))], r10_0);
        tmo_put_float32(&y[(int32_t)(4 * (1 + each * g + j))], r10_1);
        tmo_put_float32(&y[(int32_t)(4 * (2 + each * g + j))], r10_2);
        tmo_put_float32(&y[(int32_t)(4 * (3 + each * g + j))], r10_3);
      }
    }
    for (; j < each; ++j) {
      float r3 = tmo_as_float(0);
      if ((uint32_t)((int32_t)(first)) < 1) {
        float r4 = tmo_float32_at(&sums[(int32_t)(4 * (each * g + j))]);
        r3 = r4;
      }
      for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t s = 0; s < columns; ++s) {
          for (uint32_t c = 0; c < channels; ++c) {
            float r5 = tmo_float32_at(&x[next_column * s + next_row * r][(int32_t)(4 * (apart * s + c + g + offset))]),
                  r6 = w[(int32_t)(c + each * filter_weights * g + filter_weights * j + r * row_weights + s * tap_weights)];
            r3 = r3 + r5 * r6;
          }
        }
      }
      float r7 = bias[(int32_t)(bias_step * each * g + bias_step * j)];
      if ((uint32_t)((int32_t)(last)) < 1) {
        tmo_put_float32(&sums[(int32_t)(4 * (each * g + j))], r3);
      }
      if ((uint32_t)((int32_t)(-1 + last)) < 1) {
        float r8 = (r3 + r7), r9 = (r8 < r1 ? r1 : r8), r10 = (r2 < r9 ? r2 : r9);
        tmo_put_float32(&y[(int32_t)(4 * (each * g + j))], r10);
      }
    }
  }
}

static TMO_ALWAYS_INLINE void extreme_pool_f32(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out, int32_t sign) {
  const int8_t *const *const x = window->pixels;
  int8_t *const y = out + i;
  int8_t *const sums = (int8_t *)(tmo_has_sums(k) ? k->sums + i / 4 : NULL);
  const uint32_t pointers = window->count, run = k->whole_rows ? window->columns : 1, channels = k->out_channels / 4;
  const int32_t offset = (int32_t)(window->offset / 4), low = tmo_float_low(k->op), high = tmo_float_high(k->op),
                first = !tmo_adds_sums() || k->first, last = !tmo_adds_sums() || k->last;
  float r1 = tmo_as_float((int32_t)(sign)), r2 = tmo_as_float((int32_t)(low)), r3 = tmo_as_float((int32_t)(high));
  uint32_t c = 0;
  for (; c + 4 <= channels; c += 4) {
    float r4_0 = tmo_as_float(-8388609), r4_1 = tmo_as_float(-8388609), r4_2 = tmo_as_float(-8388609), r4_3 = tmo_as_float(-8388609);
    if ((uint32_t)((int32_t)(first)) < 1) {
      float r5_0 = tmo_float32_at(&sums[(int32_t)(4 * (c))]), r5_1 = tmo_float32_at(&sums[(int32_t)(4 * (1 + c))]),
            r5_2 = tmo_float32_at(&sums[(int32_t)(4 * (2 + c))]), r5_3 = tmo_float32_at(&sums[(int32_t)(4 * (3 + c))]);
      r4_0 = r5_0;
      r4_1 = r5_1;
      r4_2 = r5_2;
      r4_3 = r5_3;
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        float r6_0 = tmo_float32_at(&x[p][(int32_t)(4 * (c + channels * t + offset))]),
              r6_1 = tmo_float32_at(&x[p][(int32_t)(4 * (1 + c + channels * t + offset))]),
              r6_2 = tmo_float32_at(&x[p][(int32_t)(4 * (2 + c + channels * t + offset))]),
              r6_3 = tmo_float32_at(&x[p][(int32_t)(4 * (3 + c + channels * t + offset))]), r7_0 = (r6_0 * r1), r7_1 = (r6_1 * r1),
              r7_2 = (r6_2 * r1), r7_3 = (r6_3 * r1);
        r4_0 = (r4_0 < r7_0 ? r7_0 : r4_0);
        r4_1 = (r4_1 < r7_1 ? r7_1 : r4_1);
        r4_2 = (r4_2 < r7_2 ? r7_2 : r4_2);
        r4_3 = (r4_3 < r7_3 ? r7_3 : r4_3);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      tmo_put_float32(&sums[(int32_t)(4 * (c))], r4_0);
      tmo_put_float32(&sums[(int32_t)(4 * (1 + c))], r4_1);
      tmo_put_float32(&sums[(int32_t)(4 * (2 + c))], r4_2);
      tmo_put_float32(&sums[(int32_t)(4 * (3 + c))], r4_3);
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      float r8_0 = (r4_0 * r1), r8_1 = (r4_1 * r1), r8_2 = (r4_2 * r1), r8_3 = (r4_3 * r1), r9_0 = (r8_0 < r2 ? r2 : r8_0),
            r9_1 = (r8_1 < r2 ? r2 : r8_1), r9_2 = (r8_2 < r2 ? r2 : r8_2), r9_3 = (r8_3 < r2 ? r2 : r8_3), r10_0 = (r3 < r9_0 ? r3 : r9_0),
            r10_1 = (r3 < r9_1 ? r3 : r9_1), r10_2 = (r3 < r9_2 ? r3 : r9_2), r10_3 = (r3 < r9_3 ? r3 : r9_3);
      tmo_put_float32(&y[(int32_t)(4 * (c))], r10_0);
      tmo_put_float32(&y[(int32_t)(4 * (1 + c))], r10_1);
      tmo_put_float32(&y[(int32_t)(4 * (2 + c))], r10_2);
      tmo_put_float32(&y[(int32_t)(4 * (3 + c))], r10_3);
    }
  }
  for (; c < channels; ++c) {
    float r4 = tmo_as_float(-8388609);
    if ((uint32_t)((int32_t)(first)) < 1) {
      float r5 = tmo_float32_at(&sums[(int32_t)(4 * (c))]);
      r4 = r5;
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        float r6 = tmo_float32_at(&x[p][(int32_t)(4 * (c + channels * t + offset))]), r7 = (r6 * r1);
        r4 = (r4 < r7 ? r7 : r4);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      tmo_put_float32(&sums[(int32_t)(4 * (c))], r4);
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      float r8 = (r4 * r1), r9 = (r8 < r2 ? r2 : r8), r10 = (r3 < r9 ? r3 : r9);
      tmo_put_float32(&y[(int32_t)(4 * (c))], r10);
    }
  }
}

void tmo_max_pool_f32(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) { extreme_pool_f32(k, window, i, out, 0x3F800000); }

void tmo_min_pool_f32(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) { extreme_pool_f32(k, window, i, out, (int32_t)0xBF800000u); }

void tmo_average_pool_f32(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) {
  const int8_t *const *const x = window->pixels;
  int8_t *const y = out + i;
  int8_t *const sums = (int8_t *)(tmo_has_sums(k) ? k->sums + i / 4 : NULL);
  const uint32_t area = tmo_float_divisor(k->op, window->area), pointers = window->count, run = k->whole_rows ? window->columns : 1,
                 channels = k->out_channels / 4;
  const int32_t offset = (int32_t)(window->offset / 4), low = tmo_float_low(k->op), high = tmo_float_high(k->op),
                first = !tmo_adds_sums() || k->first, last = !tmo_adds_sums() || k->last;
  float r1 = (float)(int32_t)(area), r2 = tmo_as_float((int32_t)(low)), r3 = tmo_as_float((int32_t)(high));
  uint32_t c = 0;
  for (; c + 4 <= channels; c += 4) {
    float r4_0 = tmo_as_float(0), r4_1 = tmo_as_float(0), r4_2 = tmo_as_float(0), r4_3 = tmo_as_float(0);
    if ((uint32_t)((int32_t)(first)) < 1) {
      float r5_0 = tmo_float32_at(&sums[(int32_t)(4 * (c))]), r5_1 = tmo_float32_at(&sums[(int32_t)(4 * (1 + c))]),
            r5_2 = tmo_float32_at(&sums[(int32_t)(4 * (2 + c))]), r5_3 = tmo_float32_at(&sums[(int32_t)(4 * (3 + c))]);
      r4_0 = r5_0;
      r4_1 = r5_1;
      r4_2 = r5_2;
      r4_3 = r5_3;
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        float r6_0 = tmo_float32_at(&x[p][(int32_t)(4 * (c + channels * t + offset))]),
              r6_1 = tmo_float32_at(&x[p][(int32_t)(4 * (1 + c + channels * t + offset))]),
              r6_2 = tmo_float32_at(&x[p][(int32_t)(4 * (2 + c + channels * t + offset))]),
              r6_3 = tmo_float32_at(&x[p][(int32_t)(4 * (3 + c + channels * t + offset))]);
        r4_0 = (r4_0 + r6_0);
        r4_1 = (r4_1 + r6_1);
        r4_2 = (r4_2 + r6_2);
        r4_3 = (r4_3 + r6_3);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      tmo_put_float32(&sums[(int32_t)(4 * (c))], r4_0);
      tmo_put_float32(&sums[(int32_t)(4 * (1 + c))], r4_1);
      tmo_put_float32(&sums[(int32_t)(4 * (2 + c))], r4_2);
      tmo_put_float32(&sums[(int32_t)(4 * (3 + c))], r4_3);
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      float r7_0 = (r4_0 / r1), r7_1 = (r4_1 / r1), r7_2 = (r4_2 / r1), r7_3 = (r4_3 / r1), r8_0 = (r7_0 < r2 ? r2 : r7_0),
            r8_1 = (r7_1 < r2 ? r2 : r7_1), r8_2 = (r7_2 < r2 ? r2 : r7_2), r8_3 = (r7_3 < r2 ? r2 : r7_3), r9_0 = (r3 < r8_0 ? r3 : r8_0),
            r9_1 = (r3 < r8_1 ? r3 : r8_1), r9_2 = (r3 < r8_2 ? r3 : r8_2), r9_3 = (r3 < r8_3 ? r3 : r8_3);
      tmo_put_float32(&y[(int32_t)(4 * (c))], r9_0);
      tmo_put_float32(&y[(int32_t)(4 * (1 + c))], r9_1);
      tmo_put_float32(&y[(int32_t)(4 * (2 + c))], r9_2);
      tmo_put_float32(&y[(int32_t)(4 * (3 + c))], r9_3);
    }
  }
  for (; c < channels; ++c) {
    float r4 = tmo_as_float(0);
    if ((uint32_t)((int32_t)(first)) < 1) {
      float r5 = tmo_float32_at(&sums[(int32_t)(4 * (c))]);
      r4 = r5;
    }
    for (uint32_t p = 0; p < pointers; ++p) {
      for (uint32_t t = 0; t < run; ++t) {
        float r6 = tmo_float32_at(&x[p][(int32_t)(4 * (c + channels * t + offset))]);
        r4 = (r4 + r6);
      }
    }
    if ((uint32_t)((int32_t)(last)) < 1) {
      tmo_put_float32(&sums[(int32_t)(4 * (c))], r4);
    }
    if ((uint32_t)((int32_t)(-1 + last)) < 1) {
      float r7 = (r4 / r1), r8 = (r7 < r2 ? r2 : r7), r9 = (r3 < r8 ? r3 : r8);
      tmo_put_float32(&y[(int32_t)(4 * (c))], r9);
    }
  }
}
