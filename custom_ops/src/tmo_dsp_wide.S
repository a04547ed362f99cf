/* SPDX-License-Identifier: Apache-2.0 */
/* The functions tmo_dsp_wide_one(), tmo_dsp_wide_two() and tmo_dsp_wide_taps() of tmo/packed.h are inner loops of convolutions with int16
 * activations. tmo_dsp_wide_taps() computes depthwise convolutions, and the other two functions compute all other convolutions.
 *
 * In tmo_dsp_wide_one() and tmo_dsp_wide_two(), register r0 points to the next values, and r1 is the end of the values. Register r2 points to the
 * next weights, and r3 is the distance between the weights of adjacent channels. Registers r4 to r7 hold sums. Registers r8 and r9 hold values, and
 * r12 and lr hold weights. With two pixels, r10 and r11 hold values of the second pixel. With one pixel, r10 is two times r3, and r11 is three times
 * r3. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"

/* MULTIPLIERS and the next symbols are offsets of fields in tmo_wide_job. */
    .equ MULTIPLIERS, 4        /* tmo_conv16_dsp.c asserts these offsets. */
    .equ OUT, 12
    .equ RANGE, 16
    .equ X, 24
    .equ WEIGHTS, 32
    .equ FILTER, 36
    .equ SUMS, 40
    .equ CHANNELS, 44
    .equ APART, 48
    .equ REST, 52
    .equ BIASED, 56
    .equ SCALED, 57
    .equ FIRST, 58
    .equ LAST, 59
    .equ ROWS, 60
    .equ OFFSET, 68
    .equ SINGLES, 76
    .equ ROW, 84

    .equ NEXT_PIXEL, 64        /* distance in bytes from the first pixel's values to the second pixel's values */

/* Stores the address after the last output value, and the addresses of the next bias and multiplier if each channel has its own. */
.macro STORE_ADDRESSES biased, scaled
    str   r3, [r12, #OUT]
    ldrb  r4, [r12, #\biased]
    ldrb  r5, [r12, #\scaled]
    cmp   r4, #0
    it    ne
    strne r0, [r12]
    cmp   r5, #0
    it    ne
    strdne r1, r2, [r12, #MULTIPLIERS]
.endm

/* Multiplies the four weights of a channel in lr by four values of one or two pixels. */
.macro FOUR first, second
    sxtb16 r12, lr
    smlad \first, r12, r8, \first
  .ifnb \second
    smlad \second, r12, r10, \second
  .endif
    sxtb16 lr, lr, ror #8
    smlad \first, lr, r9, \first
  .ifnb \second
    smlad \second, lr, r11, \second
  .endif
.endm

/* Adds the bias to a channel's sums and scales the sums. If a sum or a scale does not fit 32 bits, the macro jumps to label 8, which calls the
 * function job->rest. Register r8 holds 2^15. */
.macro SCALE first, second
    ldrd  r11, r10, [r0], #8
    ldrsb lr, [r2], #1
    cmp   r10, r11, asr #31
    bne   8f
    ldr   r10, [r1], #4
    adds  lr, lr, #17
    cmp   lr, #16
    bhi   8f
    qadd  r10, r10, r8
    asrs  r10, r10, #16
    lsls  r10, r10, lr
    adds  \first, \first, r11
    bvs   8f
    smmulr \first, \first, r10
  .ifnb \second
    adds  \second, \second, r11
    bvs   8f
    smmulr \second, \second, r10
  .endif
.endm

/* Limits the outputs of two channels and stores them. Registers r9 and r10 hold the smallest and the largest output. */
.macro WRITE first, second, address:vararg
    ssat  \first, #16, \first
    ssat  \second, #16, \second
    pkhbt \first, \first, \second, lsl #16
    ssub16 lr, \first, r9
    sel   \first, \first, r9
    ssub16 lr, \first, r10
    sel   \first, r10, \first
    str   \first, \address
.endm

.macro WRITE_ONE value, address:vararg
    ssat  \value, #16, \value
    ssub16 lr, \value, r9
    sel   \value, \value, r9
    ssub16 lr, \value, r10
    sel   \value, r10, \value
    strh  \value, \address
.endm

/* Multiplies all rows of one pixel by the weights of one, two or four channels, and jumps to label 5. */
.macro MULTIPLY_ROWS channels
20: ldr   r12, [sp]
    ldrd  r8, r9, [r12, #ROW]
    subs  r9, r9, #1
    blt   5f
    ldr   r0, [r8], #4
    strd  r8, r9, [r12, #ROW]
    ldrd  r8, r9, [r12, #OFFSET]
    add   r0, r0, r8
    add   r1, r0, r9
    cmp   r0, r1
    beq   22f
    .balign 4
21: ldr   r12, [r0], #4
    ldr   lr, [r0], #4
    pkhbt r8, r12, lr, lsl #16
    pkhtb r9, lr, r12, asr #16
  .if \channels > 1
    ldr   lr, [r2, r3]
    FOUR  r5
  .endif
  .if \channels > 2
    ldr   lr, [r2, r10]
    FOUR  r6
    ldr   lr, [r2, r11]
    FOUR  r7
  .endif
    ldr   lr, [r2], #4
    FOUR  r4
    cmp   r0, r1
    bne   21b
22: ldr   r12, [sp]
    ldrd  r9, r12, [r12, #SINGLES]
    adds  r1, r0, r9
    cmp   r0, r1
    beq   24f
23: ldrsh r8, [r0], #2
  .if \channels > 1
    ldrsb lr, [r2, r3]
    smlabb r5, lr, r8, r5
  .endif
  .if \channels > 2
    ldrsb lr, [r2, r10]
    smlabb r6, lr, r8, r6
    ldrsb lr, [r2, r11]
    smlabb r7, lr, r8, r7
  .endif
    ldrsb lr, [r2], #1
    smlabb r4, lr, r8, r4
    cmp   r0, r1
    bne   23b
24: add   r2, r2, r12
    b     20b
.endm

/* Computes all channels of a job. The code computes four channels of one pixel, or two channels of two pixels, at once. */
.macro JOB pixels
    push  {r0, r4-r11, lr}
1:  ldr   r12, [sp]
    ldr   r10, [r12, #CHANNELS]
    movs  r4, #0
    movs  r5, #0
    movs  r6, #0
    movs  r7, #0
    ldrd  r2, r3, [r12, #WEIGHTS]
  .if \pixels == 1
    ldrb  r0, [r12, #FIRST]
    cbnz  r0, 2f
    ldr   lr, [r12, #SUMS]
    ldmia lr, {r4-r7}
2:
    ldrd  r8, r9, [r12, #ROWS]
    strd  r8, r9, [r12, #ROW]
    cmp   r10, #2
    blt   4f
    beq   3f
    cmp   r10, #4
    add   r11, r3, r3, lsl #1
    lsl   r10, r3, #1
    it    lt
    movlt r11, #0              /* For a channel that does not exist, the code reads the first channel's weights. */
    MULTIPLY_ROWS 4
3:  MULTIPLY_ROWS 2
4:  MULTIPLY_ROWS 1
  .else
    ldrd  r0, r1, [r12, #X]
    cmp   r0, r1
    beq   5f
    cmp   r10, #1
    beq   4f
    .balign 4
3:  ldrd  r10, r11, [r0, #NEXT_PIXEL]
    ldrd  r8, r9, [r0], #8
    ldr   lr, [r2, r3]
    FOUR  r5, r7
    ldr   lr, [r2], #4
    FOUR  r4, r6
    cmp   r0, r1
    bne   3b
    b     5f
4:  ldrd  r10, r11, [r0, #NEXT_PIXEL]
    ldrd  r8, r9, [r0], #8
    ldr   lr, [r2], #4
    FOUR  r4, r6
    cmp   r0, r1
    bne   4b
  .endif
5:  ldr   r12, [sp]
    ldr   r0, [r12, #SUMS]
    stmia r0, {r4-r7}
  .if \pixels == 1
    ldrb  r1, [r12, #LAST]
    cmp   r1, #0
    beq   11f
  .endif
    ldmia r12, {r0-r3}
    ldr   r12, [r12, #CHANNELS]
    mov   r8, #0x8000
  .if \pixels == 1
    SCALE r4
    cmp   r12, #1
    beq   6f
    SCALE r5
    cmp   r12, #2
    beq   6f
    SCALE r6
    cmp   r12, #3
    beq   6f
    SCALE r7
6:  ldr   lr, [sp]
    ldrd  r9, r10, [lr, #RANGE]
    cmp   r12, #4
    blt   7f
    WRITE r6, r7, [r3, #4]
    WRITE r4, r5, [r3], #8
    b     10f
7:  WRITE_ONE r4, [r3], #2
    cmp   r12, #1
    beq   10f
    WRITE_ONE r5, [r3], #2
    cmp   r12, #2
    beq   10f
    WRITE_ONE r6, [r3], #2
  .else
    SCALE r4, r6
    cmp   r12, #1
    beq   6f
    SCALE r5, r7
6:  ldr   lr, [sp]
    ldrd  r9, r10, [lr, #RANGE]
    ldr   r11, [lr, #APART]
    cmp   r12, #1
    beq   7f
    WRITE r6, r7, [r3, r11]
    WRITE r4, r5, [r3], #4
    b     10f
7:  WRITE_ONE r6, [r3, r11]
    WRITE_ONE r4, [r3], #2
  .endif
    b     10f
8:  ldr   r0, [sp]
    movs  r1, #\pixels
    ldr   r2, [r0, #REST]
    blx   r2
    ldr   r12, [sp]
    b     11f
10: ldr   r12, [sp]
    STORE_ADDRESSES BIASED, SCALED
11: ldrd  r0, r1, [r12, #WEIGHTS]
  .if \pixels == 1
    add   r0, r0, r1, lsl #2
  .else
    add   r0, r0, r1, lsl #1
  .endif
    str   r0, [r12, #WEIGHTS]
    ldr   r0, [r12, #CHANNELS]
    subs  r0, r0, #4 / \pixels
    str   r0, [r12, #CHANNELS]
    bgt   1b
    pop   {r0, r4-r11, pc}
.endm

    FUNCTION tmo_dsp_wide_one
    JOB   1
    .size tmo_dsp_wide_one, . - tmo_dsp_wide_one

    FUNCTION tmo_dsp_wide_two
    JOB   2
    .size tmo_dsp_wide_two, . - tmo_dsp_wide_two

/* The following numbers are offsets of fields in tmo_wide_taps. */
    .equ TAPS_RANGE, 16        /* tmo_conv16_dsp.c asserts these offsets. */
    .equ TAPS_WEIGHTS, 24
    .equ TAPS_ROWS, 32
    .equ TAPS_OFFSET, 40
    .equ TAPS_COLUMNS, 48
    .equ TAPS_SKIPPED, 52
    .equ TAPS_CHANNELS, 56
    .equ TAPS_BIASED, 60
    .equ TAPS_SCALED, 61

/* The following numbers are offsets in the stack frame of tmo_dsp_wide_taps(), which begins with four sums. */
    .equ NEXT_ROW, 16
    .equ AT_ONCE, 24           /* number of channels that are computed together */
    .equ TAPS, 32

/* Multiplies all taps by the weights of one, two or four channels, and jumps to label 5. Register r0 points to the next tap, and r1 to its weights.
 * Register r2 is the distance between the weights of taps, and r3 is the distance between taps. */
.macro MULTIPLY_TAPS channels
    movs  r8, #\channels
    str   r8, [sp, #AT_ONCE]
20: ldrd  r8, r9, [sp, #NEXT_ROW]
    subs  r9, r9, #1
    blt   5f
    ldr   r12, [sp, #TAPS]
    ldr   r0, [r8], #4
    strd  r8, r9, [sp, #NEXT_ROW]
    ldrd  r8, r3, [r12, #TAPS_OFFSET]
    ldr   lr, [r12, #TAPS_COLUMNS]
    add   r0, r0, r8
    .balign 4
21:
  .if \channels == 4
    ldr   r12, [r1]
    ldr   r10, [r0]
    ldr   r11, [r0, #4]
    sxtb16 r8, r12
    sxtb16 r9, r12, ror #8
    smlabb r4, r10, r8, r4
    smlatb r5, r10, r9, r5
    smlabt r6, r11, r8, r6
    smlatt r7, r11, r9, r7
  .elseif \channels == 2
    ldrsb r8, [r1]
    ldrsb r9, [r1, #1]
    ldr   r10, [r0]
    smlabb r4, r10, r8, r4
    smlatb r5, r10, r9, r5
  .else
    ldrsb r8, [r1]
    ldrsh r10, [r0]
    smlabb r4, r10, r8, r4
  .endif
    add   r0, r0, r3
    add   r1, r1, r2
    subs  lr, lr, #1
    bne   21b
    ldr   r12, [sp, #TAPS]
    ldr   r8, [r12, #TAPS_SKIPPED]
    add   r1, r1, r8
    b     20b
.endm

    FUNCTION tmo_dsp_wide_taps
    push  {r0, r4-r11, lr}
    sub   sp, #TAPS
1:  ldr   r12, [sp, #TAPS]
    ldrd  r8, r9, [r12, #TAPS_ROWS]
    strd  r8, r9, [sp, #NEXT_ROW]
    ldrd  r1, r2, [r12, #TAPS_WEIGHTS]
    ldr   r10, [r12, #TAPS_CHANNELS]
    movs  r4, #0
    movs  r5, #0
    movs  r6, #0
    movs  r7, #0
    cmp   r10, #4
    bge   4f
    cmp   r10, #2
    bge   3f
    MULTIPLY_TAPS 1
3:  MULTIPLY_TAPS 2
4:  MULTIPLY_TAPS 4
5:  stmia sp, {r4-r7}
    ldr   r12, [sp, #TAPS]
    ldmia r12, {r0-r3}
    ldrd  r5, r6, [r12, #TAPS_RANGE]
    ldr   r9, [sp, #AT_ONCE]
    mov   r7, sp
    mov   r8, #0x8000
6:  ldr   r4, [r7], #4
    SCALE r4
    ssat  r4, #16, r4
    cmp   r4, r5
    it    lt
    movlt r4, r5
    cmp   r4, r6
    it    gt
    movgt r4, r6
    strh  r4, [r3], #2
    subs  r9, r9, #1
    bne   6b
    STORE_ADDRESSES TAPS_BIASED, TAPS_SCALED
    ldr   r9, [sp, #AT_ONCE]
    ldr   r0, [r12, #TAPS_WEIGHTS]
    ldr   r1, [r12, #TAPS_OFFSET]
    ldr   r2, [r12, #TAPS_CHANNELS]
    add   r0, r0, r9
    add   r1, r1, r9, lsl #1
    str   r0, [r12, #TAPS_WEIGHTS]
    str   r1, [r12, #TAPS_OFFSET]
    subs  r2, r2, r9
    str   r2, [r12, #TAPS_CHANNELS]
    bgt   1b
    movs  r0, #1
    b     9f
8:  movs  r0, #0
9:  add   sp, #TAPS + 4
    pop   {r4-r11, pc}
    .size tmo_dsp_wide_taps, . - tmo_dsp_wide_taps

#endif
