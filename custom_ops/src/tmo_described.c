/* Kernels from descriptions (docs/kernel-language.md). Written by scripts/kernels.py. */
#include "tmo/described.h"

#if TMO_RVV

#ifdef __riscv_vector
#error "Compile the library without V in -march: this file turns it on for its own assembly"
#endif
__asm__(".option arch, +zve32x");

/* vectorise k; expand round_shift; expand copy; expand dot; expand sub. */
void tmo_conv_pixel_rvv(const tmo_conv_pixel_operands *o) {
  __asm__ volatile("csrwi vxrm, 0" : : : "memory"); /* halves up */
  const int8_t *const *const x = o->x;
  int8_t *const y = o->y;
  const int8_t *const w = o->w;
  const int32_t *const bias = o->bias;
  const int32_t *const multipliers = o->multipliers;
  const int8_t *const shifts = o->shifts;
  const uint32_t rows = o->rows;
  const uint32_t columns = o->columns;
  const uint32_t channels = o->channels;
  const uint32_t filters = o->filters;
  const int32_t zero_in = o->zero_in;
  const int32_t zero_out = o->zero_out;
  const int32_t low = o->low;
  const int32_t high = o->high;
  const int32_t scale_step = o->scale_step;
  const int32_t bias_step = o->bias_step;
  const int32_t next_row = o->next_row;
  const int32_t next_column = o->next_column;
  const int32_t apart = o->apart;
  const int32_t offset = o->offset;
  const int32_t row_weights = o->row_weights;
  const int32_t tap_weights = o->tap_weights;
  const int32_t filter_weights = o->filter_weights;
  for (uint32_t k = 0, lanes; k < filters; k += lanes) {
    __asm__ volatile("vsetvli %0, %1, e32, m8, ta, ma" : "=r"(lanes) : "r"(filters - k));
    __asm__ volatile("vlse32.v v0, (%0), %1" : : "r"(&bias[bias_step * k]), "r"(4 * bias_step));
    __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t s = 0; s < columns; ++s) {
        for (uint32_t c = 0; c < channels; ++c) {
          int32_t r2 = x[next_column * s + next_row * r][apart * s + c + offset];
          int32_t r3 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_in));
          __asm__ volatile("vlse8.v v8, (%0), %1" : : "r"(&w[c + filter_weights * k + r * row_weights + s * tap_weights]), "r"(filter_weights));
          __asm__ volatile("vsext.vf2 v12, v8" :);
          __asm__ volatile("vwmacc.vx v0, %0, v12" : : "r"(r3));
        }
      }
    }
    __asm__ volatile("vlse32.v v8, (%0), %1" : : "r"(&multipliers[k * scale_step]), "r"(4 * scale_step));
    __asm__ volatile("vlse8.v v16, (%0), %1" : : "r"(&shifts[k * scale_step]), "r"(scale_step));
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

/* vectorise k; expand round_shift; expand copy; expand dot; expand sub. */
void tmo_depthwise_pixel_rvv(const tmo_depthwise_pixel_operands *o) {
  __asm__ volatile("csrwi vxrm, 0" : : : "memory"); /* halves up */
  const int8_t *const *const x = o->x;
  int8_t *const y = o->y;
  const int8_t *const w = o->w;
  const int32_t *const bias = o->bias;
  const int32_t *const multipliers = o->multipliers;
  const int8_t *const shifts = o->shifts;
  const uint32_t rows = o->rows;
  const uint32_t columns = o->columns;
  const uint32_t channels = o->channels;
  const int32_t zero_in = o->zero_in;
  const int32_t zero_out = o->zero_out;
  const int32_t low = o->low;
  const int32_t high = o->high;
  const int32_t scale_step = o->scale_step;
  const int32_t bias_step = o->bias_step;
  const int32_t next_row = o->next_row;
  const int32_t next_column = o->next_column;
  const int32_t apart = o->apart;
  const int32_t offset = o->offset;
  const int32_t row_weights = o->row_weights;
  const int32_t tap_weights = o->tap_weights;
  for (uint32_t k = 0, lanes; k < channels; k += lanes) {
    __asm__ volatile("vsetvli %0, %1, e32, m8, ta, ma" : "=r"(lanes) : "r"(channels - k));
    __asm__ volatile("vlse32.v v0, (%0), %1" : : "r"(&bias[bias_step * k]), "r"(4 * bias_step));
    __asm__ volatile("vsetvli zero, %0, e16, m4, ta, ma" : : "r"(lanes));
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t s = 0; s < columns; ++s) {
        __asm__ volatile("vle8.v v8, (%0)" : : "r"(&x[next_column * s + next_row * r][apart * s + k + offset]));
        __asm__ volatile("vsext.vf2 v12, v8" :);
        __asm__ volatile("vsub.vx v8, v12, %0" : : "r"((int32_t)(zero_in)));
        __asm__ volatile("vle8.v v12, (%0)" : : "r"(&w[k + r * row_weights + s * tap_weights]));
        __asm__ volatile("vsext.vf2 v16, v12" :);
        __asm__ volatile("vwmacc.vv v0, v8, v16" :);
      }
    }
    __asm__ volatile("vlse32.v v8, (%0), %1" : : "r"(&multipliers[k * scale_step]), "r"(4 * scale_step));
    __asm__ volatile("vlse8.v v16, (%0), %1" : : "r"(&shifts[k * scale_step]), "r"(scale_step));
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

/* vectorise i; expand round_shift; expand copy; expand dot; expand sub. */
void tmo_add_rvv(const tmo_add_operands *o) {
  __asm__ volatile("csrwi vxrm, 0" : : : "memory"); /* halves up */
  const int8_t *const x = o->x;
  const int8_t *const other = o->other;
  int8_t *const y = o->y;
  const uint32_t n = o->n;
  const int32_t zero_a = o->zero_a;
  const int32_t zero_b = o->zero_b;
  const int32_t zero_out = o->zero_out;
  const int32_t low = o->low;
  const int32_t high = o->high;
  const int32_t scale_a = o->scale_a;
  const int32_t scale_b = o->scale_b;
  const int32_t scale_out = o->scale_out;
  const int32_t right_a = o->right_a;
  const int32_t right_b = o->right_b;
  const int32_t right_out = o->right_out;
  for (uint32_t i = 0, lanes; i < n; i += lanes) {
    __asm__ volatile("vsetvli %0, %1, e32, m8, ta, ma" : "=r"(lanes) : "r"(n - i));
    __asm__ volatile("vle8.v v0, (%0)" : : "r"(&x[i]));
    __asm__ volatile("vsext.vf4 v8, v0" :);
    __asm__ volatile("vsub.vx v0, v8, %0" : : "r"((int32_t)(zero_a)));
    __asm__ volatile("vsll.vx v0, v0, %0" : : "r"(20));
    __asm__ volatile("vsmul.vx v0, v0, %0" : : "r"((int32_t)(scale_a)));
    __asm__ volatile("vsra.vx v8, v0, %0" : : "r"(31));
    int32_t round_shift0_any = ((int32_t)(right_a) < 1 ? (int32_t)(right_a) : 1);
    int32_t round_shift0_mask = (int32_t)((uint32_t)0 - (uint32_t)round_shift0_any);
    __asm__ volatile("vand.vx v8, v8, %0" : : "r"(round_shift0_mask));
    __asm__ volatile("vadd.vv v0, v0, v8" :);
    __asm__ volatile("vssra.vx v0, v0, %0" : : "r"((int32_t)(right_a)));
    __asm__ volatile("vle8.v v8, (%0)" : : "r"(&other[i]));
    __asm__ volatile("vsext.vf4 v16, v8" :);
    __asm__ volatile("vsub.vx v8, v16, %0" : : "r"((int32_t)(zero_b)));
    __asm__ volatile("vsll.vx v8, v8, %0" : : "r"(20));
    __asm__ volatile("vsmul.vx v8, v8, %0" : : "r"((int32_t)(scale_b)));
    __asm__ volatile("vsra.vx v16, v8, %0" : : "r"(31));
    int32_t round_shift1_any = ((int32_t)(right_b) < 1 ? (int32_t)(right_b) : 1);
    int32_t round_shift1_mask = (int32_t)((uint32_t)0 - (uint32_t)round_shift1_any);
    __asm__ volatile("vand.vx v16, v16, %0" : : "r"(round_shift1_mask));
    __asm__ volatile("vadd.vv v8, v8, v16" :);
    __asm__ volatile("vssra.vx v8, v8, %0" : : "r"((int32_t)(right_b)));
    __asm__ volatile("vadd.vv v0, v0, v8" :);
    __asm__ volatile("vsmul.vx v0, v0, %0" : : "r"((int32_t)(scale_out)));
    __asm__ volatile("vsra.vx v8, v0, %0" : : "r"(31));
    int32_t round_shift2_any = ((int32_t)(right_out) < 1 ? (int32_t)(right_out) : 1);
    int32_t round_shift2_mask = (int32_t)((uint32_t)0 - (uint32_t)round_shift2_any);
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

#else
typedef int tmo_described_is_not_empty; /* ISO C wants something in every file */
#endif
