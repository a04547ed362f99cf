/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_dsp_dense() of tmo/packed.h computes dense layers, with the same bits as its twin in C. The file tmo_dsp_pairs.S explains the sums A and 256 *
 * B + A of a pair of channels. The function tmo_dsp_dense() computes three pairs at once. The weights are stored in the order in which the code reads
 * them.
 *
 * Registers r0 and r1 hold the sums A and 256 * B + A of the first pair, r2 and r3 hold the sums of the second pair, and r4 and r5 hold the sums of
 * the third pair. Register r6 points to the next bytes, and lr is the end of the bytes. Register r7 points to the next weights. Registers r8 and r9
 * hold four values, and r10 to r12 hold two weights of each channel. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"

/* SCALES and SCALE are offsets in the stack frame. */
    .equ SCALES, 0
    .equ OUT, 4
    .equ SCALE, 8     /* The frame of tmo_dsp_dense_one_scale() also has m2, c and e. */
    .equ TAP, 8       /* The frame of tmo_dsp_dense_taps() also has the address of the next tap in the list, and the end of the list. */

    .equ SAVED, 36    /* The saved registers take this number of bytes. */

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

/* Adds the products of eight values to all sums. The first four loads for each four values are adjacent, so that the core pipelines the loads. */
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

/* Scales a sum to int8. If `same` is 0, the macro first loads the next scale. */
.macro OUTPUT sum, same
  .if \same == 0
    ldmia r6!, {r9, r10, r11}
  .endif
    SCALE_BY r9, r10, r11, \sum, r12
.endm

/* Computes and stores the two outputs of a pair. */
.macro OUTPUTS low, all, same
    subs  \all, \all, \low
    asrs  \all, \all, #8
  .if \same == 0
    adds  r6, r6, #8
  .endif
    OUTPUT \low, \same
    OUTPUT \all, \same
    bfi   \low, \all, #8, #8
    strh  \low, [r8], #2
.endm

/* Defines a function for dense layers. If `same` is 1, all channels have the scale of the first channel, which the function copies to the stack. The
 * address of the last output then replaces the function's argument `triples`. If `taps` is 1, the function reads its values from a list of taps. */
.macro DENSE name, same, frame, taps=0
    .equ BYTES, \frame - 8
    .equ ARGUMENTS, \frame + SAVED
    .equ TRIPLES, ARGUMENTS + 4
    FUNCTION \name
    push  {r4-r11, lr}
    sub   sp, #\frame
    strd  r2, r3, [sp, #SCALES]
    mov   r6, r2
    mov   r7, r1
    ldrd  lr, r1, [sp, #ARGUMENTS]
    strd  r0, lr, [sp, #BYTES]
  .if \taps
    ldr   r4, [sp, #TRIPLES + 4]
    add   r4, r0, r4, lsl #2
    str   r4, [sp, #TAP + 4]
  .else
    add   lr, lr, r0
  .endif
  .if \same
    ldrd  r4, r5, [r2, #8]
    ldr   r2, [r2, #16]
    strd  r4, r5, [sp, #SCALE]
    str   r2, [sp, #SCALE + 8]
    add   r1, r1, r1, lsl #1
    add   r1, r3, r1, lsl #1
    str   r1, [sp, #TRIPLES]
  .endif
1:  ldrd  r0, r1, [r6]
    ldrd  r2, r3, [r6, #32]
    ldrd  r4, r5, [r6, #64]
  .if \taps
    ldr   r10, [sp, #BYTES]
4:  ldr   r8, [sp, #BYTES + 4]
    ldr   r6, [r10], #4
    str   r10, [sp, #TAP]
    add   lr, r6, r8
  .else
    ldrd  r6, r8, [sp, #BYTES]
  .endif
    tst   r8, #8
    bne   3f                  /* If the number of eights is odd, the code begins in the middle of the loop. */
    .balign 4                 /* The core does not pipeline a 32-bit load that lies in two words of code. */
2:  EIGHT
3:  EIGHT
    cmp   r6, lr
    bne   2b
  .if \taps
    ldrd  r10, r11, [sp, #TAP]
    cmp   r10, r11
    bne   4b
  .endif
  .if \same
    ldmia sp, {r6, r8-r11}
  .else
    ldrd  r6, r8, [sp, #SCALES]
  .endif
    OUTPUTS r0, r1, \same
    OUTPUTS r2, r3, \same
    OUTPUTS r4, r5, \same
  .if \same
    adds  r6, r6, #96
    ldr   r9, [sp, #TRIPLES]
    strd  r6, r8, [sp, #SCALES]
    cmp   r8, r9
  .else
    strd  r6, r8, [sp, #SCALES]
    ldr   r8, [sp, #TRIPLES]
    subs  r8, r8, #1
    str   r8, [sp, #TRIPLES]
  .endif
    bne   1b
    add   sp, #\frame
    pop   {r4-r11, pc}
    .size \name, . - \name
.endm

    DENSE tmo_dsp_dense, 0, 16
    DENSE tmo_dsp_dense_one_scale, 1, 28
    DENSE tmo_dsp_dense_taps, 0, 24, 1

#endif
