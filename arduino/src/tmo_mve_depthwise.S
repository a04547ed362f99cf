/* The cores of packed depthwise convolutions for Helium: tmo_mve_depthwise and tmo_mve_depthwise_9 of tmo/packed.h, bit for bit their twin in C.
 *
 * Sixteen channels of one pixel at a time, two taps in a turn: their products add up in int16, as long as no weight is -128. Even and odd
 * channels, and even and odd ones of these, go to four vectors of sums; the packing has all constants in their order. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

    .syntax unified
    .thumb

/* The int16 of `products` to two vectors of sums. */
.macro ADD_UP products, even, odd
    vmovlb.s16 q7, \products
    vadd.i32 \even, \even, q7
    vmovlt.s16 q7, \products
    vadd.i32 \odd, \odd, q7
.endm

.macro BIASES constants
    vldrw.32 q0, [\constants]
    vldrw.32 q1, [\constants, #16]
    vldrw.32 q2, [\constants, #32]
    vldrw.32 q3, [\constants, #48]
.endm

/* The pixels of one tap, and of another, with weights from constants + at. */
.macro TWO_TAPS a, b, constants, at
    vldrb.8 q4, [\a], #16
    vldrb.8 q5, [\constants, #\at]
    vmullb.s8 q6, q4, q5
    vmullt.s8 q4, q4, q5
    vldrb.8 q5, [\b], #16
    vldrb.8 q7, [\constants, #\at + 16]
    vmullt.s8 q7, q5, q7
    vadd.i16 q4, q4, q7
    vldrb.8 q7, [\constants, #\at + 16]
    vmullb.s8 q7, q5, q7
    vadd.i16 q6, q6, q7
    ADD_UP q6, q0, q1
    ADD_UP q4, q2, q3
.endm

.macro TAP a, constants
    vldrb.8 q4, [\a], #16
    vldrb.8 q5, [\constants]
    vmullb.s8 q6, q4, q5
    vmullt.s8 q4, q4, q5
    ADD_UP q6, q0, q1
    ADD_UP q4, q2, q3
.endm

.macro SCALE sums, constants, at
    vldrw.32 q4, [\constants, #\at]
    vldrw.32 q5, [\constants, #\at + 64]
    vqrdmulh.s32 q4, \sums, q4
    vshr.s32 \sums, \sums, #31
    vadd.i32 \sums, \sums, q4
    vrshl.s32 \sums, \sums, q5
.endm

/* Sixteen outputs from their sums: range at sp. */
.macro OUTPUTS constants, first, second
    SCALE q0, \constants, 0
    SCALE q1, \constants, 16
    SCALE q2, \constants, 32
    SCALE q3, \constants, 48
    vqmovnb.s32 q4, q0
    vqmovnt.s32 q4, q1
    vqmovnb.s32 q5, q2
    vqmovnt.s32 q5, q3
    ldr   \first, [sp]
    vqadd.s16 q4, q4, \first
    vqadd.s16 q5, q5, \first
    vqmovnb.s16 q6, q4
    vqmovnt.s16 q6, q5
    ldrd  \first, \second, [sp, #4]
    vdup.8 q7, \first
    vmax.s8 q6, q6, q7
    vdup.8 q7, \second
    vmin.s8 q6, q6, q7
.endm

/* The range as three words, behind which a core has more of its own. */
.macro ENTER bytes
    push  {r4-r11, lr}
    vpush {d8-d15}
    sub   sp, #12 + \bytes
    ldr   r7, [sp, #12 + \bytes + 36 + 64 + 12]
    ldrsb r4, [r7]
    ldrsb r5, [r7, #1]
    ldrsb r6, [r7, #2]
    strd  r4, r5, [sp]
    str   r6, [sp, #8]
.endm

.macro LEAVE bytes
    add   sp, #12 + \bytes
    vpop  {d8-d15}
    pop   {r4-r11, pc}
.endm

/* Any taps, as a list.
 *
 *   r0   next tap     r1   next constants     r2   out, so that r2 + r6 is where outputs go     r3   turns     r4, r5   taps
 *   r6   bytes to the first of the sixteen channels     r7   of the last sixteen     r8   taps     r9   constants     r10   pixels */
    .equ TURNS, 12 + 36 + 64
    .equ CHANNELS, TURNS + 4
    .equ STEP, TURNS + 8

    .section .text.tmo_mve_depthwise, "ax", %progbits
    .balign 4
    .global tmo_mve_depthwise
    .type tmo_mve_depthwise, %function
    .thumb_func
tmo_mve_depthwise:
    ENTER 0
    mov   r8, r0
    mov   r9, r1
    mov   r10, r3
    ldrd  r3, r7, [sp, #TURNS]
    sub   r7, r7, #16
    mov   r6, #0
1:  BIASES r1
    add   r1, r1, #64
    mov   r0, r8
    dls   lr, r3
2:  ldrd  r4, r5, [r0], #8
    add   r4, r4, r6
    add   r5, r5, r6
    TWO_TAPS r4, r5, r1, 0
    add   r1, r1, #32
    le    lr, 2b
    OUTPUTS r1, r4, r5
    add   r1, r1, #128
    add   r4, r2, r6
    vstrb.8 q6, [r4]
    add   r6, r6, #16
    cmp   r6, r7
    ble   1b
    sub   r4, r6, r7
    cmp   r4, #16
    beq   3f
    mov   r6, r7              /* the last sixteen overlap those before them */
    b     1b
3:  subs  r10, r10, #1
    beq   4f
    ldrd  r4, r5, [sp, #CHANNELS]
    mov   r1, r9
    sub   r6, r6, r4          /* the pixel's first channel, */
    add   r6, r6, r5          /* then the next pixel's */
    add   r2, r2, r4
    sub   r2, r2, r5
    add   r7, r7, r5
    b     1b
4:  LEAVE 0
    .size tmo_mve_depthwise, . - tmo_mve_depthwise

/* Nine taps, of channels that sixteens divide.
 *
 *   r0..r8   taps     r9   next constants     r10   next outputs     r11, r12   of OUTPUTS */
    .equ OWN, 12
    .equ CONSTANTS, 12
    .equ PIXELS, 16
    .equ SIXTEENS, 20
    .equ CHANNELS_OF_9, OWN + CHANNELS

    .section .text.tmo_mve_depthwise_9, "ax", %progbits
    .balign 4
    .global tmo_mve_depthwise_9
    .type tmo_mve_depthwise_9, %function
    .thumb_func
tmo_mve_depthwise_9:
    ENTER OWN
    str   r1, [sp, #CONSTANTS]
    str   r3, [sp, #PIXELS]
    ldr   r4, [sp, #CHANNELS_OF_9]
    lsr   r4, r4, #4
    str   r4, [sp, #SIXTEENS]
    mov   r10, r2
    ldmia r0, {r0-r8}
1:  ldr   r9, [sp, #CONSTANTS]
    ldr   lr, [sp, #SIXTEENS]
    dls   lr, lr
2:  BIASES r9
    add   r9, r9, #64
    TWO_TAPS r0, r1, r9, 0
    TWO_TAPS r2, r3, r9, 32
    TWO_TAPS r4, r5, r9, 64
    TWO_TAPS r6, r7, r9, 96
    add   r9, r9, #128
    TAP   r8, r9
    add   r9, r9, #32
    OUTPUTS r9, r11, r12
    add   r9, r9, #128
    vstrb.8 q6, [r10], #16
    le    lr, 2b
    ldr   r9, [sp, #PIXELS]
    subs  r9, r9, #1
    beq   3f
    str   r9, [sp, #PIXELS]
    ldrd  r9, r12, [sp, #CHANNELS_OF_9]
    sub   r9, r12, r9         /* from the last channels of a pixel to the next pixel */
    add   r0, r0, r9
    add   r1, r1, r9
    add   r2, r2, r9
    add   r3, r3, r9
    add   r4, r4, r9
    add   r5, r5, r9
    add   r6, r6, r9
    add   r7, r7, r9
    add   r8, r8, r9
    b     1b
3:  LEAVE OWN
    .size tmo_mve_depthwise_9, . - tmo_mve_depthwise_9

#endif
