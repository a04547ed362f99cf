/* The core of packed depthwise convolutions for Helium: tmo_mve_depthwise of tmo/packed.h, bit for bit its twin in C.
 *
 * Sixteen channels of one pixel at a time, two taps in a turn: their products add up in int16, as long as no weight is -128. Even and odd
 * channels, and even and odd ones of these, go to four vectors of sums; the packing has all constants in their order.
 *
 *   q0..q3   sums     r0   next tap     r1   next constants     r2   out     r3   turns     r4, r5   taps
 *   r6   bytes to the first of the sixteen channels     r7   channels and bytes to the first     r8   taps     r9, r10   range     r11   zero point */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

    .syntax unified
    .thumb

    .equ SAVED, 36 + 64
    .equ TURNS, SAVED
    .equ CHANNELS, SAVED + 4
    .equ OP, SAVED + 8

/* The int16 of `products` to two vectors of sums. */
.macro ADD_UP products, even, odd
    vmovlb.s16 q7, \products
    vadd.i32 \even, \even, q7
    vmovlt.s16 q7, \products
    vadd.i32 \odd, \odd, q7
.endm

.macro SCALE sums, at
    vldrw.32 q4, [r1, #\at]
    vldrw.32 q5, [r1, #\at + 64]
    vqrdmulh.s32 q4, \sums, q4
    vshr.s32 \sums, \sums, #31
    vadd.i32 \sums, \sums, q4
    vrshl.s32 \sums, \sums, q5
.endm

    .section .text.tmo_mve_depthwise, "ax", %progbits
    .balign 4
    .global tmo_mve_depthwise
    .type tmo_mve_depthwise, %function
    .thumb_func
tmo_mve_depthwise:
    push  {r4-r11, lr}
    vpush {d8-d15}
    sub   r2, r2, r3
    mov   r6, r3
    mov   r8, r0
    ldrd  r3, r7, [sp, #TURNS]
    add   r7, r7, r6
    ldr   r4, [sp, #OP]
    ldrsb r11, [r4]
    ldrsb r9, [r4, #1]
    ldrsb r10, [r4, #2]
1:  vldrw.32 q0, [r1]
    vldrw.32 q1, [r1, #16]
    vldrw.32 q2, [r1, #32]
    vldrw.32 q3, [r1, #48]
    add   r1, r1, #64
    mov   r0, r8
    dls   lr, r3
2:  ldrd  r4, r5, [r0], #8
    add   r4, r4, r6
    add   r5, r5, r6
    vldrb.8 q4, [r4]
    vldrb.8 q5, [r1], #16
    vmullb.s8 q6, q4, q5
    vmullt.s8 q4, q4, q5
    vldrb.8 q5, [r5]
    vldrb.8 q7, [r1]
    vmullt.s8 q7, q5, q7
    vadd.i16 q4, q4, q7
    vldrb.8 q7, [r1], #16
    vmullb.s8 q7, q5, q7
    vadd.i16 q6, q6, q7
    ADD_UP q6, q0, q1
    ADD_UP q4, q2, q3
    le    lr, 2b
    SCALE q0, 0
    SCALE q1, 16
    SCALE q2, 32
    SCALE q3, 48
    add   r1, r1, #128
    vqmovnb.s32 q4, q0
    vqmovnt.s32 q4, q1
    vqmovnb.s32 q5, q2
    vqmovnt.s32 q5, q3
    vqadd.s16 q4, q4, r11
    vqadd.s16 q5, q5, r11
    vqmovnb.s16 q6, q4
    vqmovnt.s16 q6, q5
    vdup.8 q7, r9
    vmax.s8 q6, q6, q7
    vdup.8 q7, r10
    vmin.s8 q6, q6, q7
    add   r4, r2, r6
    vstrb.8 q6, [r4]
    add   r6, r6, #16
    subs  r4, r7, r6
    beq   3f
    cmp   r4, #16
    it    lt
    sublt r6, r7, #16         /* the last sixteen overlap those before them */
    b     1b
3:  vpop  {d8-d15}
    pop   {r4-r11, pc}
    .size tmo_mve_depthwise, . - tmo_mve_depthwise

#endif
