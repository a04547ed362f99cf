/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_dsp_dense() of tmo/packed.h computes dense layers, with the same bits as its twin in C. The file tmo_dsp_pairs.S explains the sums A and 256 *
 * B + A of a pair of channels. The function tmo_dsp_dense() computes three pairs at once. The weights are stored in the order in which the code
 * reads them.
 *
 * Registers r0 and r1 hold the sums A and 256 * B + A of the first pair, and r2 to r5 hold those sums of the other pairs. Register r6 points to the
 * next bytes, and lr is the end of the bytes. Register r7 points to the next weights. Registers r8 and r9 hold four values, and r10 to r12 hold two
 * weights of each channel. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"

    .equ BYTES, 0
    .equ SCALES, 4
    .equ OUT, 8
    .equ FRAME, 12
    .equ VALUES, FRAME + 36
    .equ TRIPLES, FRAME + 40

/* Adds the products of two values to the sums of a pair. The macro replaces the weights in `word` by their lower bytes. */
.macro PAIR word, value, low, all
    smlad \all, \word, \value, \all
    sxtb16 \word, \word
    smlad \low, \word, \value, \low
.endm

.macro THREE_PAIRS value
    PAIR  r10, \value, r0, r1
    PAIR  r11, \value, r2, r3
    PAIR  r12, \value, r4, r5
.endm

/* Adds the products of eight values to all sums. The first four loads for each four values are adjacent, so that the core pipelines them. */
.macro EIGHT
   .rept 2
    ldr.w r10, [r7], #12
    ldr.w r9, [r6], #4
    ldr.w r11, [r7, #-8]
    ldr.w r12, [r7, #-4]
    sxtb16 r8, r9
    sxtb16 r9, r9, ror #8
    THREE_PAIRS r8
    ldmia r7!, {r10, r11, r12}
    THREE_PAIRS r9
   .endr
.endm

/* Scales a sum to int8. */
.macro SCALE sum
    ldmia r6!, {r9, r10, r11}
    SCALE_BY r9, r10, r11, \sum, r12
.endm

/* Computes and stores the two outputs of a pair. */
.macro OUTPUTS low, all
    sub   \all, \all, \low
    asr   \all, \all, #8
    add   r6, r6, #8
    SCALE \low
    SCALE \all
    bfi   \low, \all, #8, #8
    strh  \low, [r8], #2
.endm

    FUNCTION tmo_dsp_dense
    push  {r4-r11, lr}
    sub   sp, #FRAME
    str   r0, [sp, #BYTES]
    strd  r2, r3, [sp, #SCALES]
    mov   r6, r2
    mov   r7, r1
    ldr   lr, [sp, #VALUES]
    add   lr, lr, r0
1:  ldrd  r0, r1, [r6]
    ldrd  r2, r3, [r6, #32]
    ldrd  r4, r5, [r6, #64]
    ldr   r6, [sp, #BYTES]
    ldr   r8, [sp, #VALUES]
    tst   r8, #8
    bne   3f                  /* An odd number of eights begins in the middle of the loop. */
    .balign 4                 /* The core does not pipeline a 32-bit load that lies in two words of code. */
2:  EIGHT
3:  EIGHT
    cmp   r6, lr
    bne   2b
    ldrd  r6, r8, [sp, #SCALES]
    OUTPUTS r0, r1
    OUTPUTS r2, r3
    OUTPUTS r4, r5
    strd  r6, r8, [sp, #SCALES]
    ldr   r8, [sp, #TRIPLES]
    subs  r8, r8, #1
    str   r8, [sp, #TRIPLES]
    bne   1b
    add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_dense, . - tmo_dsp_dense

#endif
