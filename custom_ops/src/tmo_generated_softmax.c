/* SPDX-License-Identifier: Apache-2.0 */
/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_softmax_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  static const int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const uint32_t rows = k->out_width, channels = k->out_channels;
  const int32_t multiplier = k->multipliers[0], shift = k->shifts[0], diff_min = k->op->least_difference;
  for (uint32_t m = 0; m < rows; ++m) {
    int32_t r1 = -128;
    for (uint32_t h = 0; h < channels; ++h) {
      int32_t r2 = x[(int32_t)(channels * m + h)];
      r1 = (r1 > r2 ? r1 : r2);
    }
    int32_t r3 = 0, r4 = 0, r5 = 0;
    for (uint32_t turn = 0; turn < 2; ++turn) {
      for (uint32_t i = 0; i < channels; ++i) {
        int32_t r6 = x[(int32_t)(channels * m + i)], r7 = (int32_t)((uint32_t)r6 - (uint32_t)r1), r8 = 0, r9 = (r7 < (int32_t)(diff_min));
        if ((uint32_t)(r9) < 1) {
          int32_t r10 = tmo_rescale(r7, (int32_t)(multiplier), (int32_t)(shift)), r11 = 2147483647, r12 = (-1 < r10);
          if ((uint32_t)(r12) < 1) {
            int32_t r13 = (r10 & 16777215), r14 = (int32_t)((uint32_t)r13 - (uint32_t)16777216),
                    r15 = (int32_t)((uint32_t)r14 - (uint32_t)r10), r16 = (int32_t)((uint32_t)r14 << 5),
                    r17 = (int32_t)((uint32_t)r16 + (uint32_t)268435456), r18 = tmo_high_mul(r17, r17), r19 = tmo_high_mul(r18, r17),
                    r20 = tmo_high_mul(r18, r18), r21 = tmo_round_shift(r20, (uint32_t)2), r22 = (int32_t)((uint32_t)r21 + (uint32_t)r19),
                    r23 = tmo_high_mul(r22, 715827883), r24 = (int32_t)((uint32_t)r23 + (uint32_t)r18),
                    r25 = tmo_round_shift(r24, (uint32_t)1), r26 = (int32_t)((uint32_t)r17 + (uint32_t)r25),
                    r27 = tmo_high_mul(r26, 1895147668), r28 = (int32_t)((uint32_t)r27 + (uint32_t)1895147668);
            r11 = r28;
            for (uint32_t bit = 0; bit < 7; ++bit) {
              int32_t r29 = (int32_t)((uint32_t)16777216 << (int32_t)(bit)), r30 = (r15 & r29), r31 = (r30 < 1);
              if ((uint32_t)(r31) < 1) {
                int32_t r32 = factors[bit];
                r11 = tmo_high_scale(r11, r32);
              }
            }
          }
          r8 = r11;
        }
        if ((uint32_t)((int32_t)(turn)) < 1) {
          int32_t r33 = tmo_round_shift(r8, (uint32_t)12);
          r3 = (int32_t)((uint32_t)r3 + (uint32_t)r33);
        }
        if ((uint32_t)((int32_t)(-1 + turn)) < 1) {
          int32_t r34 = tmo_high_scale(r4, r8), r35 = tmo_round_shift(r34, (uint32_t)r5), r36 = (int32_t)((uint32_t)r35 - (uint32_t)128),
                  r37 = (r36 > -128 ? r36 : -128), r38 = (r37 < 127 ? r37 : 127), r39 = r38;
          y[(int32_t)(channels * m + i)] = (int8_t)r39;
        }
      }
      if ((uint32_t)((int32_t)(turn)) < 1) {
        int32_t r40 = tmo_zeros_above((uint32_t)r3), r41 = (int32_t)((uint32_t)r3 << r40), r42 = (r41 & 2147483647), r43 = (r42 >> 1),
                r44 = (int32_t)((uint32_t)r43 + (uint32_t)1073741824), r45 = tmo_high_mul(r44, -1010580540),
                r46 = (int32_t)((uint32_t)r45 + (uint32_t)1515870810);
        for (uint32_t step = 0; step < 3; ++step) {
          int32_t r47 = tmo_high_mul(r44, r46), r48 = (int32_t)((uint32_t)536870912 - (uint32_t)r47), r49 = tmo_high_mul(r46, r48),
                  r50 = tmo_shift_saturated(r49, (uint32_t)2);
          r46 = (int32_t)((uint32_t)r46 + (uint32_t)r50);
        }
        int32_t r51 = tmo_shift_saturated(r46, (uint32_t)1);
        r4 = r51;
        int32_t r52 = (int32_t)((uint32_t)35 - (uint32_t)r40);
        r5 = (r52 < 31 ? r52 : 31);
      }
    }
  }
}

void tmo_log_softmax_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  static const int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  const int8_t *const x = window->pixels[0];
  int8_t *const y = out;
  const uint32_t rows = k->out_width, channels = k->out_channels;
  const int32_t multiplier = k->multipliers[0], shift = k->shifts[0], diff_min = k->op->least_difference, back = k->multipliers[1],
                back_shift = k->shifts[1];
  for (uint32_t m = 0; m < rows; ++m) {
    int32_t r1 = -128;
    for (uint32_t h = 0; h < channels; ++h) {
      int32_t r2 = x[(int32_t)(channels * m + h)];
      r1 = (r1 > r2 ? r1 : r2);
    }
    int32_t r3 = 0;
    for (uint32_t i = 0; i < channels; ++i) {
      int32_t r4 = x[(int32_t)(channels * m + i)], r5 = (int32_t)((uint32_t)r4 - (uint32_t)r1), r6 = 0, r7 = (r5 < (int32_t)(diff_min));
      if ((uint32_t)(r7) < 1) {
        int32_t r8 = tmo_rescale(r5, (int32_t)(multiplier), (int32_t)(shift)), r9 = 2147483647, r10 = (-1 < r8);
        if ((uint32_t)(r10) < 1) {
          int32_t r11 = (r8 & 16777215), r12 = (int32_t)((uint32_t)r11 - (uint32_t)16777216), r13 = (int32_t)((uint32_t)r12 - (uint32_t)r8),
                  r14 = (int32_t)((uint32_t)r12 << 5), r15 = (int32_t)((uint32_t)r14 + (uint32_t)268435456), r16 = tmo_high_mul(r15, r15),
                  r17 = tmo_high_mul(r16, r15), r18 = tmo_high_mul(r16, r16), r19 = tmo_round_shift(r18, (uint32_t)2),
                  r20 = (int32_t)((uint32_t)r19 + (uint32_t)r17), r21 = tmo_high_mul(r20, 715827883),
                  r22 = (int32_t)((uint32_t)r21 + (uint32_t)r16), r23 = tmo_round_shift(r22, (uint32_t)1),
                  r24 = (int32_t)((uint32_t)r15 + (uint32_t)r23), r25 = tmo_high_mul(r24, 1895147668),
                  r26 = (int32_t)((uint32_t)r25 + (uint32_t)1895147668);
          r9 = r26;
          for (uint32_t bit = 0; bit < 7; ++bit) {
            int32_t r27 = (int32_t)((uint32_t)16777216 << (int32_t)(bit)), r28 = (r13 & r27), r29 = (r28 < 1);
            if ((uint32_t)(r29) < 1) {
              int32_t r30 = factors[bit];
              r9 = tmo_high_scale(r9, r30);
            }
          }
        }
        r6 = r9;
      }
      int32_t r31 = tmo_round_shift(r6, (uint32_t)12);
      r3 = (int32_t)((uint32_t)r3 + (uint32_t)r31);
    }
    int32_t r32 = (r3 > 1 ? r3 : 1), r33 = tmo_zeros_above((uint32_t)r32), r34 = (int32_t)((uint32_t)r33 - (uint32_t)1),
            r35 = tmo_high_mul(r32, 1518500250), r36 = tmo_zeros_above((uint32_t)r35), r37 = (int32_t)((uint32_t)r36 - (uint32_t)1),
            r38 = tmo_shift_saturated(r32, (uint32_t)r34), r39 = tmo_high_mul(r38, 1518500250), r40 = tmo_shift_saturated(r39, (uint32_t)1),
            r41 = tmo_shift_saturated(r32, (uint32_t)r37), r42 = (r40 < r41 ? r40 : r41), r43 = (int32_t)((uint32_t)11 - (uint32_t)r34),
            r44 = (int32_t)((uint32_t)r43 * (uint32_t)33554432), r45 = (int32_t)((uint32_t)r44 + (uint32_t)8388608),
            r46 = (int32_t)((uint32_t)12 - (uint32_t)r37), r47 = (int32_t)((uint32_t)r46 * (uint32_t)33554432),
            r48 = (int32_t)((uint32_t)r47 + (uint32_t)-8388608), r49 = (r45 > r48 ? r45 : r48), r50 = (r42 >> 1),
            r51 = (int32_t)((uint32_t)r50 + (uint32_t)902905651), r52 = (int32_t)((uint32_t)r42 - (uint32_t)1805811301),
            r53 = (int32_t)((uint32_t)r52 << 1), r54 = tmo_high_mul(r53, r53), r55 = tmo_high_mul(r53, r42), r56 = tmo_high_mul(r53, r54),
            r57 = tmo_high_mul(r56, 117049297), r58 = (int32_t)((uint32_t)r55 + (uint32_t)r57),
            r59 = (int32_t)((uint32_t)r53 + (uint32_t)1057819769), r60 = tmo_high_mul(r54, 127690142),
            r61 = (int32_t)((uint32_t)r59 + (uint32_t)r60), r62 = tmo_high_mul(r51, r61), r63 = tmo_high_mul(r53, 638450708),
            r64 = (int32_t)((uint32_t)r62 + (uint32_t)r63), r65 = tmo_round_shift(r58, (uint32_t)6), r66 = (r64 >> 1),
            r67 = (int32_t)((uint32_t)r66 + (uint32_t)1073741824), r68 = tmo_high_mul(r67, -1010580540),
            r69 = (int32_t)((uint32_t)r68 + (uint32_t)1515870810);
    for (uint32_t step = 0; step < 3; ++step) {
      int32_t r70 = tmo_high_mul(r67, r69), r71 = (int32_t)((uint32_t)536870912 - (uint32_t)r70), r72 = tmo_high_mul(r69, r71),
              r73 = tmo_shift_saturated(r72, (uint32_t)2);
      r69 = (int32_t)((uint32_t)r69 + (uint32_t)r73);
    }
    int32_t r74 = tmo_shift_saturated(r69, (uint32_t)1), r75 = tmo_high_mul(r65, r74), r76 = tmo_high_mul(r49, 1488522236),
            r77 = (int32_t)((uint32_t)r76 + (uint32_t)r75), r78 = tmo_shift_saturated(r77, (uint32_t)1),
            r79 = (int32_t)((uint32_t)r78 + (uint32_t)-2147483648), r80 = tmo_rescale(r79, (int32_t)(back), (int32_t)(back_shift));
    for (uint32_t j = 0; j < channels; ++j) {
      int32_t r81 = x[(int32_t)(channels * m + j)], r82 = (int32_t)((uint32_t)r81 - (uint32_t)r1),
              r83 = tmo_rescale(r82, (int32_t)(multiplier), (int32_t)(shift)), r84 = (int32_t)((uint32_t)r83 - (uint32_t)r78),
              r85 = tmo_round_shift(r84, (uint32_t)22), r86 = (int32_t)((uint32_t)r85 + (uint32_t)127), r87 = (r82 < (int32_t)(diff_min)),
              r88 = (r80 < r82), r89 = (r88 ? r86 : -128), r90 = (r87 ? -128 : r89), r91 = (r90 > -128 ? r90 : -128),
              r92 = (r91 < 127 ? r91 : 127), r93 = r92;
      y[(int32_t)(channels * m + j)] = (int8_t)r93;
    }
  }
}
