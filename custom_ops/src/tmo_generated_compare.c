/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/floats.h"

/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

TMO_COMBINE_EACH(tmo_equal_f32, float, int8_t, , int32_t y = (x == other);)
TMO_COMBINE_EACH(tmo_not_equal_f32, float, int8_t, , int32_t r3 = (x == other), y = (int32_t)((uint32_t)1 - (uint32_t)r3);)
TMO_COMBINE_EACH(tmo_less_f32, float, int8_t, , int32_t y = (x < other);)
TMO_COMBINE_EACH(tmo_less_equal_f32, float, int8_t, , int32_t y = (x <= other);)
TMO_COMBINE_EACH(tmo_equal_s32, int32_t, int8_t, , int32_t y = (x == other);)
TMO_COMBINE_EACH(tmo_not_equal_s32, int32_t, int8_t, , int32_t r3 = (x == other), y = (int32_t)((uint32_t)1 - (uint32_t)r3);)
TMO_COMBINE_EACH(tmo_less_s32, int32_t, int8_t, , int32_t y = (x < other);)
TMO_COMBINE_EACH(tmo_less_equal_s32, int32_t, int8_t, , int32_t y = (x <= other);)
