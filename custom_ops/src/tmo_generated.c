/* SPDX-License-Identifier: Apache-2.0 */
/* scripts/kernels.py generates this file from descriptions of kernels (docs/kernel-language.md). */
#include "tmo/generated.h"

#include "tmo/fixed.h"

#if TMO_RVV

#ifdef __riscv_vector
#error "Compile the library without V in -march: this file enables V for its own assembly"
#endif
__asm__(".option arch, +zve32x");

/* The loops were rewritten in these steps of docs/kernel-language.md: vectorise k; expand rescale; expand round_shift; expand copy; expand dot; expand sub. */
void tmo_conv_pixel_rvv(const tmo_conv_pixel_operands *o) {
  __asm__ volatile("csrwi vxrm, 0" : : : "memory"); /* vector instructions round halves up */
  const int8_t *const *const x = o->x;
  int8_t *const y = o->y;
  const int8_t *const w = o->w;
  const int32_t *const bias = o->bias;
  const int32_t *const multipliers = o->multipliers;
  const int8_t *const shifts = o->shifts;
  const uint32_t rows = o->rows, columns = o->columns, channels = o->channels, filters = o->filters;
  const int32_t zero_in = o->zero_in, zero_out = o->zero_out, low = o->low, high = o->high, scale_step = o->scale_step,
                bias_step = o->bias_step, next_row = o->next_row, next_column = o->next_column, apart = o->apart, offset = o->offset,
                row_weights = o->row_weights, tap_weights = o->tap_weights, filter_weights = o->filter_weights;
  for (uint32_t k = 0, lanes; k < filters; k += lanes) {
    __asm__ volatile("vsetvli %0, %1, e32, m8, ta, ma" : "=r"(lanes) : "r"(filters - k));
    __asm__ volatile("vlse32.v v0, (%0), %1" : : "r"(&bias[(int32_t)(bias_step * k)]), "r"(4 * bias_step));
    __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t s = 0; s < columns; ++s) {
        for (uint32_t c = 0; c < channels; ++c) {
          int32_t r2 = x[next_column * s + next_row * r][(int32_t)(apart * s + c + offset)],
                  r3 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_in));
          __asm__ volatile("vlse8.v v8, (%0), %1" : : "r"(&w[(int32_t)(c + filter_weights * k + r * row_weights + s * tap_weights)]), "r"(filter_weights));
          __asm__ volatile("vsext.vf2 v12, v8" :);
          __asm__ volatile("vwmacc.vx v0, %0, v12" : : "r"(r3));
        }
      }
    }
    __asm__ volatile("vlse32.v v8, (%0), %1" : : "r"(&multipliers[(int32_t)(k * scale_step)]), "r"(4 * scale_step));
    __asm__ volatile("vlse8.v v16, (%0), %1" : : "r"(&shifts[(int32_t)(k * scale_step)]), "r"(scale_step));
    __asm__ volatile("vsetvli zero, %0, e32, m8, ta, ma" : : "r"(lanes));
    __asm__ volatile("vsext.vf4 v24, v16" :);
    __asm__ volatile("vmax.vx v16, v24, %0" : : "r"(0));
    __asm__ volatile("vsll.vv v0, v0, v16" :);
    __asm__ volatile("vsmul.vv v0, v0, v8" :);
    __asm__ volatile("vrsub.vx v8, v24, %0" : : "r"(0));
    __asm__ volatile("vmax.vx v8, v8, %0" : : "r"(0));
    __asm__ volatile("vsra.vx v16, v0, %0" : : "r"(31));
    __asm__ volatile("vmin.vx v24, v8, %0" : : "r"(1));
    __asm__ volatile("vrsub.vx v24, v24, %0" : : "r"(0));
    __asm__ volatile("vand.vv v16, v16, v24" :);
    __asm__ volatile("vadd.vv v0, v0, v16" :);
    __asm__ volatile("vssra.vv v0, v0, v8" :);
    __asm__ volatile("vadd.vx v0, v0, %0" : : "r"((int32_t)(zero_out)));
    __asm__ volatile("vmax.vx v0, v0, %0" : : "r"((int32_t)(low)));
    __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
    __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
    __asm__ volatile("vnsra.wi v8, v0, 0" :);
    __asm__ volatile("vsetvli zero, %0, e8, m2, ta, ma" : : "r"(lanes));
    __asm__ volatile("vnsra.wi v0, v8, 0" :);
    __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[k]) : "memory");
  }
}

/* The loops were rewritten in these steps of docs/kernel-language.md: vectorise k; expand rescale; expand round_shift; expand copy; expand dot; expand sub. */
void tmo_depthwise_pixel_rvv(const tmo_depthwise_pixel_operands *o) {
  __asm__ volatile("csrwi vxrm, 0" : : : "memory"); /* vector instructions round halves up */
  const int8_t *const *const x = o->x;
  int8_t *const y = o->y;
  const int8_t *const w = o->w;
  const int32_t *const bias = o->bias;
  const int32_t *const multipliers = o->multipliers;
  const int8_t *const shifts = o->shifts;
  const uint32_t rows = o->rows, columns = o->columns, channels = o->channels;
  const int32_t zero_in = o->zero_in, zero_out = o->zero_out, low = o->low, high = o->high, scale_step = o->scale_step,
                bias_step = o->bias_step, next_row = o->next_row, next_column = o->next_column, apart = o->apart, offset = o->offset,
                row_weights = o->row_weights, tap_weights = o->tap_weights;
  for (uint32_t k = 0, lanes; k < channels; k += lanes) {
    __asm__ volatile("vsetvli %0, %1, e32, m8, ta, ma" : "=r"(lanes) : "r"(channels - k));
    __asm__ volatile("vlse32.v v0, (%0), %1" : : "r"(&bias[(int32_t)(bias_step * k)]), "r"(4 * bias_step));
    __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t s = 0; s < columns; ++s) {
        __asm__ volatile("vle8.v v8, (%0)" : : "r"(&x[next_column * s + next_row * r][(int32_t)(apart * s + k + offset)]));
        __asm__ volatile("vsext.vf2 v12, v8" :);
        __asm__ volatile("vsub.vx v8, v12, %0" : : "r"((int32_t)(zero_in)));
        __asm__ volatile("vle8.v v12, (%0)" : : "r"(&w[(int32_t)(k + r * row_weights + s * tap_weights)]));
        __asm__ volatile("vsext.vf2 v16, v12" :);
        __asm__ volatile("vwmacc.vv v0, v8, v16" :);
      }
    }
    __asm__ volatile("vlse32.v v8, (%0), %1" : : "r"(&multipliers[(int32_t)(k * scale_step)]), "r"(4 * scale_step));
    __asm__ volatile("vlse8.v v16, (%0), %1" : : "r"(&shifts[(int32_t)(k * scale_step)]), "r"(scale_step));
    __asm__ volatile("vsetvli zero, %0, e32, m8, ta, ma" : : "r"(lanes));
    __asm__ volatile("vsext.vf4 v24, v16" :);
    __asm__ volatile("vmax.vx v16, v24, %0" : : "r"(0));
    __asm__ volatile("vsll.vv v0, v0, v16" :);
    __asm__ volatile("vsmul.vv v0, v0, v8" :);
    __asm__ volatile("vrsub.vx v8, v24, %0" : : "r"(0));
    __asm__ volatile("vmax.vx v8, v8, %0" : : "r"(0));
    __asm__ volatile("vsra.vx v16, v0, %0" : : "r"(31));
    __asm__ volatile("vmin.vx v24, v8, %0" : : "r"(1));
    __asm__ volatile("vrsub.vx v24, v24, %0" : : "r"(0));
    __asm__ volatile("vand.vv v16, v16, v24" :);
    __asm__ volatile("vadd.vv v0, v0, v16" :);
    __asm__ volatile("vssra.vv v0, v0, v8" :);
    __asm__ volatile("vadd.vx v0, v0, %0" : : "r"((int32_t)(zero_out)));
    __asm__ volatile("vmax.vx v0, v0, %0" : : "r"((int32_t)(low)));
    __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
    __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
    __asm__ volatile("vnsra.wi v8, v0, 0" :);
    __asm__ volatile("vsetvli zero, %0, e8, m2, ta, ma" : : "r"(lanes));
    __asm__ volatile("vnsra.wi v0, v8, 0" :);
    __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[k]) : "memory");
  }
}

/* The loops were rewritten in these steps of docs/kernel-language.md: vectorise i; expand rescale; expand round_shift; expand copy; expand dot; expand sub. */
void tmo_add_rvv(const tmo_add_operands *o) {
  __asm__ volatile("csrwi vxrm, 0" : : : "memory"); /* vector instructions round halves up */
  const int8_t *const x = o->x;
  const int8_t *const other = o->other;
  int8_t *const y = o->y;
  const uint32_t n = o->n;
  const int32_t zero_a = o->zero_a, zero_b = o->zero_b, zero_out = o->zero_out, low = o->low, high = o->high, scale_a = o->scale_a,
                scale_b = o->scale_b, scale_out = o->scale_out, right_a = o->right_a, right_b = o->right_b, right_out = o->right_out;
  for (uint32_t i = 0, lanes; i < n; i += lanes) {
    __asm__ volatile("vsetvli %0, %1, e32, m8, ta, ma" : "=r"(lanes) : "r"(n - i));
    __asm__ volatile("vle8.v v0, (%0)" : : "r"(&x[i]));
    __asm__ volatile("vsext.vf4 v8, v0" :);
    __asm__ volatile("vsub.vx v0, v8, %0" : : "r"((int32_t)(zero_a)));
    __asm__ volatile("vsll.vx v0, v0, %0" : : "r"(20));
    __asm__ volatile("vsmul.vx v0, v0, %0" : : "r"((int32_t)(scale_a)));
    __asm__ volatile("vsra.vx v8, v0, %0" : : "r"(31));
    int32_t round_shift0_any = ((int32_t)(right_a) < 1 ? (int32_t)(right_a) : 1),
            round_shift0_mask = (int32_t)((uint32_t)0 - (uint32_t)round_shift0_any);
    __asm__ volatile("vand.vx v8, v8, %0" : : "r"(round_shift0_mask));
    __asm__ volatile("vadd.vv v0, v0, v8" :);
    __asm__ volatile("vssra.vx v0, v0, %0" : : "r"((int32_t)(right_a)));
    __asm__ volatile("vle8.v v8, (%0)" : : "r"(&other[i]));
    __asm__ volatile("vsext.vf4 v16, v8" :);
    __asm__ volatile("vsub.vx v8, v16, %0" : : "r"((int32_t)(zero_b)));
    __asm__ volatile("vsll.vx v8, v8, %0" : : "r"(20));
    __asm__ volatile("vsmul.vx v8, v8, %0" : : "r"((int32_t)(scale_b)));
    __asm__ volatile("vsra.vx v16, v8, %0" : : "r"(31));
    int32_t round_shift1_any = ((int32_t)(right_b) < 1 ? (int32_t)(right_b) : 1),
            round_shift1_mask = (int32_t)((uint32_t)0 - (uint32_t)round_shift1_any);
    __asm__ volatile("vand.vx v16, v16, %0" : : "r"(round_shift1_mask));
    __asm__ volatile("vadd.vv v8, v8, v16" :);
    __asm__ volatile("vssra.vx v8, v8, %0" : : "r"((int32_t)(right_b)));
    __asm__ volatile("vadd.vv v0, v0, v8" :);
    __asm__ volatile("vsmul.vx v0, v0, %0" : : "r"((int32_t)(scale_out)));
    __asm__ volatile("vsra.vx v8, v0, %0" : : "r"(31));
    int32_t round_shift2_any = ((int32_t)(right_out) < 1 ? (int32_t)(right_out) : 1),
            round_shift2_mask = (int32_t)((uint32_t)0 - (uint32_t)round_shift2_any);
    __asm__ volatile("vand.vx v8, v8, %0" : : "r"(round_shift2_mask));
    __asm__ volatile("vadd.vv v0, v0, v8" :);
    __asm__ volatile("vssra.vx v0, v0, %0" : : "r"((int32_t)(right_out)));
    __asm__ volatile("vadd.vx v0, v0, %0" : : "r"((int32_t)(zero_out)));
    __asm__ volatile("vmax.vx v0, v0, %0" : : "r"((int32_t)(low)));
    __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
    __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
    __asm__ volatile("vnsra.wi v8, v0, 0" :);
    __asm__ volatile("vsetvli zero, %0, e8, m2, ta, ma" : : "r"(lanes));
    __asm__ volatile("vnsra.wi v0, v8, 0" :);
    __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[i]) : "memory");
  }
}

/* The loops were rewritten in these steps of docs/kernel-language.md: vectorise k; jam p, 2 turns apart; unroll i, 4 turns; expand rescale; expand round_shift; expand copy; expand dot; expand sub. */
void tmo_packed_conv_rvv(const tmo_packed_conv_operands *o) {
  __asm__ volatile("csrwi vxrm, 0" : : : "memory"); /* vector instructions round halves up */
  const int8_t *const x = o->x;
  int8_t *const y = o->y;
  const int8_t *const w = o->w;
  const int32_t *const bias = o->bias;
  const int32_t *const multipliers = o->multipliers;
  const int16_t *const rights = o->rights;
  const uint32_t pixels = o->pixels, values = o->values, filters = o->filters;
  const int32_t apart = o->apart, step = o->step, zero_out = o->zero_out, low = o->low, high = o->high;
  uint32_t p = 0;
  for (; p + 2 <= pixels; p += 2) {
    for (uint32_t k = 0, lanes; k < filters; k += lanes) {
      __asm__ volatile("vsetvli %0, %1, e32, m8, ta, ma" : "=r"(lanes) : "r"(filters - k));
      __asm__ volatile("vle32.v v0, (%0)" : : "r"(&bias[k]));
      __asm__ volatile("vle32.v v8, (%0)" : : "r"(&bias[k]));
      __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
      uint32_t i = 0;
      for (; i + 4 <= values; i += 4) {
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&w[(int32_t)(filters * i + k)]));
        __asm__ volatile("vsext.vf2 v20, v16" :);
        int32_t r4_0_0 = x[(int32_t)(apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v20" : : "r"(r4_0_0));
        int32_t r4_1_0 = x[(int32_t)(apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v8, %0, v20" : : "r"(r4_1_0));
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&w[(int32_t)(filters + filters * i + k)]));
        __asm__ volatile("vsext.vf2 v20, v16" :);
        int32_t r4_0_1 = x[(int32_t)(1 + apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v20" : : "r"(r4_0_1));
        int32_t r4_1_1 = x[(int32_t)(1 + apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v8, %0, v20" : : "r"(r4_1_1));
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&w[(int32_t)(2 * filters + filters * i + k)]));
        __asm__ volatile("vsext.vf2 v20, v16" :);
        int32_t r4_0_2 = x[(int32_t)(2 + apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v20" : : "r"(r4_0_2));
        int32_t r4_1_2 = x[(int32_t)(2 + apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v8, %0, v20" : : "r"(r4_1_2));
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&w[(int32_t)(3 * filters + filters * i + k)]));
        __asm__ volatile("vsext.vf2 v20, v16" :);
        int32_t r4_0_3 = x[(int32_t)(3 + apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v20" : : "r"(r4_0_3));
        int32_t r4_1_3 = x[(int32_t)(3 + apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v8, %0, v20" : : "r"(r4_1_3));
      }
      for (; i < values; ++i) {
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&w[(int32_t)(filters * i + k)]));
        __asm__ volatile("vsext.vf2 v20, v16" :);
        int32_t r4_0 = x[(int32_t)(apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v20" : : "r"(r4_0));
        int32_t r4_1 = x[(int32_t)(apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v8, %0, v20" : : "r"(r4_1));
      }
      __asm__ volatile("vle32.v v16, (%0)" : : "r"(&multipliers[k]));
      __asm__ volatile("vsetvli zero, %0, e32, m8, ta, ma" : : "r"(lanes));
      __asm__ volatile("vsra.vx v24, v0, %0" : : "r"(31));
      __asm__ volatile("vsmul.vv v0, v0, v16" :);
      __asm__ volatile("vadd.vv v0, v0, v24" :);
      __asm__ volatile("vle16.v v24, (%0)" : : "r"(&rights[k]));
      __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wv v28, v0, v24" :);
      __asm__ volatile("vsadd.vx v0, v28, %0" : : "r"((int32_t)(zero_out)));
      __asm__ volatile("vsetvli zero, %0, e8, m2, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wi v4, v0, 0" :);
      __asm__ volatile("vmax.vx v0, v4, %0" : : "r"((int32_t)(low)));
      __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
      __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[(int32_t)(k + p * step)]) : "memory");
      __asm__ volatile("vsetvli zero, %0, e32, m8, ta, ma" : : "r"(lanes));
      __asm__ volatile("vsra.vx v0, v8, %0" : : "r"(31));
      __asm__ volatile("vsmul.vv v8, v8, v16" :);
      __asm__ volatile("vadd.vv v0, v8, v0" :);
      __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wv v8, v0, v24" :);
      __asm__ volatile("vsadd.vx v0, v8, %0" : : "r"((int32_t)(zero_out)));
      __asm__ volatile("vsetvli zero, %0, e8, m2, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wi v4, v0, 0" :);
      __asm__ volatile("vmax.vx v0, v4, %0" : : "r"((int32_t)(low)));
      __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
      __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[(int32_t)(k + p * step + step)]) : "memory");
    }
  }
  for (; p < pixels; ++p) {
    for (uint32_t k = 0, lanes; k < filters; k += lanes) {
      __asm__ volatile("vsetvli %0, %1, e32, m8, ta, ma" : "=r"(lanes) : "r"(filters - k));
      __asm__ volatile("vle32.v v0, (%0)" : : "r"(&bias[k]));
      __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
      uint32_t i = 0;
      for (; i + 4 <= values; i += 4) {
        __asm__ volatile("vle8.v v8, (%0)" : : "r"(&w[(int32_t)(filters * i + k)]));
        __asm__ volatile("vsext.vf2 v12, v8" :);
        int32_t r4_0 = x[(int32_t)(apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v12" : : "r"(r4_0));
        __asm__ volatile("vle8.v v8, (%0)" : : "r"(&w[(int32_t)(filters + filters * i + k)]));
        __asm__ volatile("vsext.vf2 v12, v8" :);
        int32_t r4_1 = x[(int32_t)(1 + apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v12" : : "r"(r4_1));
        __asm__ volatile("vle8.v v8, (%0)" : : "r"(&w[(int32_t)(2 * filters + filters * i + k)]));
        __asm__ volatile("vsext.vf2 v12, v8" :);
        int32_t r4_2 = x[(int32_t)(2 + apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v12" : : "r"(r4_2));
        __asm__ volatile("vle8.v v8, (%0)" : : "r"(&w[(int32_t)(3 * filters + filters * i + k)]));
        __asm__ volatile("vsext.vf2 v12, v8" :);
        int32_t r4_3 = x[(int32_t)(3 + apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v12" : : "r"(r4_3));
      }
      for (; i < values; ++i) {
        __asm__ volatile("vle8.v v8, (%0)" : : "r"(&w[(int32_t)(filters * i + k)]));
        __asm__ volatile("vsext.vf2 v12, v8" :);
        int32_t r4 = x[(int32_t)(apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v12" : : "r"(r4));
      }
      __asm__ volatile("vle32.v v8, (%0)" : : "r"(&multipliers[k]));
      __asm__ volatile("vsetvli zero, %0, e32, m8, ta, ma" : : "r"(lanes));
      __asm__ volatile("vsra.vx v16, v0, %0" : : "r"(31));
      __asm__ volatile("vsmul.vv v0, v0, v8" :);
      __asm__ volatile("vadd.vv v0, v0, v16" :);
      __asm__ volatile("vle16.v v8, (%0)" : : "r"(&rights[k]));
      __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wv v8, v0, v8" :);
      __asm__ volatile("vsadd.vx v0, v8, %0" : : "r"((int32_t)(zero_out)));
      __asm__ volatile("vsetvli zero, %0, e8, m2, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wi v4, v0, 0" :);
      __asm__ volatile("vmax.vx v0, v4, %0" : : "r"((int32_t)(low)));
      __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
      __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[(int32_t)(k + p * step)]) : "memory");
    }
  }
}

/* The loops were rewritten in these steps of docs/kernel-language.md: vectorise k, m4; jam p, 4 turns apart; unroll i, 4 turns; expand rescale; expand round_shift; expand copy; expand dot; expand sub. */
void tmo_packed_conv_narrow_rvv(const tmo_packed_conv_operands *o) {
  __asm__ volatile("csrwi vxrm, 0" : : : "memory"); /* vector instructions round halves up */
  const int8_t *const x = o->x;
  int8_t *const y = o->y;
  const int8_t *const w = o->w;
  const int32_t *const bias = o->bias;
  const int32_t *const multipliers = o->multipliers;
  const int16_t *const rights = o->rights;
  const uint32_t pixels = o->pixels, values = o->values, filters = o->filters;
  const int32_t apart = o->apart, step = o->step, zero_out = o->zero_out, low = o->low, high = o->high;
  uint32_t p = 0;
  for (; p + 4 <= pixels; p += 4) {
    for (uint32_t k = 0, lanes; k < filters; k += lanes) {
      __asm__ volatile("vsetvli %0, %1, e32, m4, ta, ma" : "=r"(lanes) : "r"(filters - k));
      __asm__ volatile("vle32.v v0, (%0)" : : "r"(&bias[k]));
      __asm__ volatile("vle32.v v4, (%0)" : : "r"(&bias[k]));
      __asm__ volatile("vle32.v v8, (%0)" : : "r"(&bias[k]));
      __asm__ volatile("vle32.v v12, (%0)" : : "r"(&bias[k]));
      __asm__ volatile("vsetvli zero, %0, e16, m2, ta, ma" : : "r"(lanes));
      uint32_t i = 0;
      for (; i + 4 <= values; i += 4) {
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&w[(int32_t)(filters * i + k)]));
        __asm__ volatile("vsext.vf2 v18, v16" :);
        int32_t r4_0_0 = x[(int32_t)(apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v18" : : "r"(r4_0_0));
        int32_t r4_1_0 = x[(int32_t)(apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v4, %0, v18" : : "r"(r4_1_0));
        int32_t r4_2_0 = x[(int32_t)(2 * apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v8, %0, v18" : : "r"(r4_2_0));
        int32_t r4_3_0 = x[(int32_t)(3 * apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v12, %0, v18" : : "r"(r4_3_0));
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&w[(int32_t)(filters + filters * i + k)]));
        __asm__ volatile("vsext.vf2 v18, v16" :);
        int32_t r4_0_1 = x[(int32_t)(1 + apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v18" : : "r"(r4_0_1));
        int32_t r4_1_1 = x[(int32_t)(1 + apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v4, %0, v18" : : "r"(r4_1_1));
        int32_t r4_2_1 = x[(int32_t)(1 + 2 * apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v8, %0, v18" : : "r"(r4_2_1));
        int32_t r4_3_1 = x[(int32_t)(1 + 3 * apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v12, %0, v18" : : "r"(r4_3_1));
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&w[(int32_t)(2 * filters + filters * i + k)]));
        __asm__ volatile("vsext.vf2 v18, v16" :);
        int32_t r4_0_2 = x[(int32_t)(2 + apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v18" : : "r"(r4_0_2));
        int32_t r4_1_2 = x[(int32_t)(2 + apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v4, %0, v18" : : "r"(r4_1_2));
        int32_t r4_2_2 = x[(int32_t)(2 + 2 * apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v8, %0, v18" : : "r"(r4_2_2));
        int32_t r4_3_2 = x[(int32_t)(2 + 3 * apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v12, %0, v18" : : "r"(r4_3_2));
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&w[(int32_t)(3 * filters + filters * i + k)]));
        __asm__ volatile("vsext.vf2 v18, v16" :);
        int32_t r4_0_3 = x[(int32_t)(3 + apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v18" : : "r"(r4_0_3));
        int32_t r4_1_3 = x[(int32_t)(3 + apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v4, %0, v18" : : "r"(r4_1_3));
        int32_t r4_2_3 = x[(int32_t)(3 + 2 * apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v8, %0, v18" : : "r"(r4_2_3));
        int32_t r4_3_3 = x[(int32_t)(3 + 3 * apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v12, %0, v18" : : "r"(r4_3_3));
      }
      for (; i < values; ++i) {
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&w[(int32_t)(filters * i + k)]));
        __asm__ volatile("vsext.vf2 v18, v16" :);
        int32_t r4_0 = x[(int32_t)(apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v18" : : "r"(r4_0));
        int32_t r4_1 = x[(int32_t)(apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v4, %0, v18" : : "r"(r4_1));
        int32_t r4_2 = x[(int32_t)(2 * apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v8, %0, v18" : : "r"(r4_2));
        int32_t r4_3 = x[(int32_t)(3 * apart + apart * p + i)];
        __asm__ volatile("vwmacc.vx v12, %0, v18" : : "r"(r4_3));
      }
      __asm__ volatile("vle32.v v16, (%0)" : : "r"(&multipliers[k]));
      __asm__ volatile("vsetvli zero, %0, e32, m4, ta, ma" : : "r"(lanes));
      __asm__ volatile("vsra.vx v20, v0, %0" : : "r"(31));
      __asm__ volatile("vsmul.vv v0, v0, v16" :);
      __asm__ volatile("vadd.vv v0, v0, v20" :);
      __asm__ volatile("vle16.v v20, (%0)" : : "r"(&rights[k]));
      __asm__ volatile("vsetvli zero, %0, e16, m2, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wv v22, v0, v20" :);
      __asm__ volatile("vsadd.vx v0, v22, %0" : : "r"((int32_t)(zero_out)));
      __asm__ volatile("vsetvli zero, %0, e8, m1, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wi v2, v0, 0" :);
      __asm__ volatile("vmax.vx v0, v2, %0" : : "r"((int32_t)(low)));
      __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
      __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[(int32_t)(k + p * step)]) : "memory");
      __asm__ volatile("vsetvli zero, %0, e32, m4, ta, ma" : : "r"(lanes));
      __asm__ volatile("vsra.vx v0, v4, %0" : : "r"(31));
      __asm__ volatile("vsmul.vv v4, v4, v16" :);
      __asm__ volatile("vadd.vv v0, v4, v0" :);
      __asm__ volatile("vsetvli zero, %0, e16, m2, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wv v4, v0, v20" :);
      __asm__ volatile("vsadd.vx v0, v4, %0" : : "r"((int32_t)(zero_out)));
      __asm__ volatile("vsetvli zero, %0, e8, m1, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wi v2, v0, 0" :);
      __asm__ volatile("vmax.vx v0, v2, %0" : : "r"((int32_t)(low)));
      __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
      __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[(int32_t)(k + p * step + step)]) : "memory");
      __asm__ volatile("vsetvli zero, %0, e32, m4, ta, ma" : : "r"(lanes));
      __asm__ volatile("vsra.vx v0, v8, %0" : : "r"(31));
      __asm__ volatile("vsmul.vv v4, v8, v16" :);
      __asm__ volatile("vadd.vv v0, v4, v0" :);
      __asm__ volatile("vsetvli zero, %0, e16, m2, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wv v4, v0, v20" :);
      __asm__ volatile("vsadd.vx v0, v4, %0" : : "r"((int32_t)(zero_out)));
      __asm__ volatile("vsetvli zero, %0, e8, m1, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wi v2, v0, 0" :);
      __asm__ volatile("vmax.vx v0, v2, %0" : : "r"((int32_t)(low)));
      __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
      __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[(int32_t)(k + p * step + 2 * step)]) : "memory");
      __asm__ volatile("vsetvli zero, %0, e32, m4, ta, ma" : : "r"(lanes));
      __asm__ volatile("vsra.vx v0, v12, %0" : : "r"(31));
      __asm__ volatile("vsmul.vv v4, v12, v16" :);
      __asm__ volatile("vadd.vv v0, v4, v0" :);
      __asm__ volatile("vsetvli zero, %0, e16, m2, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wv v4, v0, v20" :);
      __asm__ volatile("vsadd.vx v0, v4, %0" : : "r"((int32_t)(zero_out)));
      __asm__ volatile("vsetvli zero, %0, e8, m1, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wi v2, v0, 0" :);
      __asm__ volatile("vmax.vx v0, v2, %0" : : "r"((int32_t)(low)));
      __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
      __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[(int32_t)(k + p * step + 3 * step)]) : "memory");
    }
  }
  for (; p < pixels; ++p) {
    for (uint32_t k = 0, lanes; k < filters; k += lanes) {
      __asm__ volatile("vsetvli %0, %1, e32, m4, ta, ma" : "=r"(lanes) : "r"(filters - k));
      __asm__ volatile("vle32.v v0, (%0)" : : "r"(&bias[k]));
      __asm__ volatile("vsetvli zero, %0, e16, m2, ta, ma" : : "r"(lanes));
      uint32_t i = 0;
      for (; i + 4 <= values; i += 4) {
        __asm__ volatile("vle8.v v4, (%0)" : : "r"(&w[(int32_t)(filters * i + k)]));
        __asm__ volatile("vsext.vf2 v6, v4" :);
        int32_t r4_0 = x[(int32_t)(apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v6" : : "r"(r4_0));
        __asm__ volatile("vle8.v v4, (%0)" : : "r"(&w[(int32_t)(filters + filters * i + k)]));
        __asm__ volatile("vsext.vf2 v6, v4" :);
        int32_t r4_1 = x[(int32_t)(1 + apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v6" : : "r"(r4_1));
        __asm__ volatile("vle8.v v4, (%0)" : : "r"(&w[(int32_t)(2 * filters + filters * i + k)]));
        __asm__ volatile("vsext.vf2 v6, v4" :);
        int32_t r4_2 = x[(int32_t)(2 + apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v6" : : "r"(r4_2));
        __asm__ volatile("vle8.v v4, (%0)" : : "r"(&w[(int32_t)(3 * filters + filters * i + k)]));
        __asm__ volatile("vsext.vf2 v6, v4" :);
        int32_t r4_3 = x[(int32_t)(3 + apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v6" : : "r"(r4_3));
      }
      for (; i < values; ++i) {
        __asm__ volatile("vle8.v v4, (%0)" : : "r"(&w[(int32_t)(filters * i + k)]));
        __asm__ volatile("vsext.vf2 v6, v4" :);
        int32_t r4 = x[(int32_t)(apart * p + i)];
        __asm__ volatile("vwmacc.vx v0, %0, v6" : : "r"(r4));
      }
      __asm__ volatile("vle32.v v4, (%0)" : : "r"(&multipliers[k]));
      __asm__ volatile("vsetvli zero, %0, e32, m4, ta, ma" : : "r"(lanes));
      __asm__ volatile("vsra.vx v8, v0, %0" : : "r"(31));
      __asm__ volatile("vsmul.vv v0, v0, v4" :);
      __asm__ volatile("vadd.vv v0, v0, v8" :);
      __asm__ volatile("vle16.v v4, (%0)" : : "r"(&rights[k]));
      __asm__ volatile("vsetvli zero, %0, e16, m2, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wv v4, v0, v4" :);
      __asm__ volatile("vsadd.vx v0, v4, %0" : : "r"((int32_t)(zero_out)));
      __asm__ volatile("vsetvli zero, %0, e8, m1, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wi v2, v0, 0" :);
      __asm__ volatile("vmax.vx v0, v2, %0" : : "r"((int32_t)(low)));
      __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
      __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[(int32_t)(k + p * step)]) : "memory");
    }
  }
}

/* The loops were rewritten in these steps of docs/kernel-language.md: vectorise k; jam p, 2 turns apart; expand rescale; expand round_shift; expand copy; expand dot; expand sub. */
void tmo_packed_depthwise_rvv(const tmo_packed_depthwise_operands *o) {
  __asm__ volatile("csrwi vxrm, 0" : : : "memory"); /* vector instructions round halves up */
  const int8_t *const *const x = o->x;
  int8_t *const y = o->y;
  const int8_t *const w = o->w;
  const int32_t *const bias = o->bias;
  const int32_t *const multipliers = o->multipliers;
  const int16_t *const rights = o->rights;
  const uint32_t pixels = o->pixels, taps = o->taps, channels = o->channels;
  const int32_t apart = o->apart, zero_out = o->zero_out, low = o->low, high = o->high;
  uint32_t p = 0;
  for (; p + 2 <= pixels; p += 2) {
    for (uint32_t k = 0, lanes; k < channels; k += lanes) {
      __asm__ volatile("vsetvli %0, %1, e32, m8, ta, ma" : "=r"(lanes) : "r"(channels - k));
      __asm__ volatile("vle32.v v0, (%0)" : : "r"(&bias[k]));
      __asm__ volatile("vle32.v v8, (%0)" : : "r"(&bias[k]));
      __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
      for (uint32_t t = 0; t < taps; ++t) {
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&w[(int32_t)(channels * t + k)]));
        __asm__ volatile("vsext.vf2 v20, v16" :);
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&x[t][(int32_t)(apart * p + k)]));
        __asm__ volatile("vsext.vf2 v24, v16" :);
        __asm__ volatile("vwmacc.vv v0, v24, v20" :);
        __asm__ volatile("vle8.v v16, (%0)" : : "r"(&x[t][(int32_t)(apart + apart * p + k)]));
        __asm__ volatile("vsext.vf2 v24, v16" :);
        __asm__ volatile("vwmacc.vv v8, v24, v20" :);
      }
      __asm__ volatile("vle32.v v16, (%0)" : : "r"(&multipliers[k]));
      __asm__ volatile("vsetvli zero, %0, e32, m8, ta, ma" : : "r"(lanes));
      __asm__ volatile("vsra.vx v24, v0, %0" : : "r"(31));
      __asm__ volatile("vsmul.vv v0, v0, v16" :);
      __asm__ volatile("vadd.vv v0, v0, v24" :);
      __asm__ volatile("vle16.v v24, (%0)" : : "r"(&rights[k]));
      __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wv v28, v0, v24" :);
      __asm__ volatile("vsadd.vx v0, v28, %0" : : "r"((int32_t)(zero_out)));
      __asm__ volatile("vsetvli zero, %0, e8, m2, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wi v4, v0, 0" :);
      __asm__ volatile("vmax.vx v0, v4, %0" : : "r"((int32_t)(low)));
      __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
      __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[(int32_t)(channels * p + k)]) : "memory");
      __asm__ volatile("vsetvli zero, %0, e32, m8, ta, ma" : : "r"(lanes));
      __asm__ volatile("vsra.vx v0, v8, %0" : : "r"(31));
      __asm__ volatile("vsmul.vv v8, v8, v16" :);
      __asm__ volatile("vadd.vv v0, v8, v0" :);
      __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wv v8, v0, v24" :);
      __asm__ volatile("vsadd.vx v0, v8, %0" : : "r"((int32_t)(zero_out)));
      __asm__ volatile("vsetvli zero, %0, e8, m2, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wi v4, v0, 0" :);
      __asm__ volatile("vmax.vx v0, v4, %0" : : "r"((int32_t)(low)));
      __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
      __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[(int32_t)(channels + channels * p + k)]) : "memory");
    }
  }
  for (; p < pixels; ++p) {
    for (uint32_t k = 0, lanes; k < channels; k += lanes) {
      __asm__ volatile("vsetvli %0, %1, e32, m8, ta, ma" : "=r"(lanes) : "r"(channels - k));
      __asm__ volatile("vle32.v v0, (%0)" : : "r"(&bias[k]));
      __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
      for (uint32_t t = 0; t < taps; ++t) {
        __asm__ volatile("vle8.v v8, (%0)" : : "r"(&w[(int32_t)(channels * t + k)]));
        __asm__ volatile("vsext.vf2 v12, v8" :);
        __asm__ volatile("vle8.v v8, (%0)" : : "r"(&x[t][(int32_t)(apart * p + k)]));
        __asm__ volatile("vsext.vf2 v16, v8" :);
        __asm__ volatile("vwmacc.vv v0, v16, v12" :);
      }
      __asm__ volatile("vle32.v v8, (%0)" : : "r"(&multipliers[k]));
      __asm__ volatile("vsetvli zero, %0, e32, m8, ta, ma" : : "r"(lanes));
      __asm__ volatile("vsra.vx v16, v0, %0" : : "r"(31));
      __asm__ volatile("vsmul.vv v0, v0, v8" :);
      __asm__ volatile("vadd.vv v0, v0, v16" :);
      __asm__ volatile("vle16.v v8, (%0)" : : "r"(&rights[k]));
      __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wv v8, v0, v8" :);
      __asm__ volatile("vsadd.vx v0, v8, %0" : : "r"((int32_t)(zero_out)));
      __asm__ volatile("vsetvli zero, %0, e8, m2, ta, ma" : : "r"(lanes));
      __asm__ volatile("vnclip.wi v4, v0, 0" :);
      __asm__ volatile("vmax.vx v0, v4, %0" : : "r"((int32_t)(low)));
      __asm__ volatile("vmin.vx v0, v0, %0" : : "r"((int32_t)(high)));
      __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[(int32_t)(channels * p + k)]) : "memory");
    }
  }
}

/* The loops were rewritten in these steps of docs/kernel-language.md: vectorise i; expand rescale; expand round_shift; expand copy; expand dot; expand sub. */
void tmo_windows_rvv(const tmo_windows_operands *o) {
  __asm__ volatile("csrwi vxrm, 0" : : : "memory"); /* vector instructions round halves up */
  const int8_t *const *const x = o->x;
  int8_t *const y = o->y;
  const uint32_t pixels = o->pixels, rows = o->rows, nbytes = o->nbytes;
  const int32_t first = o->first, apart = o->apart, step = o->step, next_row = o->next_row;
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t i = 0, lanes; i < nbytes; i += lanes) {
        __asm__ volatile("vsetvli %0, %1, e8, m8, ta, ma" : "=r"(lanes) : "r"(nbytes - i));
        __asm__ volatile("vle8.v v0, (%0)" : : "r"(&x[r][(int32_t)(apart * p + first + i)]));
        __asm__ volatile("vse8.v v0, (%0)" : : "r"(&y[(int32_t)(i + next_row * r + p * step)]) : "memory");
      }
    }
  }
}

#elif TMO_RUNS_RVV

void tmo_packed_conv_ref(const tmo_packed_conv_operands *o) {
  const int8_t *const x = o->x;
  int8_t *const y = o->y;
  const int8_t *const w = o->w;
  const int32_t *const bias = o->bias;
  const int32_t *const multipliers = o->multipliers;
  const int16_t *const rights = o->rights;
  const uint32_t pixels = o->pixels, values = o->values, filters = o->filters;
  const int32_t apart = o->apart, step = o->step, zero_out = o->zero_out, low = o->low, high = o->high;
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t k = 0; k < filters; ++k) {
      int32_t r1 = bias[k];
      for (uint32_t i = 0; i < values; ++i) {
        int32_t r2 = w[(int32_t)(filters * i + k)], r3 = r2, r4 = x[(int32_t)(apart * p + i)];
        r1 = (int32_t)((uint32_t)r1 + (uint32_t)r4 * (uint32_t)r3);
      }
      int32_t r5 = multipliers[k], r6 = (r1 >> 31), r7 = tmo_high_scale(r1, r5), r8 = (int32_t)((uint32_t)r7 + (uint32_t)r6),
              r9 = rights[k], r10 = tmo_clip16(r8, r9), r11 = tmo_clip16(r10 + (int32_t)(zero_out), 0),
              r12 = tmo_clamp(r11, INT8_MIN, INT8_MAX), r13 = (r12 > (int32_t)(low) ? r12 : (int32_t)(low)),
              r14 = (r13 < (int32_t)(high) ? r13 : (int32_t)(high));
      y[(int32_t)(k + p * step)] = (int8_t)r14;
    }
  }
}

void tmo_packed_depthwise_ref(const tmo_packed_depthwise_operands *o) {
  const int8_t *const *const x = o->x;
  int8_t *const y = o->y;
  const int8_t *const w = o->w;
  const int32_t *const bias = o->bias;
  const int32_t *const multipliers = o->multipliers;
  const int16_t *const rights = o->rights;
  const uint32_t pixels = o->pixels, taps = o->taps, channels = o->channels;
  const int32_t apart = o->apart, zero_out = o->zero_out, low = o->low, high = o->high;
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t k = 0; k < channels; ++k) {
      int32_t r1 = bias[k];
      for (uint32_t t = 0; t < taps; ++t) {
        int32_t r2 = w[(int32_t)(channels * t + k)], r3 = r2, r4 = x[t][(int32_t)(apart * p + k)];
        r1 = (int32_t)((uint32_t)r1 + (uint32_t)r4 * (uint32_t)r3);
      }
      int32_t r5 = multipliers[k], r6 = (r1 >> 31), r7 = tmo_high_scale(r1, r5), r8 = (int32_t)((uint32_t)r7 + (uint32_t)r6),
              r9 = rights[k], r10 = tmo_clip16(r8, r9), r11 = tmo_clip16(r10 + (int32_t)(zero_out), 0),
              r12 = tmo_clamp(r11, INT8_MIN, INT8_MAX), r13 = (r12 > (int32_t)(low) ? r12 : (int32_t)(low)),
              r14 = (r13 < (int32_t)(high) ? r13 : (int32_t)(high));
      y[(int32_t)(channels * p + k)] = (int8_t)r14;
    }
  }
}

void tmo_windows_ref(const tmo_windows_operands *o) {
  const int8_t *const *const x = o->x;
  int8_t *const y = o->y;
  const uint32_t pixels = o->pixels, rows = o->rows, nbytes = o->nbytes;
  const int32_t first = o->first, apart = o->apart, step = o->step, next_row = o->next_row;
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t i = 0; i < nbytes; ++i) {
        int32_t r1 = x[r][(int32_t)(apart * p + first + i)];
        y[(int32_t)(i + next_row * r + p * step)] = (int8_t)r1;
      }
    }
  }
}

#endif
