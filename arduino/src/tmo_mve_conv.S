/* The cores of packed convolutions for Helium: tmo_mve_conv_1 .. _3 and tmo_mve_copy of tmo/packed.h, bit for bit their twins in C. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

    .syntax unified
    .thumb

/* A tmo_mve_job. */
    .equ SCALES, 0
    .equ SUMS, 4
    .equ OUT, 8
    .equ OUT_STEP, 12
    .equ TURNS, 16
    .equ CHANNELS, 20
    .equ ZERO, 24
    .equ LEAST, 28
    .equ MOST, 32

/* The frame: of sixteen channels the scales and the first output, channels that are left, end of the sums. */
    .equ JOB, 0
    .equ SCALES_NOW, 4
    .equ OUT_NOW, 8
    .equ LEFT, 12
    .equ END, 16
    .equ FRAME, 20

/* Four channels of a pixel: multipliers in q0, shifts in q1, their range in q4 and q5. */
.macro SCALE sums:vararg
    vldrw.32 q2, \sums
    vqrdmulh.s32 q3, q2, q0
    vshr.s32 q2, q2, #31
    vadd.i32 q2, q2, q3
    vrshl.s32 q2, q2, q1
    vadd.i32 q2, q2, r6
    vmax.s32 q2, q2, q4
    vmin.s32 q2, q2, q5
.endm

/* First the sums of up to sixteen channels, pair by pair:
 *
 *   r0, r2, r4   sums of channel A of each pixel     r6, r8, r10   of channel B     r1, r3, r5   next bytes of each pixel
 *   r7   next weights     r9   turns     r11   next biases     r12   next sums     lr   turns left
 *
 * Then their outputs: r0, r2, r4 of each pixel, r6 the zero point, r11 multipliers, r12 sums. */
.macro CONV_OF name, pixels
    .section .text.\name, "ax", %progbits
    .balign 4
    .global \name
    .type \name, %function
    .thumb_func
\name:
    push  {r4-r11, lr}
    vpush {d8-d11}
    sub   sp, #FRAME
    mov   r7, r2
    mov   r12, r3
    add   r3, r0, r1
    add   r5, r3, r1
    mov   r1, r0
    ldr   r11, [r12, #SCALES]
    strd  r12, r11, [sp, #JOB]
    ldr   r0, [r12, #OUT]
    ldr   r9, [r12, #CHANNELS]
    strd  r0, r9, [sp, #OUT_NOW]
    ldrd  r0, r2, [r12, #LEAST]
    vdup.32 q4, r0
    vdup.32 q5, r2
1:  ldr   r12, [sp, #JOB]
    ldr   r0, [sp, #LEFT]
    ldr   r9, [r12, #TURNS]
    cmp   r0, #16
    it    gt
    movgt r0, #16
    ldr   r12, [r12, #SUMS]
    add   r0, r0, #1
    lsr   r0, r0, #1
    add   r0, r12, r0, lsl #3
    str   r0, [sp, #END]
2:  ldrd  r0, r6, [r11], #8
  .if \pixels > 1
    mov   r2, r0
    mov   r8, r6
  .endif
  .if \pixels > 2
    mov   r4, r0
    mov   r10, r6
  .endif
    dls   lr, r9
3:  vldrb.8 q0, [r7], #16
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
    le    lr, 3b
    strd  r0, r6, [r12], #8
    sub   r1, r1, r9, lsl #4
  .if \pixels > 1
    strd  r2, r8, [r12, #56]
    sub   r3, r3, r9, lsl #4
  .endif
  .if \pixels > 2
    strd  r4, r10, [r12, #120]
    sub   r5, r5, r9, lsl #4
  .endif
    ldr   r0, [sp, #END]
    cmp   r12, r0
    bne   2b
    ldrd  r9, r11, [sp, #JOB]
    ldrd  r0, r8, [sp, #OUT_NOW]
    ldr   r12, [r9, #SUMS]
    ldr   r6, [r9, #ZERO]
  .if \pixels > 1
    ldr   r10, [r9, #OUT_STEP]
    add   r2, r0, r10
  .endif
  .if \pixels > 2
    add   r4, r2, r10
  .endif
    add   r11, r11, #64
    mov   r10, r8
    cmp   r10, #16
    it    gt
    movgt r10, #16
    dlstp.32 lr, r10
4:  vldrw.32 q0, [r11], #16
    vldrw.32 q1, [r11, #48]
  .if \pixels > 2
    SCALE [r12, #128]
    vstrb.32 q2, [r4], #4
  .endif
  .if \pixels > 1
    SCALE [r12, #64]
    vstrb.32 q2, [r2], #4
  .endif
    SCALE [r12], #16
    vstrb.32 q2, [r0], #4
    letp  lr, 4b
    subs  r8, r8, #16
    ble   5f
    ldrd  r11, r0, [sp, #SCALES_NOW]
    add   r11, r11, #192
    add   r0, r0, #16
    strd  r11, r0, [sp, #SCALES_NOW]
    str   r8, [sp, #LEFT]
    b     1b
5:  add   sp, #FRAME
    vpop  {d8-d11}
    pop   {r4-r11, pc}
    .size \name, . - \name
.endm

    CONV_OF tmo_mve_conv_1, 1
    CONV_OF tmo_mve_conv_2, 2
    CONV_OF tmo_mve_conv_3, 3

    .section .text.tmo_mve_copy, "ax", %progbits
    .balign 4
    .global tmo_mve_copy
    .type tmo_mve_copy, %function
    .thumb_func
tmo_mve_copy:
    push  {r4-r6, lr}
    ldrd  r12, r6, [sp, #16]
1:  ldr   r4, [r1], #4
    add   r4, r4, r3
    mov   r5, r0
    dlstp.8 lr, r12
2:  vldrb.8 q0, [r4], #16
    vstrb.8 q0, [r5], #16
    letp  lr, 2b
    add   r0, r0, r6
    subs  r2, r2, #1
    bne   1b
    pop   {r4-r6, pc}
    .size tmo_mve_copy, . - tmo_mve_copy

#endif
