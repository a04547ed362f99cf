/* SPDX-License-Identifier: Apache-2.0 */
/* The core of packed depthwise convolutions: tmo_dsp_depthwise of tmo/packed.h, bit for bit its twin in C.
 *
 * Four channels of one pixel at a time, three taps in a turn: two as pairs of the same channel for SMLAD, the third by itself. All constants
 * of a pixel come as one stream, in the order in which they are wanted.
 *
 *   r0..r3   sums        r4..r6   addresses, then bytes of three taps        r7..r9   values and weights
 *   r10      bytes to the first of the four channels      r11   end of the taps      r12   next constants      lr   next tap */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

    .syntax unified
    .thumb

    .equ TAPS, 0
    .equ CONSTANTS, 4
    .equ OUT, 8       /* so that OUT + r10 is where outputs go */
    .equ LAST, 12     /* r10 of the pixel's last four channels */
    .equ PIXELS, 16
    .equ FRAME, 20
    .equ TURNS, FRAME + 36
    .equ CHANNELS, FRAME + 40
    .equ STEP, FRAME + 44

/* The bytes of taps a and b, pairwise: four channels, eight weights. */
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
    add   r7, \sum, \sum, asr #31
    add   r7, r7, r5
    smmlar \sum, \sum, r4, r7
    asr   \sum, \sum, r6
    ssat  \sum, #8, \sum
.endm

    .section .text.tmo_dsp_depthwise, "ax", %progbits
    .balign 4
    .global tmo_dsp_depthwise
    .type tmo_dsp_depthwise, %function
    .thumb_func
tmo_dsp_depthwise:
    push  {r4-r11, lr}
    sub   sp, #FRAME
    strd  r0, r1, [sp, #TAPS]
    ldrd  r4, r5, [sp, #TURNS]
    sub   r5, r5, #4
    strd  r2, r5, [sp, #OUT]
    str   r3, [sp, #PIXELS]
    add   r4, r4, r4, lsl #1
    add   r11, r0, r4, lsl #2
    mov   r12, r1
    mov   r10, #0
1:  ldmia r12!, {r0-r3}
    ldr   lr, [sp, #TAPS]
2:  ldmia lr!, {r4-r6}
    ldr   r4, [r4, r10]
    ldr   r5, [r5, r10]
    ldr   r6, [r6, r10]
    TWO_TAPS r4, r5
    TAP   r6
    cmp   lr, r11
    bne   2b
    SCALE r0
    SCALE r1
    SCALE r2
    SCALE r3
    bfi   r0, r1, #8, #8
    bfi   r2, r3, #8, #8
    pkhbt r0, r0, r2, lsl #16
    ldrd  r4, r5, [sp, #OUT]
    str   r0, [r4, r10]
    add   r10, r10, #4
    cmp   r10, r5
    ble   1b
    sub   r6, r10, r5
    cmp   r6, #4
    beq   3f
    mov   r10, r5             /* the last four overlap those before them */
    b     1b
3:  ldr   r6, [sp, #PIXELS]
    subs  r6, r6, #1
    beq   4f
    str   r6, [sp, #PIXELS]
    ldrd  r7, r8, [sp, #CHANNELS]
    ldr   r12, [sp, #CONSTANTS]
    sub   r10, r10, r7        /* the pixel's first channel, */
    add   r10, r10, r8        /* then the next pixel's */
    add   r4, r4, r7
    sub   r4, r4, r8
    add   r5, r5, r8
    strd  r4, r5, [sp, #OUT]
    b     1b
4:  add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_depthwise, . - tmo_dsp_depthwise

#endif
