/* SPDX-License-Identifier: Apache-2.0 */
/* The functions tmo_dsp_sums(), tmo_dsp_few(), tmo_dsp_few_taps(), tmo_dsp_outputs(), tmo_dsp_window_outputs() and tmo_dsp_repeated_outputs() of tmo/kernels.h compute
 * convolutions with the DSP extension. The weights of these convolutions are not packed. The functions tmo_dsp_sums() and tmo_dsp_outputs() multiply four values by the weights of four
 * channels. The function tmo_dsp_sums() computes the last one to three channels one at a time.
 *
 * Register r0 points to the next values of a run, and r1 points to the next weights of the first channel. Registers r2 and r3 are the distances from
 * r1 to the weights of the second and the fourth channel. Registers r4 to r7 hold sums. Both halves of r8 hold the negated zero point. Registers r9
 * and r10 hold values, and r11 and r12 hold weights. Register lr is the number of values that are left. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"

/* The following numbers are offsets of fields in tmo_runs. */
    .equ STRIDE, 4             /* tmo_conv_ref.c asserts the offsets of the fields. */
    .equ COUNT, 6
    .equ PARTS, 8
    .equ NEXT_AT, 10
    .equ NEXT_OFFSET, 12
    .equ NEXT_ROW, 16
    .equ OFFSET, 20
    .equ BYTES, 24
    .equ ROW, 32
    .equ FILTER, 36
    .equ ZERO_POINT, 40

/* The following numbers are offsets in the stack frame. */
    .equ PART_AT, 0         /* list entry of the first run in the current part of the window */
    .equ PART_WEIGHTS, 4
    .equ PART_OFFSET, 8
    .equ PARTS_LEFT, 12
    .equ AT, 16             /* list entry of the next run */
    .equ WEIGHTS, 20
    .equ RUNS_LEFT, 24
    .equ RUNS, 28           /* the function's arguments */
    .equ CHANNELS, 32
    .equ TOTALS, 36
    .equ FIRST_WEIGHTS, 40  /* weights of the next channels */
    .equ FRAME, 44

.macro FOUR_OF sum, address:vararg
    ldr   r11, \address
    sxtb16 r12, r11
    smlad \sum, r9, r12, \sum
    sxtb16 r12, r11, ror #8
    smlad \sum, r10, r12, \sum
.endm

.macro ONE_OF sum, address:vararg
    ldrsb r11, \address
    mla   \sum, r9, r11, \sum
.endm

/* Multiplies the next `bytes` bytes of values by the weights of `channels` channels. */
.macro MULTIPLY of, channels, bytes
  .if \bytes == 4
    ldr   r10, [r0], #4
    sxtab16 r9, r8, r10
    sxtab16 r10, r8, r10, ror #8
  .else
    ldrsb r9, [r0], #1
    sxtah r9, r9, r8
  .endif
  .if \channels > 1
    \of   r5, [r1, r2]
  .endif
  .if \channels > 2
    \of   r6, [r1, r2, lsl #1]
  .endif
  .if \channels > 3
    \of   r7, [r1, r3]
  .endif
    \of   r4, [r1], #\bytes
.endm

/* Adds the products of all runs of values to the sums of `channels` channels. */
.macro SUMS channels
    ldr   r9, [sp, #RUNS]
    ldr   r0, [r9]
    ldr   r1, [sp, #FIRST_WEIGHTS]
    ldr   lr, [r9, #OFFSET]
    ldrh  r10, [r9, #PARTS]
    cmp   r10, #0
    beq   9f
1:  str   r10, [sp, #PARTS_LEFT]
    str   lr, [sp, #PART_OFFSET]
    strd  r0, r1, [sp, #PART_AT]
    ldrh  r10, [r9, #COUNT]
    cmp   r10, #0
    beq   8f
2:  str   r10, [sp, #RUNS_LEFT]
    ldrh  r11, [r9, #STRIDE]
    ldr   r12, [r9, #ROW]
    add   r11, r0, r11, lsl #2
    add   r12, r1, r12
    strd  r11, r12, [sp, #AT]
    ldr   r0, [r0]
    add   r0, r0, lr
    ldr   lr, [r9, #BYTES]
    subs  lr, lr, #8
    blt   4f
3:  MULTIPLY FOUR_OF, \channels, 4
    MULTIPLY FOUR_OF, \channels, 4
    subs  lr, lr, #8
    bge   3b
4:  lsls  r9, lr, #29           /* Bit 2 of lr is set if at least four values are left. */
    bpl   5f
    MULTIPLY FOUR_OF, \channels, 4
5:  ands  lr, lr, #3
    beq   7f
6:  MULTIPLY ONE_OF, \channels, 1
    subs  lr, lr, #1
    bne   6b
7:  ldr   r9, [sp, #RUNS]
    ldr   lr, [sp, #PART_OFFSET]
    ldrd  r0, r1, [sp, #AT]
    ldr   r10, [sp, #RUNS_LEFT]
    subs  r10, r10, #1
    bne   2b
8:  ldrd  r0, r1, [sp, #PART_AT]
    ldrh  r10, [r9, #NEXT_AT]
    ldr   r11, [r9, #NEXT_ROW]
    ldr   r12, [r9, #NEXT_OFFSET]
    add   r0, r0, r10, lsl #2
    add   r1, r1, r11
    add   lr, lr, r12
    ldr   r10, [sp, #PARTS_LEFT]
    subs  r10, r10, #1
    bne   1b
9:
.endm

    FUNCTION tmo_dsp_sums
    push  {r4-r11, lr}
    sub   sp, #FRAME
    strd  r0, r2, [sp, #RUNS]
    strd  r3, r1, [sp, #TOTALS]
    ldr   r8, [r0, #ZERO_POINT]
    rsb   r8, r8, #0
    pkhbt r8, r8, r8, lsl #16
    ldr   r2, [r0, #FILTER]
    add   r3, r2, r2, lsl #1
    b     20f
10: ldr   r12, [sp, #TOTALS]
    ldmia r12, {r4-r7}
    SUMS  4
    ldrd  r12, r1, [sp, #TOTALS]
    stmia r12!, {r4-r7}
    add   r1, r1, r2, lsl #2
    strd  r12, r1, [sp, #TOTALS]
20: ldr   r12, [sp, #CHANNELS]
    subs  r12, r12, #4
    str   r12, [sp, #CHANNELS]
    bge   10b
    adds  r12, r12, #4
    beq   40f
30: str   r12, [sp, #CHANNELS]
    ldr   r12, [sp, #TOTALS]
    ldr   r4, [r12]
    SUMS  1
    ldrd  r12, r1, [sp, #TOTALS]
    str   r4, [r12], #4
    add   r1, r1, r2
    strd  r12, r1, [sp, #TOTALS]
    ldr   r12, [sp, #CHANNELS]
    subs  r12, r12, #1
    bne   30b
40: add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_sums, . - tmo_dsp_sums

/* The following numbers are offsets of fields in tmo_dsp_job. */
    .equ JOB_X, 0
    .equ JOB_BYTES, 4
    .equ JOB_WEIGHTS, 8
    .equ JOB_FILTER, 12
    .equ JOB_BIAS, 16
    .equ JOB_GROUPS, 20
    .equ JOB_MULTIPLIERS, 24
    .equ JOB_SHIFTS, 28
    .equ JOB_OUT, 32
    .equ JOB_ZERO_IN, 40
    .equ JOB_EACH, 44

/* Scales a sum and stores the output. Registers r0 and r9 point to the next multiplier and shift, and lr points to the next output. Register r3 holds
 * twice the output's zero point, plus 1. The macro changes r10, r11 and r12. */
.macro OUTPUT sum
    ldr   r10, [r0], #4
    ldrsb r11, [r9], #1
    lsl   r10, r10, #1
    mvns  r11, r11
    bmi   5f
    and   r12, \sum, r10, asr #31
    smmlar \sum, \sum, r10, r12
    add   \sum, \sum, \sum, asr #31
    asr   \sum, \sum, r11
    qadd  \sum, \sum, r3
    ssat  \sum, #8, \sum, asr #1
6:  strb  \sum, [lr], #1
    .subsection 1
5:  mvn   r11, r11              /* The code for a shift to the left is separate, because this shift is rare. */
    lsl   \sum, \sum, r11
    and   r12, \sum, r10, asr #31
    smmlar \sum, \sum, r10, r12
    add   \sum, \sum, r3, asr #1
    ssat  \sum, #8, \sum
    b     6b
    .previous
.endm

/* The following numbers are offsets in the stack frame of tmo_dsp_few(). */
    .equ RUN_WEIGHTS, 0     /* weights of the current run */
    .equ FIRST_OF_PART, 4   /* weights of the first run in the current part of the window */
    .equ LEFT_PARTS, 8
    .equ OFFSET_OF_PART, 12
    .equ SUMS_OF_FEW, 16
    .equ JOB_OF_FEW, 28     /* the function's arguments */
    .equ RUNS_OF_FEW, 32

/* Adds the products of all runs of values to the sums of one to three channels. Register r3 points to the list entry of the next run, and r7 is the
 * end of the list. Register r9 points to the tmo_runs, and r10 is the number of parts. */
.macro SUMS_OF channels
1:  strd  r1, r10, [sp, #FIRST_OF_PART]
    ldr   r3, [r9]
    ldrh  r7, [r9, #COUNT]
    add   r7, r3, r7, lsl #2
    cmp   r3, r7
    beq   8f
2:  ldr   r0, [r3], #4
    ldr   r12, [sp, #OFFSET_OF_PART]
    ldr   lr, [r9, #BYTES]
    str   r1, [sp, #RUN_WEIGHTS]
    add   r0, r0, r12
    subs  lr, lr, #4
    blt   4f
3:  MULTIPLY FOUR_OF, \channels, 4
    subs  lr, lr, #4
    bge   3b
4:  adds  lr, lr, #4
    beq   6f
5:  MULTIPLY ONE_OF, \channels, 1
    subs  lr, lr, #1
    bne   5b
6:  ldr   r9, [sp, #RUNS_OF_FEW]
    cmp   r3, r7
    beq   8f
    ldr   r1, [sp, #RUN_WEIGHTS]
    ldr   r10, [r9, #ROW]
    add   r1, r1, r10
    b     2b
8:  ldrd  r1, r10, [sp, #FIRST_OF_PART]
    subs  r10, r10, #1
    beq   20f
    ldrd  r11, r12, [r9, #NEXT_OFFSET]
    ldr   lr, [sp, #OFFSET_OF_PART]
    add   r1, r1, r12
    add   lr, lr, r11
    str   lr, [sp, #OFFSET_OF_PART]
    b     1b
.endm

/* Stores the outputs of one to three channels. The stack frame has room for three sums at the offset `sums`, and the address of the tmo_dsp_job at the
 * offset `job`. */
.macro FEW_OUTPUTS sums, job
    add   r1, sp, #\sums
    stmia r1, {r4-r6}
    ldr   r4, [sp, #\job]
    ldrd  r0, r9, [r4, #JOB_MULTIPLIERS]
    ldrd  lr, r3, [r4, #JOB_OUT]
    ldr   r5, [r4, #JOB_GROUPS]
30: ldr   r4, [r1], #4
    OUTPUT r4
    subs  r5, r5, #1
    bne   30b
.endm

/* tmo_dsp_few() computes the outputs of one to three channels. */
    FUNCTION tmo_dsp_few
    push  {r0, r1, r4-r11, lr}
    sub   sp, #JOB_OF_FEW
    mov   r9, r1
    ldr   r8, [r0, #JOB_ZERO_IN]
    ldrd  r12, r7, [r0, #JOB_BIAS]
    ldrd  r1, r2, [r0, #JOB_WEIGHTS]
    ldrh  r10, [r9, #PARTS]
    ldr   lr, [r9, #OFFSET]
    rsb   r8, r8, #0
    pkhbt r8, r8, r8, lsl #16
    ldr   r4, [r12]
    str   lr, [sp, #OFFSET_OF_PART]
    cmp   r7, #2
    blt   11f
    ldr   r5, [r12, #4]
    beq   12f
    ldr   r6, [r12, #8]
    cmp   r10, #0
    beq   20f
    SUMS_OF 3
12: cmp   r10, #0
    beq   20f
    SUMS_OF 2
11: cmp   r10, #0
    beq   20f
    SUMS_OF 1
20: FEW_OUTPUTS SUMS_OF_FEW, JOB_OF_FEW
    add   sp, #JOB_OF_FEW + 8
    pop   {r4-r11, pc}
    .size tmo_dsp_few, . - tmo_dsp_few

/* Stores the outputs of four channels. Register r12 points to the tmo_dsp_job. The macro sets the flag Z if these four channels are the last ones. */
.macro OUTPUTS
    ldrd  r0, r9, [r12, #JOB_MULTIPLIERS]
    ldrd  lr, r3, [r12, #JOB_OUT]
    OUTPUT r4
    OUTPUT r5
    OUTPUT r6
    OUTPUT r7
    ldr   r12, [sp]
    ldr   r10, [r12, #JOB_EACH]
    cmp   r10, #0
    it    ne
    strdne r0, r9, [r12, #JOB_MULTIPLIERS]
    str   lr, [r12, #JOB_OUT]
    ldr   r10, [r12, #JOB_GROUPS]
    subs  r10, r10, #1
    str   r10, [r12, #JOB_GROUPS]
.endm

    FUNCTION tmo_dsp_outputs
    push  {r0, r4-r11, lr}
    mov   r12, r0
    ldr   r8, [r12, #JOB_ZERO_IN]
    rsb   r8, r8, #0
    pkhbt r8, r8, r8, lsl #16
    ldrd  r1, r2, [r12, #JOB_WEIGHTS]
1:  ldr   lr, [r12, #JOB_BIAS]
    ldmia lr!, {r4-r7}
    str   lr, [r12, #JOB_BIAS]
    add   r3, r2, r2, lsl #1
    ldrd  r0, lr, [r12, #JOB_X]
    subs  lr, lr, #8
    blt   3f
2:  MULTIPLY FOUR_OF, 4, 4
    MULTIPLY FOUR_OF, 4, 4
    subs  lr, lr, #8
    bge   2b
3:  lsls  r9, lr, #29
    bpl   4f
    MULTIPLY FOUR_OF, 4, 4
4:  ands  lr, lr, #3
    beq   8f
7:  MULTIPLY ONE_OF, 4, 1
    subs  lr, lr, #1
    bne   7b
8:  ldr   r12, [sp]
    ldr   lr, [r12, #JOB_BYTES]
    sub   r1, r1, lr
    add   r1, r1, r2, lsl #2
    OUTPUTS
    bne   1b
    pop   {r0, r4-r11, pc}
    .size tmo_dsp_outputs, . - tmo_dsp_outputs

/* The following numbers are offsets of the fields that follow the tmo_dsp_job in a tmo_dsp_window_job. */
    .equ JOB_TAPS, 48
    .equ JOB_ROWS, 52
    .equ JOB_COLUMNS, 56
    .equ JOB_SKIPPED, 60
    .equ JOB_OFFSET, 64
    .equ JOB_APART, 68

    .equ JOB_OF_TAPS, 12       /* offset in the stack frame of tmo_dsp_few_taps(); the frame begins with three sums */

/* Adds the products of all taps to the sums of one to three channels. Register r0 points to the next tap, and r1 to its weights. Register r3 is the
 * distance between taps, and r7 points to the list entry of the next row of taps. Register r8 is the zero point, r10 is the number of rows that are
 * left, and r12 is the number of taps that are left in the row. Register lr points to the job. */
.macro TAPS_OF channels
1:  subs  r10, r10, #1
    blt   20f
    ldr   r0, [r7], #4
    ldr   r9, [lr, #JOB_OFFSET]
    ldr   r12, [lr, #JOB_COLUMNS]
    add   r0, r0, r9
2:
  .if \channels > 1
    ldrsb r9, [r0, #1]
    ldrsb r11, [r1, #1]
    sub   r9, r9, r8
    mla   r5, r9, r11, r5
  .endif
  .if \channels > 2
    ldrsb r9, [r0, #2]
    ldrsb r11, [r1, #2]
    sub   r9, r9, r8
    mla   r6, r9, r11, r6
  .endif
    ldrsb r9, [r0]
    ldrsb r11, [r1], #\channels
    sub   r9, r9, r8
    add   r0, r0, r3
    mla   r4, r9, r11, r4
    subs  r12, r12, #1
    bne   2b
    ldr   r9, [lr, #JOB_SKIPPED]
    add   r1, r1, r9
    b     1b
.endm

/* tmo_dsp_few_taps() computes the outputs of one to three channels, each from another input channel. */
    FUNCTION tmo_dsp_few_taps
    push  {r0, r4-r11, lr}
    sub   sp, #JOB_OF_TAPS
    mov   lr, r0
    ldr   r1, [r0, #JOB_WEIGHTS]
    ldr   r3, [r0, #JOB_APART]
    ldr   r8, [r0, #JOB_ZERO_IN]
    ldrd  r9, r2, [r0, #JOB_BIAS]
    ldrd  r7, r10, [r0, #JOB_TAPS]
    ldr   r4, [r9]
    cmp   r2, #2
    blt   11f
    ldr   r5, [r9, #4]
    beq   12f
    ldr   r6, [r9, #8]
    TAPS_OF 3
12: TAPS_OF 2
11: TAPS_OF 1
20: FEW_OUTPUTS 0, JOB_OF_TAPS
    add   sp, #JOB_OF_TAPS + 4
    pop   {r4-r11, pc}
    .size tmo_dsp_few_taps, . - tmo_dsp_few_taps

/* Multiplies the tap in register r10 by the next weights of four output channels. If `repeated` is 0, the tap has four channels, one for each output
 * channel. If `repeated` is 1, the tap has one channel for all four output channels. */
.macro TAP repeated
    ldr   r11, [r1]
    add   r1, r1, r2
  .if \repeated
    sxtah r12, r8, r10
  .else
    sxtab16 r12, r8, r10
    sxtab16 r10, r8, r10, ror #8
  .endif
    sxtb16 r9, r11
    sxtb16 r11, r11, ror #8
    smlabb r4, r12, r9, r4
  .if \repeated
    smlabb r5, r12, r11, r5
    smlabt r6, r12, r9, r6
    smlabt r7, r12, r11, r7
  .else
    smlabb r5, r10, r11, r5
    smlatt r6, r12, r9, r6
    smlatt r7, r10, r11, r7
  .endif
.endm

/* Loads the values of a tap into register r10. */
.macro LOAD_TAP repeated, address:vararg
  .if \repeated
    ldrsb r10, \address
  .else
    ldr   r10, \address
  .endif
.endm

/* Multiplies the next tap, whose address is in a list, by the next weights. */
.macro TAP_AT repeated
    ldr   r10, [r0], #4
    LOAD_TAP \repeated, [r10, r3]
    TAP   \repeated
.endm

/* tmo_dsp_window_outputs() and tmo_dsp_repeated_outputs() compute the outputs of a window of taps, four channels at once. Register r1 points to the
 * weights of the next tap, and r2 is the distance to the weights after them. If the addresses of all taps are listed, r0 points to the list, and r3
 * is the distance from a tap to its channels. If the taps of a row are equally far apart, r0 points to the next tap, and r3 is the distance between
 * taps. */
.macro WINDOW_OUTPUTS name, repeated
    FUNCTION \name
    push  {r0, r1, r2, r4-r11, lr}
    mov   r12, r0
    ldr   r8, [r12, #JOB_ZERO_IN]
    rsb   r8, r8, #0
    pkhbt r8, r8, r8, lsl #16
1:  ldr   lr, [r12, #JOB_BIAS]
    ldmia lr!, {r4-r7}
    str   lr, [r12, #JOB_BIAS]
    ldrd  r1, r2, [r12, #JOB_WEIGHTS]
    ldrd  r0, r10, [r12, #JOB_TAPS]
    cmp   r10, #0
    beq   8f
    ldr   r3, [r12, #JOB_APART]
    cmp   r3, #0
    bne   4f
    ldr   r3, [r12, #JOB_OFFSET]
2:  str   r10, [sp, #4]
    ldr   lr, [r12, #JOB_COLUMNS]
    lsrs  lr, lr, #1
    bcc   3f
    TAP_AT \repeated
    beq   5f
3:  TAP_AT \repeated
    TAP_AT \repeated
    subs  lr, lr, #1
    bne   3b
5:  ldrd  r12, r10, [sp]
    subs  r10, r10, #1
    beq   8f
    ldr   r9, [r12, #JOB_SKIPPED]
    add   r1, r1, r9
    b     2b
4:  strd  r10, r0, [sp, #4]
    ldr   r0, [r0]
    ldr   r9, [r12, #JOB_OFFSET]
    add   r0, r0, r9
    ldr   lr, [r12, #JOB_COLUMNS]
7:  LOAD_TAP \repeated, [r0]
    add   r0, r0, r3
    TAP   \repeated
    subs  lr, lr, #1
    bne   7b
    ldr   r12, [sp]
    ldr   r9, [r12, #JOB_SKIPPED]
    add   r1, r1, r9
    ldrd  r10, r0, [sp, #4]
    add   r0, r0, #4
    subs  r10, r10, #1
    bne   4b
8:  ldr   r10, [r12, #JOB_WEIGHTS]
    add   r10, r10, #4
    str   r10, [r12, #JOB_WEIGHTS]
  .if \repeated == 0
    ldr   r10, [r12, #JOB_OFFSET]
    add   r10, r10, #4
    str   r10, [r12, #JOB_OFFSET]
  .endif
    OUTPUTS
    bne   1b
    pop   {r0, r1, r2, r4-r11, pc}
    .size \name, . - \name
.endm

    WINDOW_OUTPUTS tmo_dsp_window_outputs, 0
    WINDOW_OUTPUTS tmo_dsp_repeated_outputs, 1

#endif
