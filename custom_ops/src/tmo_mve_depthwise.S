/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_mve_depthwise() and tmo_mve_depthwise_9() of tmo/packed.h compute packed depthwise convolutions on Helium, with the same bits as their twin in
 * C.
 *
 * They compute sixteen channels of one pixel at a time, from two taps at once. The sum of two products fits int16, since no weight is -128. Channels
 * c, c + 1, c + 2 and c + 3 go to four vectors of sums. The packing has all constants in the order of these vectors. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

#include "tmo/function.h"

/* Adds the int16 of `products` to two vectors of sums. */
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

/* Multiplies the pixels of two taps by the weights at constants + at. */
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

/* Computes sixteen outputs from their sums. The range is at sp. */
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

/* tmo_mve_depthwise() computes windows with any number of taps, which are listed.
 *
 *   r0   next tap     r1   next constants     r2   out, so that r2 + r6 is where outputs go     r3   turns     r4, r5   taps
 *   r6   bytes to the first of the sixteen channels     r7   of the last sixteen     r8   taps     r9   constants     r10   pixels */
    .equ TURNS, 12 + 36 + 64
    .equ CHANNELS, TURNS + 4
    .equ STEP, TURNS + 8

    FUNCTION tmo_mve_depthwise
    push  {r4-r11, lr}
    vpush {d8-d15}
    sub   sp, #12             /* the range takes three words */
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
    mov   r6, r7              /* the last sixteen channels overlap the channels before them */
    b     1b
3:  subs  r10, r10, #1
    beq   4f
    ldrd  r4, r5, [sp, #CHANNELS]
    mov   r1, r9
    sub   r6, r6, r4          /* moves to the pixel's first channel, */
    add   r6, r6, r5          /* and then to that of the next pixel */
    add   r2, r2, r4
    sub   r2, r2, r5
    add   r7, r7, r5
    b     1b
4:  add   sp, #12
    vpop  {d8-d15}
    pop   {r4-r11, pc}
    .size tmo_mve_depthwise, . - tmo_mve_depthwise

/* These macros multiply two taps, like TWO_TAPS, or one tap by the next weights. */
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
    vldrb.8 q5, [r9], #32     /* weights are padded to an even number of taps */
    vmullb.s8 q6, q4, q5
    vmullt.s8 q4, q4, q5
    ADD_UP q6, q0, q1
    ADD_UP q4, q2, q3
.endm

/* This macro omits `sums >> 31`, because the outputs that it would change saturate. */
.macro NEXT_SCALE sums, next
    vldrw.32 q4, [r9], #64
    vqrdmulh.s32 \sums, \sums, q4
    vldrw.32 q4, [r9], #\next
    vrshl.s32 \sums, \sums, q4
.endm

/* tmo_mve_depthwise_9() computes nine taps with the whole range of a ReLU, as a tmo_mve_nine says. The last sixteen channels may overlap the channels
 * before them. If there are fewer than sixteen channels, their number is a multiple of four, and missing channels are masked.
 *
 *   r0..r8   taps     r9   next constants     r10   next outputs     r11   zero point     lr   channels left */
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

/* Replaces the taps of column r12 in all three rows if the column is outside the input. */
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
1:  ldr   r12, [lr, #COLUMN] /* finds the taps of a window, any of which may be missing */
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
    cmp   r12, #0             /* the window is inside the input like the one before, so its taps are a few pixels further */
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
5:  ldr   r12, [lr, #MORE]   /* the last sixteen channels follow */
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
