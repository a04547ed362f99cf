/* The core of packed additions for Helium: tmo_mve_add of tmo/packed.h.
 *
 *   r0, r1   next bytes of both operands     r2   next outputs     r3..r5, r6..r8   of the operands: -zero point * 2^left, m, -e     r9, r10   of their sum: m, -e
 *   q3, q4   2^left of the operands     q5   zero point of the output     q6, q7   its range */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

    .syntax unified
    .thumb

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
    ldr   r12, [sp, #36 + 64]
    ldmia r12!, {r3-r7}
    vdup.32 q3, r3
    vdup.32 q4, r4
    vdup.32 q5, r5
    vdup.32 q6, r6
    vdup.32 q7, r7
    ldmia r12, {r3-r10}
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
