/* The core of packed additions for Helium: tmo_mve_add of tmo/packed.h. Of scales, which are those of TMO_PACKING_DSP_ADD, it takes m, half of m2,
 * and -e; Helium rounds as c says.
 *
 *   r0, r1   next bytes of both operands     r2   next outputs     r3..r5, r6..r8   of the operands: -zero point * 2^left, m, -e     r9, r10   of their sum: m, -e
 *   q3, q4   2^left of the operands     q5   zero point of the output     q6, q7   its range */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

    .syntax unified
    .thumb

/* A tmo_op, as tmo_add_packed.c asserts. */
    .equ ZEROS, 2
    .equ OUT_ZERO, 6
    .equ LEAST, 7
    .equ MOST, 8

/* From left, m2, c and e; r10 is 1. */
.macro OPERAND zero, factors, left, multiplier, c, e
    lsl   \left, r10, \left
    vdup.32 \factors, \left
    ldrsb \c, [r12, #\zero]
    mul   \left, \c, \left
    neg   \left, \left
    lsr   \multiplier, \multiplier, #1
    neg   \c, \e
.endm

.macro SCALE x, multiplier, shift
    vqrdmulh.s32 q2, \x, \multiplier
    vshr.s32 \x, \x, #31
    vadd.i32 \x, \x, q2
    vrshl.s32 \x, \shift
.endm

    .section .text.tmo_mve_add, "ax", %progbits
    .balign 4
    .global tmo_mve_add
    .type tmo_mve_add, %function
    .thumb_func
tmo_mve_add:
    push  {r4-r11, lr}
    vpush {d8-d15}
    mov   lr, r3
    ldrd  r11, r12, [sp, #36 + 64]
    mov   r10, #1
    ldm   r11!, {r3-r6}
    OPERAND ZEROS, q3, r3, r4, r5, r6
    ldm   r11!, {r6-r9}
    OPERAND ZEROS + 1, q4, r6, r7, r8, r9
    ldm   r11, {r9-r11}
    lsr   r9, r9, #1
    neg   r10, r11
    ldrsb r11, [r12, #OUT_ZERO]
    vdup.32 q5, r11
    ldrsb r11, [r12, #LEAST]
    vdup.32 q6, r11
    ldrsb r11, [r12, #MOST]
    vdup.32 q7, r11
    dlstp.32 lr, lr
1:  vldrb.s32 q0, [r0], #4
    vldrb.s32 q1, [r1], #4
    vmlas.s32 q0, q3, r3
    SCALE q0, r4, r5
    vmlas.s32 q1, q4, r6
    SCALE q1, r7, r8
    vadd.i32 q0, q0, q1
    SCALE q0, r9, r10
    vadd.i32 q0, q0, q5
    vmax.s32 q0, q0, q6
    vmin.s32 q0, q0, q7
    vstrb.32 q0, [r2], #4
    letp  lr, 1b
    vpop  {d8-d15}
    pop   {r4-r11, pc}
    .size tmo_mve_add, . - tmo_mve_add

#endif
