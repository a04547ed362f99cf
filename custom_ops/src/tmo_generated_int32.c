/* SPDX-License-Identifier: Apache-2.0 */
/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

TMO_COMBINE_EACH(tmo_add_s32, int32_t, int32_t, , int32_t y = (int32_t)((uint32_t)x + (uint32_t)other);)
TMO_COMBINE_EACH(tmo_subtract_s32, int32_t, int32_t, , int32_t y = (int32_t)((uint32_t)x - (uint32_t)other);)
TMO_COMBINE_EACH(tmo_multiply_s32, int32_t, int32_t, , int32_t y = (int32_t)((uint32_t)x * (uint32_t)other);)
TMO_COMBINE_EACH(tmo_maximum_s32, int32_t, int32_t, , int32_t y = (x > other ? x : other);)
TMO_COMBINE_EACH(tmo_minimum_s32, int32_t, int32_t, , int32_t y = (x < other ? x : other);)
