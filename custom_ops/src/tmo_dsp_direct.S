/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_dsp_direct() of tmo/packed.h computes packed convolutions of one pixel, with the same bits as its twin in C. The file tmo_dsp_pairs.S explains
 * the sums A and 256 * B + A of a pair of channels. The function tmo_dsp_direct() reads the pixel's int8 values in place, and computes two pairs at
 * once.
 *
 * Registers r0 and r1 hold the sums A and 256 * B + A of the first pair, and r2 and r3 hold the sums of the second pair. Register r4 is the end of
 * the pixel's bytes, and r5 points to the next bytes. Registers r6 and r7 point to the next weights of the two pairs. Registers r8 and r9 hold four
 * values, r10 and r11 hold weights, and r12 holds the lower bytes of two weights. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"

    .equ BYTES, 0
    .equ SCALES, 4
    .equ OUT, 8
    .equ TAP, 12
    .equ WEIGHTS, 20  /* twice the number of values of all taps */
    .equ SAVED, 36    /* The saved registers take this number of bytes. */

.macro PAIR low, all
    sxtb16 r12, r10
    smlad \low, r12, r8, \low
    smlad \all, r10, r8, \all
    sxtb16 r12, r11
    smlad \low, r12, r9, \low
    smlad \all, r11, r9, \all
.endm

/* Adds the products of eight values to the sums of both pairs. The first three loads for each four values are adjacent, so that the core pipelines
 * the loads. */
.macro EIGHT
   .rept 2
    ldr.w r10, [r6], #8
    ldr.w r9, [r5], #4
    ldr.w r11, [r6, #-4]
    sxtb16 r8, r9
    sxtb16 r9, r9, ror #8
    PAIR  r0, r1
    ldrd  r10, r11, [r7], #8
    PAIR  r2, r3
   .endr
.endm

/* Scales a sum to int8. The macro then skips `skip` bytes of constants. */
.macro SCALE sum, skip=0
    ldmia r8!, {r9, r10, r11}
  .if \skip
    add   r8, r8, #\skip
  .endif
    SCALE_BY r9, r10, r11, \sum, r12
.endm

/* Defines a function that computes two pairs at once. If `taps` is 1, the function reads its values from a list of taps. The frame then also has the
 * address of the next tap in the list, the end of the list, and twice the number of values of all taps. */
.macro DIRECT name, taps, frame
    .equ VALUES, \frame + SAVED
    .equ PAIRS, VALUES + 4
    FUNCTION \name
    push  {r4-r11, lr}
    sub   sp, #\frame
    str   r0, [sp, #BYTES]
    strd  r2, r3, [sp, #SCALES]
    mov   r7, r1
    mov   r8, r2
    ldrd  r9, lr, [sp, #VALUES]
  .if \taps
    ldr   r4, [sp, #PAIRS + 4]
    mul   r9, r4, r9
    add   r4, r0, r4, lsl #2
    lsl   r9, r9, #1
    strd  r4, r9, [sp, #TAP + 4]
  .else
    add   r4, r0, r9
  .endif
    .balign 4
1:  ldrd  r0, r1, [r8]
    ldrd  r2, r3, [r8, #32]
    mov   r6, r7
  .if \taps
    add   r7, r6, r9
    ldr   r10, [sp, #BYTES]
7:  ldr   r9, [sp, #VALUES]
    ldr   r5, [r10], #4
    str   r10, [sp, #TAP]
    add   r4, r5, r9
  .else
    add   r7, r6, r9, lsl #1
    ldr.w r5, [sp, #BYTES]    /* This instruction has 32 bits, so that the loop is aligned without a NOP. */
  .endif
    tst   r9, #8
    bne   5f                  /* If the number of eights is odd, the code begins in the middle of the loop. */
    .balign 4                 /* The core does not pipeline a 32-bit load that lies in two words of code. */
2:  EIGHT
5:  EIGHT
    cmp   r5, r4
    bne   2b
  .if \taps
    ldrd  r10, r11, [sp, #TAP]
    cmp   r10, r11
    bne   7b
  .endif
    ldr   r8, [sp, #SCALES]
    subs  r1, r1, r0
    add   r8, r8, #8
    asrs  r1, r1, #8
    subs  r3, r3, r2
    asrs  r3, r3, #8
    SCALE r0
    SCALE r1, 8
    SCALE r2
    SCALE r3
    ldr   r5, [sp, #OUT]
  .if \taps
    ldr   r9, [sp, #WEIGHTS]
  .else
    ldr   r9, [sp, #VALUES]
  .endif
    bfi   r0, r1, #8, #8
    bfi   r2, r3, #8, #8
    pkhbt r0, r0, r2, lsl #16
    str   r0, [r5], #4
    subs  lr, lr, #2
    beq   3f
    cmp   lr, #1
    beq   6f
4:  strd  r8, r5, [sp, #SCALES]
    b     1b
6:  sub   r8, r8, #32         /* If a single pair is left, the code computes the last two pairs. */
  .if \taps
    sub   r7, r7, r9
  .else
    sub   r7, r7, r9, lsl #1
  .endif
    subs  r5, #2
    mov   lr, #2
    b     4b
3:  add   sp, #\frame
    pop   {r4-r11, pc}
    .size \name, . - \name
.endm

    DIRECT tmo_dsp_direct, 0, 12
    DIRECT tmo_dsp_direct_taps, 1, 24

#endif
