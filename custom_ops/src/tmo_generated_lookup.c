/* SPDX-License-Identifier: Apache-2.0 */
/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_lookup_bytes(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const int8_t *const table = k->weights;
  const uint32_t n = k->out_width * k->out_channels;
  uint32_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const int8_t *const at0 = &x[i];
    int32_t r1_0 = at0[0], r2_0 = table[128 + r1_0];
    y[i] = (int8_t)r2_0;
    int32_t r1_1 = at0[1], r2_1 = table[128 + r1_1];
    y[(int32_t)(1 + i)] = (int8_t)r2_1;
    int32_t r1_2 = at0[2], r2_2 = table[128 + r1_2];
    y[(int32_t)(2 + i)] = (int8_t)r2_2;
    int32_t r1_3 = at0[3], r2_3 = table[128 + r1_3];
    y[(int32_t)(3 + i)] = (int8_t)r2_3;
  }
  for (; i < n; ++i) {
    int32_t r1 = x[i], r2 = table[128 + r1];
    y[i] = (int8_t)r2;
  }
}
