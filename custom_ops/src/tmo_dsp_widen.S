/* SPDX-License-Identifier: Apache-2.0 */
/* The functions tmo_dsp_widen_*() of tmo/packed.h widen bytes for packed convolutions.
 *
 * Registers r0 to r3 point to the next bytes of each pixel. Registers r4 to r7 hold four bytes of each pixel, and later bytes 1 and 3 as int16.
 * Registers r8 to r11 hold bytes 0 and 2 as int16. Register r12 points to the next values of the tile, and lr is the number of bytes that are
 * left. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

#include "tmo/function.h"

/* Widens four bytes of each pixel. Register r4 holds the bytes of the first pixel, and r5 to r7 hold the bytes of the next pixels. */
.macro WIDEN pixels
    sxtb16 r8, r4
    sxtb16 r9, r5
  .if \pixels > 2
    sxtb16 r10, r6
  .endif
  .if \pixels > 3
    sxtb16 r11, r7
  .endif
  .if \pixels == 2
    stmia r12!, {r8, r9}
  .elseif \pixels == 3
    stmia r12!, {r8-r10}
  .else
    stmia r12!, {r8-r11}
  .endif
    sxtb16 r4, r4, ror #8
    sxtb16 r5, r5, ror #8
  .if \pixels > 2
    sxtb16 r6, r6, ror #8
  .endif
  .if \pixels > 3
    sxtb16 r7, r7, ror #8
  .endif
  .if \pixels == 2
    stmia r12!, {r4, r5}
  .elseif \pixels == 3
    stmia r12!, {r4-r6}
  .else
    stmia r12!, {r4-r7}
  .endif
.endm

.macro LAST from, to
    ldr   \to, [\from, r9]
    lsr   \to, \to, r8
.endm

.macro WIDEN_OF name, pixels
    FUNCTION \name
    push  {r4-r11, lr}
    mov   r12, r2
    sub   lr, r3, #4
  .if \pixels > 2
    add   r2, r0, r1, lsl #1
  .endif
  .if \pixels > 3
    add   r3, r2, r1
  .endif
    add   r1, r0, r1
1:  ldr   r4, [r0], #4
    ldr   r5, [r1], #4
  .if \pixels > 2
    ldr   r6, [r2], #4
  .endif
  .if \pixels > 3
    ldr   r7, [r3], #4
  .endif
    WIDEN \pixels
    subs  lr, lr, #4
    bge   1b
    adds  r9, lr, #4
    beq   2f
    sub   r9, r9, #4          /* For the last 1 to 3 bytes, the code loads the last four bytes, and drops bytes that were already widened. */
    rsb   r8, r9, #0
    lsl   r8, r8, #3
    LAST  r0, r4
    LAST  r1, r5
  .if \pixels > 2
    LAST  r2, r6
  .endif
  .if \pixels > 3
    LAST  r3, r7
  .endif
    WIDEN \pixels
2:  mov   r0, r12
    pop   {r4-r11, pc}
    .size \name, . - \name
.endm

    WIDEN_OF tmo_dsp_widen_2, 2
    WIDEN_OF tmo_dsp_widen_3, 3
    WIDEN_OF tmo_dsp_widen_4, 4

    .global tmo_dsp_widen_each
    .type tmo_dsp_widen_each, %function
    .thumb_func
tmo_dsp_widen_each:
    push  {r4-r11, lr}
    mov   r12, r1
    sub   lr, r2, #4
    ldmia r0, {r0-r3}
    b     1b
    .size tmo_dsp_widen_each, . - tmo_dsp_widen_each

/* tmo_dsp_widen_taps() widens the bytes of a single pixel. Register r0 points to the next address in the list of taps, and r1 is the number of taps
 * that are left. Register r2 points to the next values of the tile. Register r3 is the number of bytes of a tap. Registers r4 to r8 hold up to eight
 * bytes. Register r12 points to the next bytes of the tap, and lr is the end of the tap. */
    FUNCTION tmo_dsp_widen_taps
    push  {r4-r8, lr}
1:  ldr   r12, [r0], #4
    add   lr, r12, r3
    tst   r3, #4
    beq   2f
    ldr   r4, [r12], #4
    sxtb16 r5, r4
    sxtb16 r6, r4, ror #8
    stmia r2!, {r5, r6}
    cmp   r12, lr
    beq   3f
2:  ldr   r4, [r12], #4
    ldr   r7, [r12], #4
    sxtb16 r5, r4
    sxtb16 r6, r4, ror #8
    sxtb16 r8, r7, ror #8
    sxtb16 r7, r7
    stmia r2!, {r5-r8}
    cmp   r12, lr
    bne   2b
3:  subs  r1, r1, #1
    bne   1b
    pop   {r4-r8, pc}
    .size tmo_dsp_widen_taps, . - tmo_dsp_widen_taps

#endif
