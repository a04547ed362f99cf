/* The core of packed convolutions for Helium: tmo_mve_sums_1 .. _3 of tmo/packed.h, bit for bit their twin in C.
 *
 *   r0, r2, r4   sums of channel A of each pixel     r6, r8, r10   of channel B     r1, r3, r5   next bytes of each pixel
 *   r7   next weights     r9   bytes of a pixel     r11   next biases     r12   next sums     lr   turns left */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

    .syntax unified
    .thumb

    .equ PAIRS, 0
    .equ FRAME, 8
    .equ TURNS, FRAME + 36
    .equ PAIRS_IN, FRAME + 40
    .equ SUMS, FRAME + 44

.macro SUMS_OF name, pixels
    .section .text.\name, "ax", %progbits
    .balign 4
    .global \name
    .type \name, %function
    .thumb_func
\name:
    push  {r4-r11, lr}
    sub   sp, #FRAME
    mov   r7, r2
    mov   r11, r3
    add   r3, r0, r1
    add   r5, r3, r1
    mov   r1, r0
    ldrd  r9, r0, [sp, #TURNS]
    str   r0, [sp, #PAIRS]
    lsl   r9, r9, #4
    ldr   r12, [sp, #SUMS]
1:  ldrd  r0, r6, [r11], #8
  .if \pixels > 1
    mov   r2, r0
    mov   r8, r6
  .endif
  .if \pixels > 2
    mov   r4, r0
    mov   r10, r6
  .endif
    lsr   lr, r9, #4
    dls   lr, lr
2:  vldrb.8 q0, [r7], #16
    vldrb.8 q2, [r1], #16
    vmladava.s8 r0, q0, q2
    vldrb.8 q1, [r7], #16
    vmladava.s8 r6, q1, q2
  .if \pixels > 1
    vldrb.8 q3, [r3], #16
    vmladava.s8 r2, q0, q3
    vmladava.s8 r8, q1, q3
  .endif
  .if \pixels > 2
    vldrb.8 q2, [r5], #16
    vmladava.s8 r4, q0, q2
    vmladava.s8 r10, q1, q2
  .endif
    le    lr, 2b
    sub   r1, r1, r9
    strd  r0, r6, [r12], #8
  .if \pixels > 1
    sub   r3, r3, r9
    strd  r2, r8, [r12, #56]
  .endif
  .if \pixels > 2
    sub   r5, r5, r9
    strd  r4, r10, [r12, #120]
  .endif
    ldr   r0, [sp, #PAIRS]
    subs  r0, r0, #1
    str   r0, [sp, #PAIRS]
    bne   1b
    add   sp, #FRAME
    pop   {r4-r11, pc}
    .size \name, . - \name
.endm

    SUMS_OF tmo_mve_sums_1, 1
    SUMS_OF tmo_mve_sums_2, 2
    SUMS_OF tmo_mve_sums_3, 3

#endif
