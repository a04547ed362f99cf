/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_dsp_depthwise() of tmo/packed.h computes packed depthwise convolutions.
 *
 * The function reads three taps of four channels of a pixel at once. SMLAD multiplies two taps of a channel, and SMLABB or SMLATT multiplies the
 * third tap. The constants are stored in the order in which the code reads them. For several pixels, the function computes four channels of all
 * pixels, and then the next four channels. The function first copies the constants of the four channels to the stack, because reads from flash have
 * wait states.
 *
 * Registers r0 to r3 hold the sums of four channels. Registers r4 to r6 hold the addresses of three taps, and later the bytes of these taps.
 * Registers r7 to r9 hold values and weights. Register r10 is the distance in bytes from a tap's address to the first of the four channels. Register
 * r11 is the end of the list of taps. Register r12 points to the next constants, and lr points to the next entry of the list of taps. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"

/* Multiplies four channels of the taps `a` and `b` by eight weights. */
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

/* Loads three taps of four channels and multiplies them by their weights. */
.macro TURN
    ldmia lr!, {r4-r6}
    ldr   r4, [r4, r10]
    ldr   r5, [r5, r10]
    ldr   r6, [r6, r10]
    TWO_TAPS r4, r5
    TAP   r6
.endm

/* Scales four sums to int8, and packs the four outputs into r0. */
.macro OUTPUTS
    SCALE r0
    SCALE r1
    SCALE r2
    SCALE r3
    bfi   r0, r1, #8, #8
    bfi   r2, r3, #8, #8
    pkhbt r0, r0, r2, lsl #16
.endm

/* The following offsets are for the stack frame of a single pixel. */
    .equ TAPS, 0
    .equ OUT, 4       /* The next outputs are stored at the address OUT + r10. */
    .equ LAST, 8      /* value of r10 for the last four channels */
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
    mov   r10, r5             /* the last four channels may overlap the four channels before them */
    b     1b
3:  add   sp, #FRAME
    pop   {r4-r11, pc}

/* The following offsets are for the stack frame of several pixels, which is below the copied constants. */
    .equ TAPS, 0
    .equ NEXT, 4      /* address of the next constants */
    .equ FIRST, 8     /* address of the output of the first pixel */
    .equ PIXELS, 12
    .equ CHANNELS, 16
    .equ STEP, 20
    .equ BYTES, 24    /* size in bytes of the constants of four channels */
    .equ CHANNEL, 28  /* index of the first of the four channels */
    .equ OUT, 32      /* address of the output of the next pixel */
    .equ LEFT, 36     /* number of pixels that are left */
    .equ FRAME, 40
    .equ TURNS, 36    /* The offset TURNS is valid only before the stack frame is allocated. */

several:
    push  {r4-r11, lr}
    ldr   r4, [sp, #TURNS]
    ldrd  r6, r7, [sp, #TURNS + 4]
    add   r4, r4, r4, lsl #1
    lsl   r5, r4, #3
    add   r5, r5, #64         /* The weights of three taps take 24 bytes. The biases and scales take 64 bytes. */
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
    ldrd  r4, r5, [sp, #FIRST] /* loads PIXELS into register r5 */
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
    movgt r10, r6             /* the last four channels may overlap the four channels before them */
    b     4b
8:  ldr   r5, [sp, #BYTES]
    add   sp, sp, r5
    add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_depthwise, . - tmo_dsp_depthwise

#endif
