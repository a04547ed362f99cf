/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of convolutions with int16 activations: tmo_dsp_wide_two and tmo_dsp_wide_four of tmo/packed.h.
 *
 *   r0   next values     r1   end of the values     r2   next weights     r4..r7   sums     r8..r11   values     r12, lr   weights */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"

    .equ SUMS, 36
    .equ APART, 64

/* Four weights of one channel, in lr, and the values of two pixels. */
.macro TWO_PIXELS first, second
    sxtb16 r12, lr
    smlad \first, r12, r8, \first
    smlad \second, r12, r10, \second
    sxtb16 lr, lr, ror #8
    smlad \first, lr, r9, \first
    smlad \second, lr, r11, \second
.endm

    FUNCTION tmo_dsp_wide_two
    push  {r4-r11, lr}
    ldr   r12, [sp, #SUMS]
    ldm   r12, {r4-r7}
    cmp   r0, r1
    beq   2f
    .balign 4
1:  ldrd  r10, r11, [r0, #APART]
    ldrd  r8, r9, [r0], #8
    ldr   lr, [r2, r3]
    TWO_PIXELS r5, r7
    ldr   lr, [r2], #4
    TWO_PIXELS r4, r6
    cmp   r0, r1
    bne   1b
2:  ldr   r12, [sp, #SUMS]
    stm   r12, {r4-r7}
    pop   {r4-r11, pc}
    .size tmo_dsp_wide_two, . - tmo_dsp_wide_two

/* Four weights of one channel, in lr, and the values of one pixel. */
.macro ONE_PIXEL sum
    sxtb16 r12, lr
    smlad \sum, r12, r8, \sum
    sxtb16 lr, lr, ror #8
    smlad \sum, lr, r9, \sum
.endm

    FUNCTION tmo_dsp_wide_four
    push  {r4-r11, lr}
    ldm   r3, {r3, r10, r11}
    ldr   r12, [sp, #SUMS]
    ldm   r12, {r4-r7}
    cmp   r0, r1
    beq   2f
    .balign 4
1:  ldrd  r8, r9, [r0], #8
    ldr   lr, [r2, r3]
    ONE_PIXEL r5
    ldr   lr, [r2, r10]
    ONE_PIXEL r6
    ldr   lr, [r2, r11]
    ONE_PIXEL r7
    ldr   lr, [r2], #4
    ONE_PIXEL r4
    cmp   r0, r1
    bne   1b
2:  ldr   r12, [sp, #SUMS]
    stm   r12, {r4-r7}
    pop   {r4-r11, pc}
    .size tmo_dsp_wide_four, . - tmo_dsp_wide_four

#endif
