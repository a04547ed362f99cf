/* SPDX-License-Identifier: Apache-2.0 */
/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_conv_s16(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) {
  const int8_t *const *const x = window->pixels;
  int8_t *const y = out + i;
  const int8_t *const w = k->weights + tmo_first_tap(k, window);
  const int32_t *const bias = k->bias ? k->bias : (const int32_t[2]){0};
  const int32_t *const multipliers = k->multipliers;
  const int8_t *const shifts = k->shifts;
  const uint32_t rows = k->op->tile == 0 ? window->count : window->columns > 0 ? window->count / window->columns : 0u,
                 columns = window->columns, channels = tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16) ? 1u : k->in_channels / 2,
                 groups = tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16) ? k->in_channels / 2 : 1u,
                 each = tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16) ? k->out_channels / k->in_channels : k->out_channels / 2;
  const int32_t low = (int16_t)(k->op->range_s16 & 0xFFFF), high = k->op->range_s16 >> 16,
                scale_step = k->op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0, bias_step = k->bias ? 2 : 0,
                next_row = k->op->tile == 0 ? 1 : window->columns, next_column = k->op->tile == 0 ? 0 : 1,
                apart = k->op->tile == 0 ? (int32_t)(k->op->dilation_w * k->in_channels / 2) : 0, offset = (int32_t)(window->offset / 2),
                filter_weights = tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16) ? 1 : (int32_t)(k->op->kernel_h * k->op->kernel_w * k->tap_step),
                row_weights = (int32_t)(k->op->kernel_w * k->tap_step), tap_weights = (int32_t)k->tap_step;
  for (uint32_t g = 0; g < groups; ++g) {
    uint32_t j = 0;
    for (; j + 2 <= each; j += 2) {
      const int32_t *const at0 = &bias[(int32_t)(bias_step * each * g + bias_step * j)];
      int32_t r1_0 = at0[0], r1_1 = at0[bias_step], r2_0 = at0[1], r2_1 = at0[(int32_t)(1 + bias_step)];
      int64_t r3_0 = (int64_t)((uint64_t)(uint32_t)r1_0 | (uint64_t)(uint32_t)r2_0 << 32),
              r3_1 = (int64_t)((uint64_t)(uint32_t)r1_1 | (uint64_t)(uint32_t)r2_1 << 32);
      for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t s = 0; s < columns; ++s) {
          for (uint32_t c = 0; c < channels; ++c) {
            const int8_t *const at1 = &w[(int32_t)(c + each * filter_weights * g + filter_weights * j + r * row_weights + s * tap_weights)];
            int32_t r4 = tmo_int16_at(&x[next_column * s + next_row * r][(int32_t)(2 * (apart * s + c + g + offset))]), r5_0 = at1[0],
                    r5_1 = at1[filter_weights];
            r3_0 = (int64_t)((uint64_t)r3_0 + (uint64_t)(r4 * r5_0));
            r3_1 = (int64_t)((uint64_t)r3_1 + (uint64_t)(r4 * r5_1));
          }
        }
      }
      const int32_t *const at1 = &multipliers[(int32_t)(each * g * scale_step + j * scale_step)];
      const int8_t *const at2 = &shifts[(int32_t)(each * g * scale_step + j * scale_step)];
      int32_t r6_0 = at1[0], r6_1 = at1[scale_step], r7_0 = at2[0], r7_1 = at2[scale_step], r8_0 = tmo_rescale_wide(r3_0, r6_0, r7_0),
              r8_1 = tmo_rescale_wide(r3_1, r6_1, r7_1), r9_0 = (r8_0 > (int32_t)(low) ? r8_0 : (int32_t)(low)),
              r9_1 = (r8_1 > (int32_t)(low) ? r8_1 : (int32_t)(low)), r10_0 = (r9_0 < (int32_t)(high) ? r9_0 : (int32_t)(high)),
              r10_1 = (r9_1 < (int32_t)(high) ? r9_1 : (int32_t)(high)), r11_0 = r10_0, r11_1 = r10_1;
      tmo_put_int16(&y[(int32_t)(2 * (each * g + j))], r11_0);
      tmo_put_int16(&y[(int32_t)(2 * (1 + each * g + j))], r11_1);
    }
    for (; j < each; ++j) {
      const int32_t *const at0 = &bias[(int32_t)(bias_step * each * g + bias_step * j)];
      int32_t r1 = at0[0], r2 = at0[1];
      int64_t r3 = (int64_t)((uint64_t)(uint32_t)r1 | (uint64_t)(uint32_t)r2 << 32);
      for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t s = 0; s < columns; ++s) {
          for (uint32_t c = 0; c < channels; ++c) {
            int32_t r4 = tmo_int16_at(&x[next_column * s + next_row * r][(int32_t)(2 * (apart * s + c + g + offset))]),
                    r5 = w[(int32_t)(c + each * filter_weights * g + filter_weights * j + r * row_weights + s * tap_weights)];
            r3 = (int64_t)((uint64_t)r3 + (uint64_t)(r4 * r5));
          }
        }
      }
      int32_t r6 = multipliers[(int32_t)(each * g * scale_step + j * scale_step)],
              r7 = shifts[(int32_t)(each * g * scale_step + j * scale_step)], r8 = tmo_rescale_wide(r3, r6, r7),
              r9 = (r8 > (int32_t)(low) ? r8 : (int32_t)(low)), r10 = (r9 < (int32_t)(high) ? r9 : (int32_t)(high)), r11 = r10;
      tmo_put_int16(&y[(int32_t)(2 * (each * g + j))], r11);
    }
  }
}

void tmo_depthwise_s16(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out) {
  const int8_t *const *const x = window->pixels;
  int8_t *const y = out + i;
  const int8_t *const w = k->weights + tmo_first_tap(k, window);
  const int32_t *const bias = k->bias ? k->bias : (const int32_t[2]){0};
  const int32_t *const multipliers = k->multipliers;
  const int8_t *const shifts = k->shifts;
  const uint32_t rows = k->op->tile == 0 ? window->count : window->columns > 0 ? window->count / window->columns : 0u,
                 columns = window->columns, groups = k->in_channels / 2;
  const int32_t low = (int16_t)(k->op->range_s16 & 0xFFFF), high = k->op->range_s16 >> 16,
                scale_step = k->op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0, bias_step = k->bias ? 2 : 0,
                next_row = k->op->tile == 0 ? 1 : window->columns, next_column = k->op->tile == 0 ? 0 : 1,
                apart = k->op->tile == 0 ? (int32_t)(k->op->dilation_w * k->in_channels / 2) : 0, offset = (int32_t)(window->offset / 2),
                row_weights = (int32_t)(k->op->kernel_w * k->tap_step), tap_weights = (int32_t)k->tap_step;
  uint32_t g = 0;
  for (; g + 2 <= groups; g += 2) {
    for (uint32_t j = 0; j < 1; ++j) {
      const int32_t *const at0 = &bias[(int32_t)(bias_step * g + bias_step * j)];
      int32_t r1_0 = at0[0], r1_1 = at0[bias_step], r2_0 = at0[1], r2_1 = at0[(int32_t)(1 + bias_step)];
      int64_t r3_0 = (int64_t)((uint64_t)(uint32_t)r1_0 | (uint64_t)(uint32_t)r2_0 << 32),
              r3_1 = (int64_t)((uint64_t)(uint32_t)r1_1 | (uint64_t)(uint32_t)r2_1 << 32);
      for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t s = 0; s < columns; ++s) {
          for (uint32_t c = 0; c < 1; ++c) {
            const int8_t *const at1 = &w[(int32_t)(c + g + j + r * row_weights + s * tap_weights)];
            int32_t r4_0 = tmo_int16_at(&x[next_column * s + next_row * r][(int32_t)(2 * (apart * s + c + g + offset))]),
                    r4_1 = tmo_int16_at(&x[next_column * s + next_row * r][(int32_t)(2 * (1 + apart * s + c + g + offset))]), r5_0 = at1[0],
                    r5_1 = at1[1];
            r3_0 = (int64_t)((uint64_t)r3_0 + (uint64_t)(r4_0 * r5_0));
            r3_1 = (int64_t)((uint64_t)r3_1 + (uint64_t)(r4_1 * r5_1));
          }
        }
      }
      const int32_t *const at1 = &multipliers[(int32_t)(g * scale_step + j * scale_step)];
      const int8_t *const at2 = &shifts[(int32_t)(g * scale_step + j * scale_step)];
      int32_t r6_0 = at1[0], r6_1 = at1[scale_step], r7_0 = at2[0], r7_1 = at2[scale_step], r8_0 = tmo_rescale_wide(r3_0, r6_0, r7_0),
              r8_1 = tmo_rescale_wide(r3_1, r6_1, r7_1), r9_0 = (r8_0 > (int32_t)(low) ? r8_0 : (int32_t)(low)),
              r9_1 = (r8_1 > (int32_t)(low) ? r8_1 : (int32_t)(low)), r10_0 = (r9_0 < (int32_t)(high) ? r9_0 : (int32_t)(high)),
              r10_1 = (r9_1 < (int32_t)(high) ? r9_1 : (int32_t)(high)), r11_0 = r10_0, r11_1 = r10_1;
      tmo_put_int16(&y[(int32_t)(2 * (g + j))], r11_0);
      tmo_put_int16(&y[(int32_t)(2 * (1 + g + j))], r11_1);
    }
  }
  for (; g < groups; ++g) {
    for (uint32_t j = 0; j < 1; ++j) {
      const int32_t *const at0 = &bias[(int32_t)(bias_step * g + bias_step * j)];
      int32_t r1 = at0[0], r2 = at0[1];
      int64_t r3 = (int64_t)((uint64_t)(uint32_t)r1 | (uint64_t)(uint32_t)r2 << 32);
      for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t s = 0; s < columns; ++s) {
          for (uint32_t c = 0; c < 1; ++c) {
            int32_t r4 = tmo_int16_at(&x[next_column * s + next_row * r][(int32_t)(2 * (apart * s + c + g + offset))]),
                    r5 = w[(int32_t)(c + g + j + r * row_weights + s * tap_weights)];
            r3 = (int64_t)((uint64_t)r3 + (uint64_t)(r4 * r5));
          }
        }
      }
      int32_t r6 = multipliers[(int32_t)(g * scale_step + j * scale_step)], r7 = shifts[(int32_t)(g * scale_step + j * scale_step)],
              r8 = tmo_rescale_wide(r3, r6, r7), r9 = (r8 > (int32_t)(low) ? r8 : (int32_t)(low)),
              r10 = (r9 < (int32_t)(high) ? r9 : (int32_t)(high)), r11 = r10;
      tmo_put_int16(&y[(int32_t)(2 * (g + j))], r11);
    }
  }
}
