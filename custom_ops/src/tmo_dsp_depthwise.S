/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_dsp_depthwise() of tmo/packed.h computes packed depthwise convolutions, with the same bits as its twin in C.
 *
 * It computes four channels of one pixel at a time, from three taps at once. SMLAD multiplies two taps of the same channel, and the third tap is
 * multiplied alone. All constants of a pixel are in the order in which they are used. For several pixels, four channels of all pixels are
 * computed before the next four channels. Their constants are copied to the stack, because reading flash again for the next pixel has wait states.
 *
 *   r0..r3   sums        r4..r6   addresses, then bytes of three taps        r7..r9   values and weights
 *   r10      bytes to the first of the four channels      r11   end of the taps      r12   next constants      lr   next tap */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"

/* Multiplies the bytes of taps a and b in four channels by eight weights. */
.macro TWO_TAPS a, b
    pkhbt r7, \a, \b, lsl #16
    pkhtb \a, \b, \a, asr #16
    ldrd  r8, r9, [r12], #8
    sxtb16 \b, r7
    smlad r0, \b, r8, r0
    sxtb16 r7, r7, ror #8
    smlad r1, r7, r9, r1
    ldrd  r8, r9, [r12], #8
    sxtb16 \b, \a
    smlad r2, \b, r8, r2
    sxtb16 \a, \a, ror #8
    smlad r3, \a, r9, r3
.endm

.macro TAP bytes
    ldrd  r7, r8, [r12], #8
    sxtb16 r9, \bytes
    sxtb16 \bytes, \bytes, ror #8
    smlabb r0, r9, r7, r0
    smlatt r2, r9, r7, r2
    smlabb r1, \bytes, r8, r1
    smlatt r3, \bytes, r8, r3
.endm

.macro SCALE sum
    ldmia r12!, {r4, r5, r6}
    SCALE_BY r4, r5, r6, \sum, r7
.endm

/* Multiplies three taps of four channels. */
.macro TURN
    ldmia lr!, {r4-r6}
    ldr   r4, [r4, r10]
    ldr   r5, [r5, r10]
    ldr   r6, [r6, r10]
    TWO_TAPS r4, r5
    TAP   r6
.endm

/* Scales four sums to the bytes of r0. */
.macro OUTPUTS
    SCALE r0
    SCALE r1
    SCALE r2
    SCALE r3
    bfi   r0, r1, #8, #8
    bfi   r2, r3, #8, #8
    pkhbt r0, r0, r2, lsl #16
.endm

/* The frame for one pixel. */
    .equ TAPS, 0
    .equ OUT, 4       /* OUT + r10 is the address of the next outputs */
    .equ LAST, 8      /* r10 of the last four channels */
    .equ FRAME, 12
    .equ TURNS, FRAME + 36
    .equ CHANNELS, FRAME + 40

    FUNCTION tmo_dsp_depthwise
    cmp   r3, #1
    bne.w several
    push  {r4-r11, lr}
    sub   sp, #FRAME
    ldrd  r4, r5, [sp, #TURNS]
    sub   r5, r5, #4
    str   r0, [sp, #TAPS]
    strd  r2, r5, [sp, #OUT]
    add   r4, r4, r4, lsl #1
    add   r11, r0, r4, lsl #2
    mov   r12, r1
    mov   r10, #0
1:  ldmia r12!, {r0-r3}
    ldr   lr, [sp, #TAPS]
2:  TURN
    cmp   lr, r11
    bne   2b
    OUTPUTS
    ldrd  r4, r5, [sp, #OUT]
    str   r0, [r4, r10]
    add   r10, r10, #4
    cmp   r10, r5
    ble   1b
    sub   r6, r10, r5
    cmp   r6, #4
    beq   3f
    mov   r10, r5             /* the last four channels overlap the channels before them */
    b     1b
3:  add   sp, #FRAME
    pop   {r4-r11, pc}

/* For several pixels, the frame lies below the copied constants. */
    .equ TAPS, 0
    .equ NEXT, 4      /* next constants */
    .equ FIRST, 8     /* output of the first pixel */
    .equ PIXELS, 12
    .equ CHANNELS, 16
    .equ STEP, 20
    .equ BYTES, 24    /* number of bytes of the constants of four channels */
    .equ CHANNEL, 28  /* first of the four channels */
    .equ OUT, 32      /* output of the next pixel */
    .equ LEFT, 36     /* number of pixels left */
    .equ FRAME, 40
    .equ TURNS, 36    /* this offset is valid before there is a frame */

several:
    push  {r4-r11, lr}
    ldr   r4, [sp, #TURNS]
    ldrd  r6, r7, [sp, #TURNS + 4]
    add   r4, r4, r4, lsl #1
    lsl   r5, r4, #3
    add   r5, r5, #64         /* each turn has 24 bytes; biases and scales have 64 bytes */
    sub   sp, sp, r5
    sub   sp, #FRAME
    add   r11, r0, r4, lsl #2
    strd  r0, r1, [sp, #TAPS]
    strd  r2, r3, [sp, #FIRST]
    strd  r6, r7, [sp, #CHANNELS]
    str   r5, [sp, #BYTES]
    mov   r10, #0
4:  str   r10, [sp, #CHANNEL]
    ldr   r12, [sp, #NEXT]
    ldr   r9, [sp, #BYTES]
    add   lr, sp, #FRAME
    add   r9, r9, lr
    ldmia r12!, {r0-r3}
    stmia lr!, {r0-r3}
5:  ldmia r12!, {r0-r5}
    stmia lr!, {r0-r5}
    cmp   lr, r9
    bne   5b
    str   r12, [sp, #NEXT]
    ldrd  r4, r5, [sp, #FIRST] /* r5: pixels */
    add   r4, r4, r10
6:  strd  r4, r5, [sp, #OUT]
    add   r12, sp, #FRAME
    ldmia r12!, {r0-r3}
    ldr   lr, [sp, #TAPS]
7:  TURN
    cmp   lr, r11
    bne   7b
    OUTPUTS
    ldrd  r4, r5, [sp, #OUT]
    ldrd  r6, r7, [sp, #CHANNELS]
    str   r0, [r4]
    add   r4, r4, r6
    add   r10, r10, r7
    subs  r5, r5, #1
    bne   6b
    ldr   r10, [sp, #CHANNEL]
    sub   r6, r6, #4
    cmp   r10, r6
    beq   8f
    add   r10, r10, #4
    cmp   r10, r6
    it    gt
    movgt r10, r6             /* the last four channels overlap the channels before them */
    b     4b
8:  ldr   r5, [sp, #BYTES]
    add   sp, sp, r5
    add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_depthwise, . - tmo_dsp_depthwise

#endif
