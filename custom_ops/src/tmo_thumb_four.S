/* SPDX-License-Identifier: Apache-2.0 */
/* tmo_thumb_four() of tmo/kernels.h adds products to the sums of four channels on Armv6-M. The function is in assembly, because compilers need more
 * registers than Armv6-M has.
 *
 * Register r0 is minus the number of bytes that are left, so that the loop ends when r0 is 0. Registers r1 to r4 point to the ends of the weights of
 * four channels. The address of the next byte is r5 + r0. Register r6 holds a value minus its zero point, and r7 holds a weight and then a product.
 * Registers r8 to r11 hold the sums. Register r12 holds minus the zero point. Register r14 is the distance between two bytes, minus 1. */
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)

#include "tmo/function.h"

    .equ STEP, 36
    .equ SUMS, 40

.macro MULTIPLY weights, sum
    ldrsb r7, [\weights, r0]
    muls  r7, r6, r7
    add   \sum, r7
.endm

.macro BYTE
    ldrsb r6, [r5, r0]
    add   r6, r12
    MULTIPLY r1, r8
    MULTIPLY r2, r9
    MULTIPLY r3, r10
    MULTIPLY r4, r11
    adds  r0, r0, #1
.endm

    FUNCTION tmo_thumb_four
    push  {r4-r7, lr}
    mov   r4, r8
    mov   r5, r9
    mov   r6, r10
    mov   r7, r11
    push  {r4-r7}
    ldr   r7, [sp, #SUMS]
    ldmia r7!, {r4, r5, r6}
    mov   r8, r4
    mov   r9, r5
    mov   r10, r6
    ldr   r7, [r7]
    mov   r11, r7
    rsbs  r3, r3, #0
    mov   r12, r3
    ldr   r7, [sp, #STEP]
    subs  r7, r7, #1
    mov   r14, r7
    adds  r5, r0, r2
    rsbs  r0, r2, #0
    ldr   r4, [r1, #12]
    ldr   r3, [r1, #8]
    ldr   r6, [r1]
    ldr   r7, [r1, #4]
    adds  r4, r4, r2
    adds  r3, r3, r2
    adds  r1, r6, r2
    adds  r2, r7, r2
    mov   r7, r14
    cmp   r7, #0
    bne   3f
    lsrs  r7, r0, #1
    bcs   2f
1:                  @ The loop for adjacent bytes multiplies two bytes. An odd number of bytes begins at label 2.
    BYTE
2:
    BYTE
    bne   1b
    b     4f
3:
    BYTE
    add   r5, r14
    bne   3b        @ BYTE has set the flags.
4:
    ldr   r0, [sp, #SUMS]
    mov   r4, r8
    mov   r5, r9
    mov   r6, r10
    mov   r7, r11
    stmia r0!, {r4, r5, r6, r7}
    pop   {r4-r7}
    mov   r8, r4
    mov   r9, r5
    mov   r10, r6
    mov   r11, r7
    pop   {r4-r7, pc}
    .size tmo_thumb_four, . - tmo_thumb_four

#endif
