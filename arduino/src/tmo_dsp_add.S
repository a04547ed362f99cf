/* The core of packed additions for the DSP extension: tmo_dsp_add of tmo/packed.h, bit for bit its twin in C.
 *
 *   r0, r1   next bytes of both operands     r2   next outputs     r4..r7   four values     r8   bytes     r9..r12   l, m2, c, e     r3, lr   others */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

    .syntax unified
    .thumb

    .equ END, 0       /* of r0 */
    .equ ZERO_A, 4    /* negative */
    .equ ZERO_B, 8
    .equ FRAME, 12
    .equ SCALES, FRAME + 36
    .equ ZEROS, FRAME + 40

.macro SCALE x
    add   lr, \x, \x, asr #31
    add   lr, lr, r11
    smmlar \x, \x, r10, lr
    asr   \x, \x, r12
.endm

/* A byte of the second operand, to the scaled one of the first. */
.macro ADD_BYTE sum, rotation
    ldr   lr, [sp, #ZERO_B]
    sxtab r3, lr, r8, ror #\rotation
    lsl   r3, r3, r9
    SCALE r3
    add   \sum, \sum, r3
.endm

.macro OUTPUT x
    SCALE \x
    ssat  \x, #8, \x
.endm

    .section .text.tmo_dsp_add, "ax", %progbits
    .balign 4
    .global tmo_dsp_add
    .type tmo_dsp_add, %function
    .thumb_func
tmo_dsp_add:
    push  {r4-r11, lr}
    sub   sp, #FRAME
    add   r3, r3, r0
    ldr   r4, [sp, #ZEROS]
    ldrsb r5, [r4]
    ldrsb r6, [r4, #1]
    rsb   r5, r5, #0
    rsb   r6, r6, #0
    strd  r3, r5, [sp, #END]
    str   r6, [sp, #ZERO_B]
1:  ldr   r3, [sp, #SCALES]
    ldr   lr, [sp, #ZERO_A]
    ldr   r8, [r0], #4
    ldmia r3!, {r9-r12}
    sxtab r4, lr, r8
    sxtab r5, lr, r8, ror #8
    sxtab r6, lr, r8, ror #16
    sxtab r7, lr, r8, ror #24
    lsl   r4, r4, r9
    lsl   r5, r5, r9
    lsl   r6, r6, r9
    lsl   r7, r7, r9
    SCALE r4
    SCALE r5
    SCALE r6
    SCALE r7
    ldr   r8, [r1], #4
    ldmia r3, {r9-r12}
    ADD_BYTE r4, 0
    ADD_BYTE r5, 8
    ADD_BYTE r6, 16
    ADD_BYTE r7, 24
    ldr   r3, [sp, #SCALES]
    ldrd  r10, r11, [r3, #32]
    ldr   r12, [r3, #40]
    OUTPUT r4
    OUTPUT r5
    OUTPUT r6
    OUTPUT r7
    bfi   r4, r5, #8, #8
    bfi   r6, r7, #8, #8
    pkhbt r4, r4, r6, lsl #16
    str   r4, [r2], #4
    ldr   r3, [sp, #END]
    cmp   r0, r3
    bne   1b
    add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_add, . - tmo_dsp_add

#endif
