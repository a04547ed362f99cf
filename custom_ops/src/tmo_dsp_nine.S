/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_dsp_nine() of tmo/packed.h computes packed depthwise convolutions with nine taps, with the same bits as its twin in C.
 *
 * The function computes four channels of all pixels, and then the next four channels. The constants of four channels are first copied to the stack,
 * because reads from flash have wait states. The core pipelines adjacent loads, because all instructions of the loop have 32 bits.
 *
 * Registers r0 to r3 hold the sums of four channels. Registers r4 to r9, r11 and r12 hold bytes and weights of three taps, and later the constants
 * of scales. Register r10 is the distance in bytes from a tap of the run's first pixel to the four channels of the current pixel. Register lr points
 * to the taps of the run. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"

    .equ BIAS, 0      /* constants of four channels */
    .equ WEIGHTS, 16
    .equ SCALES, 88
    .equ OUT, 136     /* address of the output of the next pixel */
    .equ STOP, 140    /* address where the run's outputs end */
    .equ RUNS, 144
    .equ END, 148
    .equ NEXT, 152    /* next constants */
    .equ CHANNELS, 156
    .equ CHANNEL, 160 /* index of the first of the four channels */
    .equ FRAME, 164
    .equ STEP, FRAME + 36

    .equ TAPS, 36     /* The list of nine taps takes this number of bytes. */

/* Multiplies three taps of four channels by their weights. SMLAD multiplies two taps of a channel at once. */
.macro THREE_TAPS taps, weights
    ldr.w r4, [lr, #\taps]
    ldr.w r5, [lr, #\taps + 4]
    ldr.w r6, [lr, #\taps + 8]
    ldr.w r4, [r4, r10]
    ldr.w r5, [r5, r10]
    ldr.w r6, [r6, r10]
    ldr.w r7, [sp, #\weights]
    ldr.w r8, [sp, #\weights + 4]
    ldr.w r9, [sp, #\weights + 8]
    ldr.w r11, [sp, #\weights + 12]
    pkhbt r12, r4, r5, lsl #16
    pkhtb r4, r5, r4, asr #16
    sxtb16 r5, r12
    smlad r0, r5, r7, r0
    sxtb16 r12, r12, ror #8
    smlad r1, r12, r8, r1
    sxtb16 r5, r4
    ldr.w r7, [sp, #\weights + 16]
    ldr.w r8, [sp, #\weights + 20]
    smlad r2, r5, r9, r2
    sxtb16 r4, r4, ror #8
    smlad r3, r4, r11, r3
    sxtb16 r5, r6
    sxtb16 r6, r6, ror #8
    smlabb r0, r5, r7, r0
    smlatt r2, r5, r7, r2
    smlabb r1, r6, r8, r1
    smlatt r3, r6, r8, r3
.endm

/* Scales two sums to int8. */
.macro SCALE_TWO first, second, scales
    ldr.w r4, [sp, #\scales]
    ldr.w r5, [sp, #\scales + 4]
    ldr.w r6, [sp, #\scales + 8]
    ldr.w r7, [sp, #\scales + 12]
    ldr.w r8, [sp, #\scales + 16]
    ldr.w r9, [sp, #\scales + 20]
    SCALE_BY r4, r5, r6, \first, r11, .w
    SCALE_BY r7, r8, r9, \second, r12, .w
.endm

    FUNCTION tmo_dsp_nine
    push  {r4-r11, lr}
    sub   sp, #FRAME
    strd  r0, r1, [sp, #RUNS]
    strd  r2, r3, [sp, #NEXT]
    mov   r5, #0
1:  str   r5, [sp, #CHANNEL]
    ldr   r12, [sp, #NEXT]
    mov   lr, sp
   .rept 3
    ldmia r12!, {r0-r4, r6-r10}
    stmia lr!, {r0-r4, r6-r10}
   .endr
    ldmia r12!, {r0-r3}
    stmia lr!, {r0-r3}
    str   r12, [sp, #NEXT]
    ldr   lr, [sp, #RUNS]
2:  ldmia lr!, {r4, r6}       /* loads the address of the run's outputs and the number of pixels */
    ldr   r10, [sp, #CHANNEL]
    ldr   r5, [sp, #CHANNELS]
    add   r4, r4, r10
    mla   r6, r5, r6, r4
    strd  r4, r6, [sp, #OUT]
    .balign 4
3:  ldr.w r0, [sp, #BIAS]
    ldr.w r1, [sp, #BIAS + 4]
    ldr.w r2, [sp, #BIAS + 8]
    ldr.w r3, [sp, #BIAS + 12]
    THREE_TAPS 0, WEIGHTS
    THREE_TAPS 12, WEIGHTS + 24
    THREE_TAPS 24, WEIGHTS + 48
    SCALE_TWO r0, r1, SCALES
    SCALE_TWO r2, r3, SCALES + 24
    ldr.w r4, [sp, #OUT]
    ldr.w r5, [sp, #CHANNELS]
    ldr.w r6, [sp, #STEP]
    ldr.w r7, [sp, #STOP]
    bfi   r0, r1, #8, #8
    bfi   r2, r3, #8, #8
    pkhbt r0, r0, r2, lsl #16
    str   r0, [r4]
    add   r4, r4, r5
    str   r4, [sp, #OUT]
    add   r10, r10, r6
    cmp   r4, r7
    bne   3b
    add   lr, lr, #TAPS
    ldr   r4, [sp, #END]
    cmp   lr, r4
    bne   2b
    ldr   r4, [sp, #CHANNELS]
    ldr   r5, [sp, #CHANNEL]
    sub   r4, r4, #4
    cmp   r5, r4
    beq   4f
    add   r5, r5, #4
    cmp   r5, r4
    it    gt
    movgt r5, r4              /* the last four channels may overlap the four channels before them */
    b     1b
4:  add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_nine, . - tmo_dsp_nine

#endif
