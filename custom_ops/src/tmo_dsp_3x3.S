/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_dsp_3x3() of tmo/packed.h computes packed depthwise convolutions of 3x3 taps with stride 1, with the same bits as its twin in C.
 *
 * It computes four channels of all pixels before the next four. Each block has eight columns of three rows, from which six adjacent outputs are
 * computed. First, the block is transposed. The bytes of each channel go to the channel's record on the stack, as int16. A word has a column's values
 * in the first two rows, or two columns of the third row. Then, in each channel, one load of weights and values serves six outputs.
 *
 * A record has the bias, three words of weights of the first two rows, and twelve words of values. Two words with w0 and w1, and with w1 and w2 of
 * the third row follow, and then m2, c and e. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"
#include "tmo/records.h"

    .equ WEIGHTS, 4   /* offset in a record of the weights of the first two rows */
    .equ VALUES, 16
    .equ THIRD, 64    /* offset in a record of the weights of the third row */
    .equ SCALES, 72   /* offset of m2, c and e */
    .equ RECORD, 84
    .equ RECORDS, 4 * RECORD

    .equ NEXT, RECORDS            /* next constants */
    .equ CHANNELS, RECORDS + 4
    .equ RUNS, RECORDS + 8
    .equ END, RECORDS + 12        /* end of the runs */
    .equ CHANNEL, RECORDS + 16    /* first of the four channels */
    .equ BLOCKS, RECORDS + 20     /* number of blocks left in the run */
    .equ ENTRY, RECORDS + 24      /* address of the code that scales the block's last output */
    .equ ADVANCE, RECORDS + 28    /* bytes from block to block */
    .equ LAST, RECORDS + 32       /* output of the block's last pixel */
    .equ LIST, RECORDS + 36       /* addresses of the columns */
    .equ OFFSET, RECORDS + 40     /* bytes from these addresses to the block */
    .equ FRAME, RECORDS + 44

    .equ COLUMNS_BYTES, 96        /* 24 addresses */

/* Loads the next four columns, with four channels each. */
.macro LOAD_FOUR
    ldmia lr!, {r0-r3}
    ldr   r0, [r0, r10]
    ldr   r1, [r1, r10]
    ldr   r2, [r2, r10]
    ldr   r3, [r3, r10]
.endm

/* Stores two columns of four channels, or two rows of one column, into the records. With `more`, it loads the next columns before it stores the last
 * words, since a load waits for a store. */
.macro TWO_COLUMNS first, second, at, more=0
    pkhbt r4, \first, \second, lsl #16
    pkhtb r5, \second, \first, asr #16
    sxtb16 r6, r4
    sxtb16 r7, r5
    str   r6, [r11, #\at]
    str   r7, [r11, #2 * RECORD + \at]
    sxtb16 r4, r4, ror #8
    sxtb16 r5, r5, ror #8
  .if \more
    LOAD_FOUR
  .endif
    str   r4, [r11, #RECORD + \at]
    str   r5, [r11, #3 * RECORD + \at]
.endm

/* Adds the third row to two adjacent outputs. r5 has w0 and w1, and r6 has w1 and w2. */
.macro THIRD_ROW even, odd, low, high
    smlad \even, \low, r5, \even
    smlabt \even, \high, r6, \even
    smlatb \odd, \low, r5, \odd
    smlad \odd, \high, r6, \odd
.endm

/* Multiplies three words of values in the first two rows for an output. r1 to r3 have the weights. */
.macro COLUMNS sum, first, second, third
    smlad \sum, \first, r1, r0
    smlad \sum, \second, r2, \sum
    smlad \sum, \third, r3, \sum
.endm

.macro STORE_SCALES channel, first, second, third
    str   \first, [sp, #\channel * RECORD + SCALES]
    str   \second, [sp, #\channel * RECORD + SCALES + 4]
    str   \third, [sp, #\channel * RECORD + SCALES + 8]
.endm

/* Scales a sum and stores it as an output. r1 to r3 have m2, c and e, r4 has the output's address, and r5 the bytes between pixels. All instructions
 * have 32 bits. */
    .equ OUTPUT_BYTES, 28
.macro OUTPUT sum
    SCALE_BY r1, r2, r3, \sum, r7, .w
    strb.w \sum, [r4]
    sub.w r4, r4, r5
.endm

    FUNCTION tmo_dsp_3x3
    push  {r4-r11, lr}
    sub   sp, #FRAME
    strd  r0, r1, [sp, #RUNS]
    strd  r2, r3, [sp, #NEXT]
    mov   r5, #0
1:  str   r5, [sp, #CHANNEL]  /* copies the constants of the next four channels to the records */
    ldr   r12, [sp, #NEXT]
    LOAD_RECORDS
    ldmia r12!, {r0-r5}
    STORE_SCALES 0, r0, r1, r2
    STORE_SCALES 1, r3, r4, r5
    ldmia r12!, {r0-r5}
    STORE_SCALES 2, r0, r1, r2
    STORE_SCALES 3, r3, r4, r5
    str   r12, [sp, #NEXT]
    ldr   lr, [sp, #RUNS]
2:  ldmia lr!, {r0, r1, r4}   /* loads the next run: its blocks, their outputs, and the first output */
    ldr   r6, [sp, #CHANNELS]
    ldr   r10, [sp, #CHANNEL]
    rsb   r2, r1, #6
    mov   r3, #OUTPUT_BYTES
    adr   r5, 5f
    mla   r5, r2, r3, r5
    orr   r5, r5, #1
    mul   r7, r1, r6
    sub   r8, r7, r6
    add   r4, r4, r10
    add   r8, r8, r4
    str   r0, [sp, #BLOCKS]
    strd  r5, r7, [sp, #ENTRY]
    str   r8, [sp, #LAST]
    .balign 4
3:  strd  lr, r10, [sp, #LIST] /* the next block */
    add   r11, sp, #VALUES
    add   r9, sp, #THIRD
6:  LOAD_FOUR
    TWO_COLUMNS r0, r1, 0
    TWO_COLUMNS r2, r3, 4, 1
    TWO_COLUMNS r0, r1, 8
    TWO_COLUMNS r2, r3, 12
    adds  r11, r11, #16
    cmp   r11, r9
    bne   6b
    mov.w r12, sp             /* this instruction has 32 bits so that the loop is aligned */
4:  ldmia r12!, {r0-r7}       /* loads the next channel: bias, weights, and columns 0 to 3 */
    COLUMNS r8, r4, r5, r6
    COLUMNS r9, r5, r6, r7
    smlad r10, r6, r1, r0
    smlad r10, r7, r2, r10
    smlad r11, r7, r1, r0
    ldmia r12!, {r4-r7}       /* loads columns 4 to 7 */
    smlad r10, r4, r3, r10
    smlad r11, r4, r2, r11
    smlad r11, r5, r3, r11
    COLUMNS lr, r4, r5, r6
    COLUMNS r0, r5, r6, r7
    ldmia r12!, {r1-r6}
    THIRD_ROW r8, r9, r1, r2
    THIRD_ROW r10, r11, r2, r3
    THIRD_ROW lr, r0, r3, r4
    ldr   r4, [sp, #LAST]
    ldr   r5, [sp, #CHANNELS]
    ldr   r6, [sp, #ENTRY]
    ldmia r12!, {r1, r2, r3}
    adds  r7, r4, #1
    str   r7, [sp, #LAST]
    bx    r6
    .balign 4
5:  OUTPUT r0
    OUTPUT lr
    OUTPUT r11
    OUTPUT r10
    OUTPUT r9
    OUTPUT r8
    add   r3, sp, #RECORDS
    cmp   r12, r3
    bne   4b
    ldrd  r7, r8, [sp, #ADVANCE] /* r8: LAST */
    ldrd  lr, r10, [sp, #LIST]
    ldr   r0, [sp, #BLOCKS]
    add   r10, r10, r7
    sub   r7, r7, #4
    add   r8, r8, r7
    subs  r0, r0, #1
    str   r0, [sp, #BLOCKS]
    str   r8, [sp, #LAST]
    bne   3b
    ldr   r4, [sp, #END]
    add   lr, lr, #COLUMNS_BYTES
    cmp   lr, r4
    bne   2b
    ldr   r4, [sp, #CHANNELS]
    ldr   r5, [sp, #CHANNEL]
    sub   r4, r4, #4
    cmp   r5, r4
    beq   7f
    add   r5, r5, #4
    cmp   r5, r4
    it    gt
    movgt r5, r4              /* the last four channels overlap the channels before them */
    b     1b
7:  add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_3x3, . - tmo_dsp_3x3

#endif
