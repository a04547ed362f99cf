/* SPDX-License-Identifier: Apache-2.0 */
/* This header has assembly macros that load the constants of depthwise convolutions with 3x3 kernels. A file that includes this header defines the
 * offsets RECORD, WEIGHTS and THIRD. */
#ifndef TMO_RECORDS_H_
#define TMO_RECORDS_H_

/* Stores the weights of the kernel's first two rows for one channel. The registers `first` and `second` have the weights of taps 0 and 1. One half of
 * `low` and one half of `high` have the weights of tap 2. */
.macro TWO_ROWS channel, first, second, low, high
    pkhbt lr, \first, \second, lsl #16
    str   lr, [sp, #\channel * RECORD + WEIGHTS]
    pkhtb lr, \second, \first, asr #16
    str   lr, [sp, #\channel * RECORD + WEIGHTS + 4]
  .if \channel < 2
    pkhbt lr, \low, \high, lsl #16
  .else
    pkhtb lr, \high, \low, asr #16
  .endif
    str   lr, [sp, #\channel * RECORD + WEIGHTS + 8]
.endm

/* Copies the biases and weights of four channels from the address in r12 to the four records at sp. */
.macro LOAD_RECORDS
    ldmia r12!, {r0-r3}
    str   r0, [sp]
    str   r1, [sp, #RECORD]
    str   r2, [sp, #2 * RECORD]
    str   r3, [sp, #3 * RECORD]
    ldmia r12!, {r0-r5}       /* a row has weights 0 and 1 of each channel, then weight 2 of channels 0 and 2, then weight 2 of channels 1 and 3 */
    ldmia r12!, {r6-r11}
    TWO_ROWS 0, r0, r6, r4, r10
    TWO_ROWS 1, r1, r7, r5, r11
    TWO_ROWS 2, r2, r8, r4, r10
    TWO_ROWS 3, r3, r9, r5, r11
    ldmia r12!, {r0-r5}
    lsrs  r6, r0, #16
    pkhbt r6, r6, r4, lsl #16
    lsrs  r7, r1, #16
    pkhbt r7, r7, r5, lsl #16
    pkhtb r4, r4, r2, asr #16
    pkhtb r5, r5, r3, asr #16
    str   r0, [sp, #THIRD]
    str   r6, [sp, #THIRD + 4]
    str   r1, [sp, #RECORD + THIRD]
    str   r7, [sp, #RECORD + THIRD + 4]
    str   r2, [sp, #2 * RECORD + THIRD]
    str   r4, [sp, #2 * RECORD + THIRD + 4]
    str   r3, [sp, #3 * RECORD + THIRD]
    str   r5, [sp, #3 * RECORD + THIRD + 4]
.endm

#endif
