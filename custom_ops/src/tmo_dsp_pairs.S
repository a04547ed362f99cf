/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_dsp_pairs_2() to tmo_dsp_pairs_5() and tmo_dsp_pairs_rows() of tmo/packed.h compute packed convolutions on Armv7E-M's DSP extension, with the
 * same bits as their twins in C.
 *
 * Two output channels form a pair. A word of weights has 256 * B + A for each of two values, where A is a weight of the first channel, and B is a
 * weight of the second channel. SXTB16 extracts A for both values, and SMLAD multiplies both values by A. Another SMLAD multiplies both values by
 * 256 * B + A, without unpacking the word. The sum of B is the difference of the two sums, divided by 256. All pixels share the load and the SXTB16
 * of a word.
 *
 * Registers r0 to r3 hold the sum of A for each pixel, and later the first channel's outputs. Registers r4 to r7 hold the sum of 256 * B + A for
 * each pixel, and later the second channel's outputs. Registers r10 and r11 hold weights. The remaining registers up to r9 hold values. Register r12
 * points to the next weights, and lr points to the next values. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"

/* The symbols END to WEIGHTS_END are offsets in the stack frame. Nine saved registers follow the frame, and the arguments on the stack follow the
 * registers. */
    .equ END, 0       /* end of the first pixels' values in the tile */
    .equ SECOND_END, 4 /* end of the other pixels' values, if there are other pixels */
    .equ SCALES, 8
    .equ OUT, 12
    .equ TILE, 16
    .equ WEIGHTS_END, 20
    .equ FRAME, 28
    .equ VALUES, FRAME + 36
    .equ PAIRS, FRAME + 40
    .equ SECOND, FRAME + 44 /* number of bytes from the outputs of the first pixel to the outputs of the second pixel */
    .equ THIRD, FRAME + 48
    .equ FOURTH, FRAME + 52
    .equ STEP, SECOND /* number of bytes between adjacent pixels, if all distances are equal */

/* Adds the products of two values to the sums `a` and `b` of a pixel. The register `word` has 256 * B + A, and r11 has A. */
.macro PIXEL value, word, a, b
    smlad \a, r11, \value, \a
    smlad \b, \word, \value, \b
.endm

/* Adds the products of two values to the sums of three pixels. The macro replaces 256 * B + A in `word` by A. */
.macro THREE_PIXELS word
    smlad r4, \word, r7, r4
    smlad r5, \word, r8, r5
    smlad r6, \word, r9, r6
    sxtb16 \word, \word
    smlad r0, \word, r7, r0
    smlad r1, \word, r8, r1
    smlad r2, \word, r9, r2
.endm

/* Adds the products of two values to the sums of two pixels. The macro replaces 256 * B + A in `word` by A. */
.macro TWO_PIXELS word, first, second
    smlad r4, \word, \first, r4
    smlad r5, \word, \second, r5
    sxtb16 \word, \word
    smlad r0, \word, \first, r0
    smlad r1, \word, \second, r1
.endm

/* Adds the products of two values to the sums of four pixels. If the argument `end` is given, the macro also compares the address of the next values
 * with the end of the tile. The load of the end takes a single cycle, because it is next to other loads. */
.macro FOUR_PIXELS values_on, weights_on, second, third, first=0, weights=0, end
  .if \values_on
    ldr.w r8, [lr], #\values_on
    ldr.w r10, [r12], #\weights_on
  .else
    ldr.w r8, [lr, #\first]
    ldr.w r10, [r12, #\weights]
  .endif
    ldr.w r9, [lr, #\second]
  .ifnb \end
    ldr.w r11, [sp, #\end]
    cmp.w lr, r11
  .endif
    sxtb16 r11, r10
    PIXEL r8, r10, r0, r4
    PIXEL r9, r10, r1, r5
    ldrd  r8, r9, [lr, #\third]
    PIXEL r8, r10, r2, r6
    PIXEL r9, r10, r3, r7
.endm

/* Adds the products of eight values to the sums of all pixels. The macro makes adjacent as many loads as registers are free, because the core
 * pipelines adjacent loads. The first loads advance the addresses. */
.macro EIGHT_OF pixels, end
  .if \pixels == 2
   .rept 2
    ldr.w r10, [r12], #8
    ldr.w r6, [lr], #16
    ldr.w r11, [r12, #-4]
    ldr.w r7, [lr, #-12]
    ldr.w r8, [lr, #-8]
    ldr.w r9, [lr, #-4]
    TWO_PIXELS r10, r6, r7
    TWO_PIXELS r11, r8, r9
   .endr
  .elseif \pixels == 3
   .rept 2
    ldr.w r10, [r12], #8
    ldr.w r7, [lr], #12
    ldr.w r11, [r12, #-4]
    ldr.w r8, [lr, #-8]
    ldr.w r9, [lr, #-4]
    THREE_PIXELS r10
    ldmia lr!, {r7-r9}
    THREE_PIXELS r11
   .endr
  .else
    FOUR_PIXELS 64, 16, -60, -56
    FOUR_PIXELS 0, 0, -44, -40, -48, -12
    FOUR_PIXELS 0, 0, -28, -24, -32, -8
    FOUR_PIXELS 0, 0, -12, -8, -16, -4, \end
  .endif
.endm

.macro SCALE_ALL pixels, first, second, third, fourth
  .if \pixels == 2
    ldmia r8!, {r2, r3, r7}   /* shifts by a low register have 16 bits */
    SCALE_BY r2, r3, r7, \first, lr
    SCALE_BY r2, r3, r7, \second, lr
  .else
    ldmia r8!, {r9, r10, r11}
    SCALE_BY r9, r10, r11, \first, lr
    SCALE_BY r9, r10, r11, \second, lr
    SCALE_BY r9, r10, r11, \third, lr
  .endif
  .if \pixels > 3
    SCALE_BY r9, r10, r11, \fourth, lr
  .endif
.endm

.macro B_OF all, low
    subs  \all, \all, \low
    asrs  \all, \all, #8
.endm

/* Computes the outputs of a pair for `pixels` pixels. Registers r0 and r4 hold the biases. The macro reads the beginning of the tile if `first` is
 * 1, and continues with the next values if `first` is 0. The frame has the end of the values at the offset `end`. An iteration of the loop
 * multiplies `eights` times eight values. */
.macro OUTPUTS_OF pixels, first, end, eights=2
    mov   r1, r0
    mov   r5, r4
  .if \pixels > 2
    mov   r2, r0
    mov   r6, r4
  .endif
  .if \pixels > 3
    mov   r3, r0
    mov   r7, r4
  .endif
  .if \first
    ldr   lr, [sp, #TILE]
  .endif
  .if \eights == 1
    ldr.w r3, [sp, #\end]     /* This instruction has 32 bits, so that the loop is aligned without a NOP. */
  .elseif \pixels < 4
    ldr   r3, [sp, #\end]
  .endif
  .if \eights == 1
    .balign 4
2:  EIGHT_OF \pixels
  .else
    ldr   r8, [sp, #VALUES]
    tst   r8, #8
   .if \pixels == 4
    bne.w 3f                  /* If the number of eights is odd, the code begins in the middle of the loop. */
   .else
    bne   3f
   .endif
    .balign 4                 /* The core does not pipeline a 32-bit load that lies in two words of code. */
2:  EIGHT_OF \pixels
3:  EIGHT_OF \pixels, \end
  .endif
  .if \pixels < 4
    cmp   lr, r3
  .endif
    bne   2b
    ldr   r8, [sp, #SCALES]
    B_OF  r4, r0
    B_OF  r5, r1
  .if \pixels > 2
    B_OF  r6, r2
  .endif
  .if \pixels > 3
    B_OF  r7, r3
  .endif
    SCALE_ALL \pixels, r0, r1, r2, r3
    SCALE_ALL \pixels, r4, r5, r6, r7
    bfi   r0, r4, #8, #8
    bfi   r1, r5, #8, #8
  .if \pixels > 2
    bfi   r2, r6, #8, #8
  .endif
  .if \pixels > 3
    bfi   r3, r7, #8, #8
  .endif
.endm

/* Computes and stores the outputs of a pair for `pixels` pixels. The argument `second` is 1 for the last two of five pixels, whose weights were just
 * used for the first three pixels. The argument `more` is not 0 for the first three of five pixels. The frame has the end of the pixels' values at
 * the offset `end`. The register `stop` is for the end of the weights. */
.macro GROUP pixels, second, more, end, stop
  .if \second
    ldr   r7, [sp, #VALUES]
    ldr   r8, [sp, #SCALES]
    ldr   lr, [sp, #END]
    sub   r12, r12, r7, lsl #1
    ldrd  r0, r4, [r8, #-8]
  .else
    ldmia r8!, {r0, r4}       /* Register r8 points to the pair's biases. The pair's scales follow the biases. */
    str   r8, [sp, #SCALES]
  .endif
    OUTPUTS_OF \pixels, (\second == 0), \end
    ldr   r4, [sp, #OUT]
    ldr   r5, [sp, #SECOND]
  .if \pixels > 2
    ldr   r7, [sp, #THIRD]
  .endif
  .if \pixels > 3
    ldr   r6, [sp, #FOURTH]
  .endif
  .if \more == 0
    ldr   \stop, [sp, #WEIGHTS_END]
  .endif
  .if \second
    add   r7, r5, r5, lsl #1
    adds  r7, r4, r7
    strh  r0, [r7]
    strh  r1, [r7, r5]
    adds  r4, #2
    str   r4, [sp, #OUT]
  .else
    strh  r1, [r4, r5]
   .if \pixels > 2
    strh  r2, [r4, r7]
   .endif
   .if \pixels > 3
    strh  r3, [r4, r6]
   .endif
   .if \more
    strh  r0, [r4]
   .else
    strh  r0, [r4], #2
    str   r4, [sp, #OUT]
   .endif
  .endif
.endm

.macro PAIRS_OF name, pixels, more=0, stop=r6
    FUNCTION \name
    push  {r4-r11, lr}
    sub   sp, #FRAME
    str   r0, [sp, #TILE]
    strd  r2, r3, [sp, #SCALES]
    mov   r8, r2
    mov   r12, r1
    ldrd  r4, r5, [sp, #VALUES]
    muls  r5, r4, r5
    add   r5, r1, r5, lsl #1
    str   r5, [sp, #WEIGHTS_END]
    movs  r6, #2 * \pixels
    mla   r6, r4, r6, r0
    str   r6, [sp, #END]
  .if \more
    movs  r5, #2 * \more
    mla   r6, r4, r5, r6
    str   r6, [sp, #SECOND_END]
  .endif
1:  GROUP \pixels, 0, \more, END, \stop
  .if \more
    GROUP \more, 1, 0, SECOND_END, \stop
  .endif
    cmp   r12, \stop
    bne   1b
    add   sp, #FRAME
    pop   {r4-r11, pc}
    .size \name, . - \name
.endm

/* tmo_dsp_pairs_rows() computes two rows of five pixels. The frame has the end of the current tile of four pixels at the offset END. The loop for the
 * last pixels multiplies only eight values, so that the code fits into the instruction caches of many boards (1 KB). */
    .equ LAST_END, 20
    .equ FIRST_END, 24
    .equ APART, FRAME + 48
    FUNCTION tmo_dsp_pairs_rows
    push  {r4-r11, lr}
    sub   sp, #FRAME
    str   r0, [sp, #TILE]
    strd  r2, r3, [sp, #SCALES]
    mov   r8, r2
    mov   r12, r1
    ldr   r4, [sp, #VALUES]
    add   r5, r0, r4, lsl #3
    str   r5, [sp, #FIRST_END]
    add   r6, r5, r4, lsl #3
    strd  r5, r6, [sp, #END]
    add   r6, r6, r4, lsl #2
    str   r6, [sp, #LAST_END]
    .balign 4
1:  ldmia r8!, {r0, r4}       /* Register r8 points to the pair's biases. The pair's scales follow the biases. */
    ldr   lr, [sp, #TILE]
    str   r8, [sp, #SCALES]
6:  OUTPUTS_OF 4, 0, END
    ldr   r4, [sp, #OUT]
    ldr   r5, [sp, #STEP]
    ldr   r6, [sp, #END]
    ldr   r7, [sp, #SECOND_END]
    strh  r1, [r4, r5]
    add   r9, r4, r5, lsl #1
    strh  r0, [r4]
    strh  r2, [r9]
    strh  r3, [r9, r5]
    cmp   r6, r7
    ldr   r8, [sp, #SCALES]
    ldr   r2, [sp, #VALUES]
    ldr   r3, [sp, #APART]
    sub   r12, r12, r2, lsl #1
    beq   5f
    str   r7, [sp, #END]      /* The same weights are used for the second row. */
    add   r4, r4, r3
    str   r4, [sp, #OUT]
    mov   lr, r6
    ldrd  r0, r4, [r8, #-8]
    b     6b
5:  ldr   r5, [sp, #FIRST_END]
    mov   lr, r7
    str   r5, [sp, #END]
    ldrd  r0, r4, [r8, #-8]
    OUTPUTS_OF 2, 0, LAST_END, 1
    ldr   r4, [sp, #OUT]      /* OUT points to an output in the second row. */
    ldr   r5, [sp, #STEP]
    ldr   r6, [sp, #APART]
    ldr   r7, [sp, #PAIRS]
    subs  r6, r4, r6
    add   r4, r4, r5, lsl #2
    add   r5, r6, r5, lsl #2
    strh  r1, [r4]
    strh  r0, [r5]
    adds  r6, #2
    str   r6, [sp, #OUT]
    subs  r7, #1
    str   r7, [sp, #PAIRS]
    bne   1b
    add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_pairs_rows, . - tmo_dsp_pairs_rows

    PAIRS_OF tmo_dsp_pairs_2, 2
    PAIRS_OF tmo_dsp_pairs_3, 3
    PAIRS_OF tmo_dsp_pairs_4, 4, stop=lr
    PAIRS_OF tmo_dsp_pairs_5, 3, 2

#endif
