/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_dsp_pairs_1() of tmo/packed.h computes packed convolutions of one pixel. The file tmo_dsp_pairs.S explains the sum A and the combined sum 256 *
 * B + A of a pair of channels. The function tmo_dsp_pairs_1() computes two pairs of channels at once. If a single pair is left, the function computes
 * this pair twice and stores its outputs once.
 *
 * Registers r0 to r3 hold eight values. Register r4 points to the next values, and lr is the end of the values. Registers r5 and r12 point to the
 * next weights of the two pairs. Registers r6 and r7 hold weights. Registers r8 and r9 hold the sum A and the combined sum of the first pair.
 * Registers r10 and r11 hold the sum A and the combined sum of the second pair. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"

    .equ TILE, 0
    .equ SCALES, 4
    .equ OUT, 8
    .equ FRAME, 12
    .equ VALUES, FRAME + 36
    .equ PAIRS, FRAME + 40

/* Adds the products of two values to the sums of a pair. The macro replaces the combined sum in the register `word` by the sum A. */
.macro TWO word, value, low, all
    smlad \all, \word, \value, \all
    sxtb16 \word, \word
    smlad \low, \word, \value, \low
.endm

/* Adds the products of eight values to the sums of both pairs. */
.macro EIGHT
    ldmia r4!, {r0-r3}
    ldmia r5!, {r6, r7}
    TWO   r6, r0, r8, r9
    TWO   r7, r1, r8, r9
    ldmia r12!, {r6, r7}
    TWO   r6, r0, r10, r11
    TWO   r7, r1, r10, r11
    ldmia r5!, {r6, r7}
    TWO   r6, r2, r8, r9
    TWO   r7, r3, r8, r9
    ldmia r12!, {r6, r7}
    TWO   r6, r2, r10, r11
    TWO   r7, r3, r10, r11
.endm

/* Scales a sum to int8. */
.macro SCALE sum
    ldmia r6!, {r0, r1, r2}
    SCALE_BY r0, r1, r2, \sum, r3
.endm

/* Computes the two outputs of a pair, and packs them into the register `low`. */
.macro OUTPUTS low, all
    sub   \all, \all, \low
    asr   \all, \all, #8
    SCALE \low
    SCALE \all
    bfi   \low, \all, #8, #8
.endm

    FUNCTION tmo_dsp_pairs_1
    push  {r4-r11, lr}
    sub   sp, #FRAME
    str   r0, [sp, #TILE]
    str   r3, [sp, #OUT]
    mov   r12, r1
    mov   r6, r2
    ldrd  r3, r7, [sp, #VALUES]
    add   lr, r0, r3, lsl #1
    lsls  r3, r3, #1
1:  ldmia r6!, {r8, r9}       /* Register r6 points to biases, and later to scales. Register r3 counts bytes of values, and r7 counts pairs. */
    mov   r5, r12
    mov   r10, r8
    mov   r11, r9
    cmp   r7, #1
    itt   ne
    ldrdne r10, r11, [r6, #24]
    addne r12, r12, r3
    ldr   r4, [sp, #TILE]
    str   r6, [sp, #SCALES]
    lsls  r3, r3, #27
    bne   3f                  /* If the number of groups of eight values is odd, the code begins in the middle of the loop. */
    .balign 4
2:  EIGHT
3:  EIGHT
    cmp   r4, lr
    bne   2b
    ldrd  r6, r4, [sp, #SCALES]
    ldr   r7, [sp, #PAIRS]
    OUTPUTS r8, r9
    subs  r7, #2
    blt   4f
    adds  r6, #8
    OUTPUTS r10, r11
    pkhbt r8, r8, r10, lsl #16
    str   r8, [r4], #4
    str   r4, [sp, #OUT]
    str   r7, [sp, #PAIRS]
    ldr   r3, [sp, #VALUES]
    lsls  r3, r3, #1
    cmp   r7, #0
    bne   1b
    b     5f
4:  strh  r8, [r4]
5:  add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_pairs_1, . - tmo_dsp_pairs_1

#endif
