/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_dsp_four() of tmo/packed.h computes four adjacent pixels of packed depthwise convolutions with 3x3 taps and stride 1.
 *
 * The function converts four channels of six input columns to int16, and stores them on the stack in a record for each channel. The four outputs of a
 * channel share one load of the weights and values. A record begins with the bias, three words of weights for the first two rows, and the values of
 * six columns in these rows. Two words hold the weights of the third row: weights 0 and 1, and weights 1 and 2. A record ends with the values of the
 * third row, two columns in each word. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"
#include "tmo/records.h"

    .equ WEIGHTS, 4   /* offset in a record of the weights for the first two rows */
    .equ VALUES, 16
    .equ THIRD, 40    /* offset in a record of the weights for the third row */
    .equ PAIRS, 48    /* offset in a record of the values of the third row */
    .equ RECORD, 60

    .equ OUTS, 4 * RECORD         /* addresses for the next output of each pixel */
    .equ CHANNEL, OUTS + 16       /* index of the first of the four channels */
    .equ GRID, OUTS + 20
    .equ NEXT, OUTS + 24          /* address of the next constants */
    .equ CHANNELS, OUTS + 28
    .equ FRAME, OUTS + 32

/* Converts four channels of two pixels to int16 and stores them in the records. */
.macro TWO_PIXELS first, second, at
    pkhbt r4, \first, \second, lsl #16
    pkhtb r5, \second, \first, asr #16
    sxtb16 r6, r4
    sxtb16 r4, r4, ror #8
    sxtb16 r7, r5
    sxtb16 r5, r5, ror #8
    str   r6, [r11, #\at]
    str   r4, [r11, #RECORD + \at]
    str   r7, [r11, #2 * RECORD + \at]
    str   r5, [r11, #3 * RECORD + \at]
.endm

.macro OUTPUT sum, to
    SCALE_BY r6, r7, r8, \sum, r9, .w
    strb.w \sum, [\to], #1
.endm

    FUNCTION tmo_dsp_four
    push  {r4-r11, lr}
    sub   sp, #FRAME
    ldmia r1, {r4-r7}
    mov   r8, #0
    mov   r9, r0
    mov   r10, r2
    mov   r11, r3
    add   r0, sp, #OUTS
    stmia r0, {r4-r11}
1:  ldr   r12, [sp, #NEXT]
    LOAD_RECORDS
    str   r12, [sp, #NEXT]    /* The next constants are m2, c and e of four channels. */
    ldrd  r10, lr, [sp, #CHANNEL]
    mov   r11, sp
    add   r9, lr, #24
    .balign 4
2:  ldrd  r0, r1, [lr], #8
    ldrd  r2, r3, [lr, #16]
    ldr.w r0, [r0, r10]
    ldr.w r2, [r2, r10]
    ldr.w r1, [r1, r10]
    ldr.w r3, [r3, r10]
    TWO_PIXELS r0, r2, VALUES
    TWO_PIXELS r1, r3, VALUES + 4
    adds  r11, r11, #8
    cmp   lr, r9
    bne   2b
    mov   r11, sp
    add   r9, r9, #48
    add   lr, lr, #24
    .balign 4
3:  ldrd  r0, r1, [lr], #8
    ldr.w r0, [r0, r10]
    ldr.w r1, [r1, r10]
    TWO_PIXELS r0, r1, PAIRS
    adds  r11, r11, #4
    cmp   lr, r9
    bne   3b
    mov   r12, sp
    .balign 4
4:  ldmia r12!, {r0-r9}       /* loads the bias, the weights and six columns of a channel */
    smlad r10, r4, r1, r0
    smlad r10, r5, r2, r10
    smlad r10, r6, r3, r10
    smlad r11, r5, r1, r0
    smlad r11, r6, r2, r11
    smlad r11, r7, r3, r11
    smlad lr, r6, r1, r0
    smlad lr, r7, r2, lr
    smlad lr, r8, r3, lr
    smlad r0, r7, r1, r0
    smlad r0, r8, r2, r0
    smlad r0, r9, r3, r0
    ldmia r12!, {r1-r5}
    ldr   r9, [sp, #NEXT]
    ldmia r9!, {r6-r8}
    str   r9, [sp, #NEXT]
    smlad r10, r3, r1, r10
    smlabt r10, r4, r2, r10
    smlatb r11, r3, r1, r11
    smlad r11, r4, r2, r11
    smlad lr, r4, r1, lr
    smlabt lr, r5, r2, lr
    smlatb r0, r4, r1, r0
    smlad r0, r5, r2, r0
    add   r5, sp, #OUTS
    ldmia r5, {r1-r4}
    OUTPUT r0, r4
    OUTPUT lr, r3
    OUTPUT r11, r2
    OUTPUT r10, r1
    stmia r5, {r1-r4}
    cmp   r12, r5
    bne   4b
    ldr   r6, [sp, #CHANNEL]
    ldr   r7, [sp, #CHANNELS]
    subs  r7, r7, #4
    cmp   r6, r7
    beq   6f
    adds  r6, r6, #4
    subs  r7, r6, r7
    ble   5f
    subs  r6, r6, r7          /* the last four channels may overlap the four channels before them */
    subs  r1, r1, r7
    subs  r2, r2, r7
    subs  r3, r3, r7
    subs  r4, r4, r7
    stmia r5, {r1-r4}
5:  str   r6, [sp, #CHANNEL]
    b     1b
6:  add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_four, . - tmo_dsp_four

#endif
