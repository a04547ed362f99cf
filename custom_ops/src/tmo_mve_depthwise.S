/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_mve_depthwise() and tmo_mve_depthwise_9() of tmo/packed.h compute packed depthwise convolutions on Helium.
 *
 * The functions multiply two taps of sixteen channels of a pixel at once. The sum of two products fits int16, because no weight is -128. The sums of
 * sixteen channels are in four vectors. Channels whose indices have the same remainder modulo 4 share a vector. The constants are packed in the order
 * of the vectors. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

#include "tmo/function.h"

/* Adds eight int16 products to two vectors of four int32 sums each. */
.macro ADD_UP products, even, odd
    vmovlb.s16 q7, \products
    vadd.i32 \even, \even, q7
    vmovlt.s16 q7, \products
    vadd.i32 \odd, \odd, q7
.endm

.macro BIASES constants
    vldrw.32 q0, [\constants]
    vldrw.32 q1, [\constants, #16]
    vldrw.32 q2, [\constants, #32]
    vldrw.32 q3, [\constants, #48]
.endm

/* Multiplies sixteen channels of two taps by the weights at the address `constants + at`. */
.macro TWO_TAPS a, b, constants, at
    vldrb.8 q4, [\a], #16
    vldrb.8 q5, [\constants, #\at]
    vmullb.s8 q6, q4, q5
    vmullt.s8 q4, q4, q5
    vldrb.8 q5, [\b], #16
    vldrb.8 q7, [\constants, #\at + 16]
    vmullt.s8 q7, q5, q7
    vadd.i16 q4, q4, q7
    vldrb.8 q7, [\constants, #\at + 16]
    vmullb.s8 q7, q5, q7
    vadd.i16 q6, q6, q7
    ADD_UP q6, q0, q1
    ADD_UP q4, q2, q3
.endm

.macro SCALE sums, constants, at
    vldrw.32 q4, [\constants, #\at]
    vldrw.32 q5, [\constants, #\at + 64]
    vqrdmulh.s32 q4, \sums, q4
    vshr.s32 \sums, \sums, #31
    vadd.i32 \sums, \sums, q4
    vrshl.s32 \sums, \sums, q5
.endm

/* Computes sixteen outputs from their sums. The stack holds the zero point, the minimum and the maximum of the outputs. */
.macro OUTPUTS constants, first, second
    SCALE q0, \constants, 0
    SCALE q1, \constants, 16
    SCALE q2, \constants, 32
    SCALE q3, \constants, 48
    vqmovnb.s32 q4, q0
    vqmovnt.s32 q4, q1
    vqmovnb.s32 q5, q2
    vqmovnt.s32 q5, q3
    ldr   \first, [sp]
    vqadd.s16 q4, q4, \first
    vqadd.s16 q5, q5, \first
    vqmovnb.s16 q6, q4
    vqmovnt.s16 q6, q5
    ldrd  \first, \second, [sp, #4]
    vdup.8 q7, \first
    vmax.s8 q6, q6, q7
    vdup.8 q7, \second
    vmin.s8 q6, q6, q7
.endm

/* tmo_mve_depthwise() computes windows with any number of taps, whose addresses are in a list.
 *
 * Register r0 points to the next entry of the list, and r8 is the address of the list. Register r1 points to the next constants, and r9 is the
 * address of all constants. Register r3 is the number of pairs of taps. Registers r4 and r5 hold the addresses of two taps. Register r6 is the
 * distance in bytes from a tap's address to the current sixteen channels, and r7 is the distance to the last sixteen channels. The outputs are stored
 * at r2 + r6. Register r10 is the number of pixels that are left. */
    .equ TURNS, 12 + 36 + 64
    .equ CHANNELS, TURNS + 4
    .equ STEP, TURNS + 8

    FUNCTION tmo_mve_depthwise
    push  {r4-r11, lr}
    vpush {d8-d15}
    sub   sp, #12             /* The zero point, the minimum and the maximum take three words. */
    ldr   r7, [sp, #STEP + 4]
    ldrsb r4, [r7]
    ldrsb r5, [r7, #1]
    ldrsb r6, [r7, #2]
    strd  r4, r5, [sp]
    str   r6, [sp, #8]
    mov   r8, r0
    mov   r9, r1
    mov   r10, r3
    ldrd  r3, r7, [sp, #TURNS]
    sub   r7, r7, #16
    mov   r6, #0
1:  BIASES r1
    add   r1, r1, #64
    mov   r0, r8
    dls   lr, r3
2:  ldrd  r4, r5, [r0], #8
    add   r4, r4, r6
    add   r5, r5, r6
    TWO_TAPS r4, r5, r1, 0
    add   r1, r1, #32
    le    lr, 2b
    OUTPUTS r1, r4, r5
    add   r1, r1, #128
    add   r4, r2, r6
    vstrb.8 q6, [r4]
    add   r6, r6, #16
    cmp   r6, r7
    ble   1b
    sub   r4, r6, r7
    cmp   r4, #16
    beq   3f
    mov   r6, r7              /* The last sixteen channels may overlap the channels before them. */
    b     1b
3:  subs  r10, r10, #1
    beq   4f
    ldrd  r4, r5, [sp, #CHANNELS]
    mov   r1, r9
    sub   r6, r6, r4          /* moves to the first channel of the pixel */
    add   r6, r6, r5          /* moves to the first channel of the next pixel */
    add   r2, r2, r4
    sub   r2, r2, r5
    add   r7, r7, r5
    b     1b
4:  add   sp, #12
    vpop  {d8-d15}
    pop   {r4-r11, pc}
    .size tmo_mve_depthwise, . - tmo_mve_depthwise

/* NEXT_TWO multiplies two taps by the next weights at r9, and NEXT_TAP multiplies one tap. */
.macro NEXT_TWO a, b
    vldrb.8 q4, [\a], #16
    vldrb.8 q5, [r9], #16
    vmullb.s8 q6, q4, q5
    vmullt.s8 q4, q4, q5
    vldrb.8 q5, [\b], #16
    vldrb.8 q7, [r9]
    vmullt.s8 q7, q5, q7
    vadd.i16 q4, q4, q7
    vldrb.8 q7, [r9], #16
    vmullb.s8 q7, q5, q7
    vadd.i16 q6, q6, q7
    ADD_UP q6, q0, q1
    ADD_UP q4, q2, q3
.endm

.macro NEXT_TAP a
    vldrb.8 q4, [\a], #16
    vldrb.8 q5, [r9], #32     /* 16 bytes of padding follow the weights of the ninth tap. */
    vmullb.s8 q6, q4, q5
    vmullt.s8 q4, q4, q5
    ADD_UP q6, q0, q1
    ADD_UP q4, q2, q3
.endm

/* Scales four sums. The macro omits the operation `sums >> 31`, which only changes outputs that saturate. */
.macro NEXT_SCALE sums, next
    vldrw.32 q4, [r9], #64
    vqrdmulh.s32 \sums, \sums, q4
    vldrw.32 q4, [r9], #\next
    vrshl.s32 \sums, \sums, q4
.endm

/* tmo_mve_depthwise_9() computes windows with 3x3 taps whose outputs have the range of a ReLU. The argument is a tmo_mve_nine. The last sixteen
 * channels may overlap the channels before them. If the number of channels is 4, 8 or 12, the instructions do not load or store channels that do not
 * exist.
 *
 * Registers r0 to r8 hold the addresses of nine taps. Register r9 points to the next constants, and r10 points to the next outputs. Register r11 is
 * the zero point. Register lr is the number of channels that are left. */
    .equ MISSING, 24
    .equ WIDTH, 28
    .equ STRIDE, 32
    .equ INSIDE, 36
    .equ APART, 40
    .equ CONSTANTS, 44
    .equ FIRST, 48
    .equ END, 52
    .equ BEYOND, 56
    .equ MORE, 60
    .equ COLUMN, 64
    .equ PIXELS, 68

/* Replaces the taps of a column in all three rows by the pixel at the address r11 if the column r12 is outside the input. */
.macro COLUMN_OF a, b, c
    cmp   r12, r9
    ittt  hs
    movhs \a, r11
    movhs \b, r11
    movhs \c, r11
.endm

    FUNCTION tmo_mve_depthwise_9
    push  {r4-r11, lr}
    vpush {d8-d15}
    sub   sp, #8
    str   r0, [sp]
    mov   r10, r2
    mov   lr, r0
    cbz   r1, 1f
    ldmia r1, {r0-r8}
    b     2f
1:  ldr   r12, [lr, #COLUMN] /* finds the addresses of nine taps; some taps may be outside the input */
    ldmia lr, {r0, r2, r3, r5, r6, r8}
    mla   r0, r12, r2, r0
    add   r1, r0, r2
    add   r2, r1, r2
    mla   r3, r12, r5, r3
    add   r4, r3, r5
    add   r5, r4, r5
    mla   r6, r12, r8, r6
    add   r7, r6, r8
    add   r8, r7, r8
    ldrd  r11, r9, [lr, #MISSING]
    COLUMN_OF r0, r3, r6
    add   r12, r12, #1
    COLUMN_OF r1, r4, r7
    add   r12, r12, #1
    COLUMN_OF r2, r5, r8
2:  ldrd  r9, lr, [lr, #CONSTANTS]
6:  mvn   r11, #127
    dlstp.8 lr, lr
3:  vldrw.32 q0, [r9], #16
    vldrw.32 q1, [r9], #16
    vldrw.32 q2, [r9], #16
    vldrw.32 q3, [r9], #16
    NEXT_TWO r0, r1
    NEXT_TWO r2, r3
    NEXT_TWO r4, r5
    NEXT_TWO r6, r7
    NEXT_TAP r8
    NEXT_SCALE q0, -48
    NEXT_SCALE q1, -48
    NEXT_SCALE q2, -48
    NEXT_SCALE q3, 16
    vqmovnb.s32 q0, q0
    vqmovnt.s32 q0, q1
    vqmovnb.s32 q2, q2
    vqmovnt.s32 q2, q3
    vqadd.s16 q0, q0, r11
    vqadd.s16 q2, q2, r11
    vqmovnb.s16 q0, q0
    vqmovnt.s16 q0, q2
    vstrb.8 q0, [r10], #16
    letp  lr, 3b
    ldr   lr, [sp]
    ldrd  r11, r12, [lr, #END]
    cmp   r9, r11
    bne   5f
    ldrd  r9, r11, [lr, #COLUMN]
    sub   r10, r10, r12      /* BEYOND */
    subs  r11, r11, #1
    beq   4f
    cmp   r9, #0
    ldr   r12, [lr, #STRIDE]
    add   r9, r9, r12
    strd  r9, r11, [lr, #COLUMN]
    blt   1b
    ldrd  r11, r12, [lr, #INSIDE]
    cmp   r9, r11
    bhs   1b
    cmp   r12, #0             /* If two adjacent windows are inside the input, the addresses of all taps grow by r12. */
    beq   2b
    add   r0, r0, r12
    add   r1, r1, r12
    add   r2, r2, r12
    add   r3, r3, r12
    add   r4, r4, r12
    add   r5, r5, r12
    add   r6, r6, r12
    add   r7, r7, r12
    add   r8, r8, r12
    b     2b
5:  ldr   r12, [lr, #MORE]   /* computes the last sixteen channels */
    mov   lr, #16
    sub   r12, lr, r12
    sub   r0, r0, r12
    sub   r1, r1, r12
    sub   r2, r2, r12
    sub   r3, r3, r12
    sub   r4, r4, r12
    sub   r5, r5, r12
    sub   r6, r6, r12
    sub   r7, r7, r12
    sub   r8, r8, r12
    sub   r10, r10, r12
    b     6b
4:  add   sp, #8
    vpop  {d8-d15}
    pop   {r4-r11, pc}
    .size tmo_mve_depthwise_9, . - tmo_mve_depthwise_9

#endif
