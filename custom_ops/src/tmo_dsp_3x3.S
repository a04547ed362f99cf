/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_dsp_3x3() of tmo/packed.h computes packed depthwise convolutions with 3x3 taps and stride 1.
 *
 * The function computes four channels of all output pixels, and then the next four channels. A block has eight columns of three input rows, and gives
 * six adjacent outputs. The function first converts the bytes of a block to int16, and stores them on the stack in a record for each channel. A word
 * of a record holds two values: one column of the first two rows, or two columns of the third row. The six outputs of a channel share one load of the
 * weights and values.
 *
 * A record begins with the bias, three words of weights for the first two rows, and twelve words of values. Two words hold the weights of the third
 * row: weights 0 and 1, and weights 1 and 2. A record ends with m2, c and e, the constants of the scale. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"
#include "tmo/records.h"

    .equ WEIGHTS, 4   /* offset in a record of the weights for the first two rows */
    .equ VALUES, 16
    .equ THIRD, 64    /* offset in a record of the weights for the third row */
    .equ SCALES, 72   /* offset in a record of m2, c and e */
    .equ RECORD, 84
    .equ RECORDS, 4 * RECORD

    .equ NEXT, RECORDS            /* address of the next constants */
    .equ CHANNELS, RECORDS + 4
    .equ RUNS, RECORDS + 8
    .equ END, RECORDS + 12        /* end of the array `runs` */
    .equ CHANNEL, RECORDS + 16    /* index of the first of the four channels */
    .equ BLOCKS, RECORDS + 20     /* number of blocks that are left in the current element of `runs` */
    .equ ENTRY, RECORDS + 24      /* address of the code that scales the last output of a block */
    .equ ADVANCE, RECORDS + 28    /* distance in bytes between two adjacent blocks */
    .equ LAST, RECORDS + 32       /* address of the output of the block's last pixel */
    .equ LIST, RECORDS + 36       /* address of the list with the columns' addresses */
    .equ OFFSET, RECORDS + 40     /* distance in bytes from the listed addresses to the current block */
    .equ FRAME, RECORDS + 44

    .equ COLUMNS_BYTES, 96        /* a list of columns has 24 addresses */

/* Loads the bytes of four channels of the next four columns. */
.macro LOAD_FOUR
    ldmia lr!, {r0-r3}
    ldr   r0, [r0, r10]
    ldr   r1, [r1, r10]
    ldr   r2, [r2, r10]
    ldr   r3, [r3, r10]
.endm

/* Stores four channels of two values to the records: of two columns, or of one column in two rows. If `more` is 1, the macro loads the next columns
 * before its last stores, because a load waits for a store. */
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

/* Adds the products of the third row to the sums of two adjacent outputs. Register r5 holds weights 0 and 1 of the row, and r6 holds weights 1
 * and 2. */
.macro THIRD_ROW even, odd, low, high
    smlad \even, \low, r5, \even
    smlabt \even, \high, r6, \even
    smlatb \odd, \low, r5, \odd
    smlad \odd, \high, r6, \odd
.endm

/* Adds the products of the first two rows to the sum of one output. Registers r1 to r3 hold the weights. */
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

/* Scales a sum and stores the output at the address in r4. Registers r1 to r3 hold m2, c and e. Register r5 is the distance in bytes between adjacent
 * pixels. All instructions have 32 bits, so that the function can compute where the code for an output begins. */
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
2:  ldmia lr!, {r0, r1, r4}   /* An element of `runs` begins with the number of blocks, the number of outputs of a block, and an address. */
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
3:  strd  lr, r10, [sp, #LIST] /* computes the next block */
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
    mov.w r12, sp             /* The instruction has 32 bits, so that the following loop is aligned. */
4:  ldmia r12!, {r0-r7}       /* loads the bias, the weights and columns 0 to 3 of a channel */
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
    ldrd  r7, r8, [sp, #ADVANCE] /* loads LAST into register r8 */
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
    movgt r5, r4              /* the last four channels may overlap the four channels before them */
    b     1b
7:  add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_3x3, . - tmo_dsp_3x3

#endif
