/* SPDX-License-Identifier: Apache-2.0 */
/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_conv_runs_s16(const tmo_kernel *k, const tmo_runs *r, const int8_t *weights, int8_t *out) {
  const int8_t *const *const x = r->at;
  int8_t *const y = out;
  const int8_t *const w = weights;
  const int32_t *const bias = k->bias ? k->bias : (const int32_t[2]){0};
  const int32_t *const multipliers = k->multipliers;
  const int8_t *const shifts = k->shifts;
  const uint32_t rows = r->count, columns = r->parts, channels = r->bytes, each = k->out_channels / 2;
  const int32_t low = (int16_t)(k->op->range_s16 & 0xFFFF), high = k->op->range_s16 >> 16,
                scale_step = k->op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0, bias_step = k->bias ? 2 : 0, next_row = r->stride,
                next_column = r->next_at, apart = (int32_t)r->next_offset, offset = (int32_t)r->offset, filter_weights = (int32_t)r->filter,
                row_weights = (int32_t)r->row, tap_weights = (int32_t)r->next_row;
  for (uint32_t g = 0; g < 1; ++g) {
    for (uint32_t j = 0; j < each; ++j) {
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
