/* SPDX-License-Identifier: Apache-2.0 */
/* This file defines the functions of fixed.h for calls that a compiler does not inline. */
#include "tmo/fixed.h"

extern inline int32_t tmo_wrapping_add(int32_t a, int32_t b);
extern inline int32_t tmo_high_add(int32_t total, int32_t a, int32_t b);
extern inline int32_t tmo_high_mul(int32_t a, int32_t b);
extern inline int32_t tmo_high_scale(int32_t x, int32_t multiplier);
extern inline int32_t tmo_round_shift(int32_t x, uint32_t exponent);
extern inline int32_t tmo_rescale(int32_t x, int32_t multiplier, int32_t shift);
