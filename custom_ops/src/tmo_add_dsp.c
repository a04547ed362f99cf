/* SPDX-License-Identifier: Apache-2.0 */
/* With the DSP extension, this file computes ADD operators that the converter has not packed. If the scales of an ADD operator can be packed, each
 * call of the kernel packs the scales. */
#include "tmo/packed.h"
#include "tmo/vectors.h"

#if TMO_CORE_DSP

enum { HALF = 1 << 30, MOST_RIGHT = 22 }; /* the converter's packings.py has a copy of MOST_RIGHT */

static bool is_half(const tmo_kernel *k, uint32_t i) { return k->multipliers[i] == HALF && k->shifts[i] == 0; }

static bool is_scaled_right(const tmo_kernel *k, uint32_t i) {
  return k->multipliers[i] > HALF && k->shifts[i] < 0 && k->shifts[i] >= -MOST_RIGHT;
}

bool tmo_add_vectors(const tmo_kernel *k, const int8_t *a, const int8_t *b, int8_t *out) {
  const uint32_t other = is_half(k, 0) ? 1 : 0;
  if (k->op->kind != TMO_OP_ADD || !tmo_is_elementwise(k) || !is_half(k, 1 - other) || !is_scaled_right(k, other) || !is_scaled_right(k, 2)) return false;
  int32_t scales[12];
  scales[0] = scales[4] = k->op->left_shift; /* the operands have a left shift, and the output has none */
  TMO_UNROLLED for (uint32_t i = 0; i < 3; ++i) {
    int32_t *const scale = scales + 4 * i + (i < 2 ? 1 : 0);
    scale[0] = (int32_t)((uint32_t)k->multipliers[i] << 1);
    scale[1] = 0;
    scale[2] = -k->shifts[i];
  }
  tmo_packed_add(a, b, out, k->out_width * k->out_channels, scales, k->op);
  return true;
}

#endif
