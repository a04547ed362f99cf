/* The cores of packed convolutions for Helium: tmo_mve_conv_1 and _2, tmo_mve_relu_1 and _2, and tmo_mve_copy of tmo/packed.h, bit for bit their
 * twins in C.
 *
 * Four channels at once, of one pixel or two: sixteen values of each pixel are loaded once for four channels, those of each channel once for
 * all pixels. The sums of a pixel's four channels then are a vector, as their biases, multipliers and shifts are. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

    .syntax unified
    .thumb

/* A tmo_mve_job. */
    .equ SCALES, 0
    .equ OUT, 4
    .equ OUT_STEP, 8
    .equ TURNS, 12
    .equ CHANNELS, 16
    .equ ZERO, 20
    .equ LEAST, 24
    .equ MOST, 28

/* The zero point and the range of the output, in q4 to q6. */
.macro RANGE job
    ldr   r6, [\job, #ZERO]
    vdup.32 q4, r6
    ldrd  r6, r8, [\job, #LEAST]
    vdup.32 q5, r6
    vdup.32 q6, r8
.endm

/* Four sums, by the multipliers in q3. */
.macro MULTIPLY sums
    vqrdmulh.s32 q2, \sums, q3
    vshr.s32 \sums, \sums, #31
    vadd.i32 \sums, \sums, q2
.endm

/* Then, by the shifts in q3, their outputs. */
.macro SHIFT sums
    vrshl.s32 \sums, \sums, q3
    vadd.i32 \sums, \sums, q4
    vmax.s32 \sums, \sums, q5
    vmin.s32 \sums, \sums, q6
.endm

/*   r0, r2, r4, r6   sums of four channels     r1   next bytes     r3   next outputs     r5   next weights     r7   turns
 *   r9   next scales     r10   channels left     r11   bytes of the pixel     lr   turns left */
    .section .text.tmo_mve_conv_1, "ax", %progbits
    .balign 4
    .global tmo_mve_conv_1
    .type tmo_mve_conv_1, %function
    .thumb_func
tmo_mve_conv_1:
    push  {r4-r11, lr}
    vpush {d8-d13}
    RANGE r3
    mov   r1, r0
    mov   r5, r2
    ldrd  r7, r10, [r3, #TURNS]
    ldrd  r9, r3, [r3, #SCALES]
    lsl   r11, r7, #4
1:  ldmia r9!, {r0, r2, r4, r6}
    dls   lr, r7
2:  vldrb.8 q0, [r1], #16
    vldrb.8 q1, [r5], #16
    vldrb.8 q2, [r5], #16
    vmladava.s8 r0, q0, q1
    vldrb.8 q1, [r5], #16
    vmladava.s8 r2, q0, q2
    vldrb.8 q2, [r5], #16
    vmladava.s8 r4, q0, q1
    vmladava.s8 r6, q0, q2
    le    lr, 2b
    sub   r1, r1, r11
    vmov  q0[2], q0[0], r0, r4
    vmov  q0[3], q0[1], r2, r6
    vldrw.32 q3, [r9], #16
    MULTIPLY q0
    vldrw.32 q3, [r9], #16
    SHIFT q0
    vctp.32 r10
    vpst
    vstrbt.32 q0, [r3], #4
    subs  r10, r10, #4
    bgt   1b
    vpop  {d8-d13}
    pop   {r4-r11, pc}
    .size tmo_mve_conv_1, . - tmo_mve_conv_1

/*   r0, r2, r4, r6   sums of the first pixel     r8, r10, r12, lr   of the second     r1, r3   next bytes     r5   next weights
 *   r7   next outputs of the first pixel     r9   next scales     r11   end of its bytes */
    .equ PIXELS, 0
    .equ STEP, 8
    .equ LEFT, 12
    .equ FRAME, 16

    .section .text.tmo_mve_conv_2, "ax", %progbits
    .balign 4
    .global tmo_mve_conv_2
    .type tmo_mve_conv_2, %function
    .thumb_func
tmo_mve_conv_2:
    push  {r4-r11, lr}
    vpush {d8-d13}
    sub   sp, #FRAME
    RANGE r3
    mov   r5, r2
    add   r1, r0, r1
    strd  r0, r1, [sp, #PIXELS]
    ldrd  r9, r7, [r3, #SCALES]
    ldr   r1, [r3, #OUT_STEP]
    ldrd  r11, r2, [r3, #TURNS]
    strd  r1, r2, [sp, #STEP]
    add   r11, r0, r11, lsl #4
1:  ldrd  r1, r3, [sp, #PIXELS]
    ldmia r9, {r0, r2, r4, r6}
    ldmia r9!, {r8, r10, r12, lr}
2:  vldrb.8 q0, [r1], #16
    vldrb.8 q1, [r3], #16
    vldrb.8 q2, [r5], #16
    vmladava.s8 r0, q0, q2
    vldrb.8 q3, [r5], #16
    vmladava.s8 r8, q1, q2
    vmladava.s8 r2, q0, q3
    vldrb.8 q2, [r5], #16
    vmladava.s8 r10, q1, q3
    vmladava.s8 r4, q0, q2
    vldrb.8 q3, [r5], #16
    vmladava.s8 r12, q1, q2
    vmladava.s8 r6, q0, q3
    vmladava.s8 lr, q1, q3
    cmp   r1, r11
    bne   2b
    vmov  q0[2], q0[0], r0, r4
    vmov  q0[3], q0[1], r2, r6
    vmov  q1[2], q1[0], r8, r12
    vmov  q1[3], q1[1], r10, lr
    vldrw.32 q3, [r9], #16
    MULTIPLY q0
    MULTIPLY q1
    vldrw.32 q3, [r9], #16
    SHIFT q0
    SHIFT q1
    ldrd  r0, r2, [sp, #STEP]
    add   r0, r0, r7
    vctp.32 r2
    vpstt
    vstrbt.32 q0, [r7], #4
    vstrbt.32 q1, [r0]
    subs  r2, r2, #4
    str   r2, [sp, #LEFT]
    bgt   1b
    add   sp, #FRAME
    vpop  {d8-d13}
    pop   {r4-r11, pc}
    .size tmo_mve_conv_2, . - tmo_mve_conv_2

/* Where the output is at least its zero point, the least int8, and at most the greatest.
 *
 * What saturates to the zero point needs no rounding of its own where sums are negative: no `s >> 31`. Eight sums at once, of two pixels or of
 * two fours of channels: narrowed they alternate in one vector, whose bytes go where q4 says; q5 is the zero point. Turns come in fours; ENTRY leads past those of the
 * first four that there are not. */
    .equ AGAIN, 0            /* what r1 and r3 begin with */
    .equ ENTRY, 8
    .equ END, 12             /* of r7 */

/* r0, r1: bytes as in tmo_mve_conv_1 and 2; r3: job; `words`: of a turn's instructions. r12 is where the second vector of outputs goes. */
.macro ENTER_RELU words
    push  {r4-r11, lr}
    vpush {d8-d11}
    sub   sp, #FRAME
    mov   r5, r2
    ldrd  r9, r7, [r3, #SCALES]
    ldrd  r11, r2, [r3, #TURNS]
    add   r2, r2, r7
    mov   r4, #0
    vidup.u32 q4, r4, #1
    vidup.u32 q0, r12, #1
    vmovnt.i32 q4, q0
    vmvn.i16 q5, #127
    rsb   r4, r11, #0
    and   r4, r4, #3
    mov   r6, #4 * \words
    adr   r8, 2f
    mla   r4, r4, r6, r8
    orr   r4, r4, #1
    strd  r4, r2, [sp, #ENTRY]
    lsl   r11, r11, #4
.endm

/* Eight outputs from their sums in r0 to lr: multipliers and shifts are at r9 and r9 + 16, of the second vector `second` bytes further. r9 goes on
 * to the next scales. */
.macro RELU second
    vmov  q0[2], q0[0], r0, r4
    vmov  q0[3], q0[1], r2, r6
    vmov  q1[2], q1[0], r8, r12
    vmov  q1[3], q1[1], r10, lr
    .if \second
    vldrw.32 q3, [r9, #\second]
    vqrdmulh.s32 q1, q1, q3
    .endif
    vldrw.32 q2, [r9], #16
    vqrdmulh.s32 q0, q0, q2
    .if \second
    vldrw.32 q3, [r9, #\second]
    .else
    vqrdmulh.s32 q1, q1, q2
    .endif
    vldrw.32 q2, [r9], #\second + 16
    vrshl.s32 q0, q0, q2
    .if \second
    vrshl.s32 q1, q1, q3
    .else
    vrshl.s32 q1, q1, q2
    .endif
    vqmovnb.s32 q0, q0
    vqmovnt.s32 q0, q1
    vqadd.s16 q0, q0, q5
    vqmovnb.s16 q0, q0
    vstrb.16 q0, [r7, q4]
.endm

.macro LEAVE_RELU
    add   sp, #FRAME
    vpop  {d8-d11}
    pop   {r4-r11, pc}
.endm

/* Registers as in tmo_mve_conv_2, but r5   next weights of the first four channels     r3   of the second */
    .section .text.tmo_mve_relu_1, "ax", %progbits
    .balign 4
    .global tmo_mve_relu_1
    .type tmo_mve_relu_1, %function
    .thumb_func
tmo_mve_relu_1:
    mov   r12, #4
    ENTER_RELU 17
    lsl   r3, r11, #2        /* bytes of the weights of four channels */
    strd  r0, r3, [sp, #AGAIN]
    add   r11, r11, r0
    mov   r3, r5
1:  mov   r5, r3
    ldrd  r1, r3, [sp, #AGAIN]
    add   r3, r3, r5
    ldmia r9!, {r0, r2, r4, r6}
    ldrd  r8, r10, [r9, #32]
    ldrd  r12, lr, [r9, #40]
    ldr   pc, [sp, #ENTRY]
    .balign 4
2:  .rept 4
    vldrb.8 q0, [r1], #16
    vldrb.8 q1, [r5], #16
    vldrb.8 q2, [r3], #16
    vmladava.s8 r0, q0, q1
    vldrb.8 q1, [r5], #16
    vmladava.s8 r8, q0, q2
    vldrb.8 q2, [r3], #16
    vmladava.s8 r2, q0, q1
    vldrb.8 q1, [r5], #16
    vmladava.s8 r10, q0, q2
    vldrb.8 q2, [r3], #16
    vmladava.s8 r4, q0, q1
    vldrb.8 q1, [r5], #16
    vmladava.s8 r12, q0, q2
    vldrb.8 q2, [r3], #16
    vmladava.s8 r6, q0, q1
    vmladava.s8 lr, q0, q2
    .endr
    cmp   r1, r11
    bne   2b
    RELU  48
    add   r7, r7, #8
    ldr   r0, [sp, #END]
    cmp   r7, r0
    bne   1b
    LEAVE_RELU
    .size tmo_mve_relu_1, . - tmo_mve_relu_1

    .section .text.tmo_mve_relu_2, "ax", %progbits
    .balign 4
    .global tmo_mve_relu_2
    .type tmo_mve_relu_2, %function
    .thumb_func
tmo_mve_relu_2:
    ldr   r12, [r3, #OUT_STEP]
    ENTER_RELU 14
    add   r1, r0, r1
    strd  r0, r1, [sp, #AGAIN]
    add   r11, r11, r0
1:  ldrd  r1, r3, [sp, #AGAIN]
    ldmia r9, {r0, r2, r4, r6}
    ldmia r9!, {r8, r10, r12, lr}
    ldr   pc, [sp, #ENTRY]
    .balign 4
2:  .rept 4
    vldrb.8 q0, [r1], #16
    vldrb.8 q1, [r3], #16
    vldrb.8 q2, [r5], #16
    vmladava.s8 r0, q0, q2
    vldrb.8 q3, [r5], #16
    vmladava.s8 r8, q1, q2
    vmladava.s8 r2, q0, q3
    vldrb.8 q2, [r5], #16
    vmladava.s8 r10, q1, q3
    vmladava.s8 r4, q0, q2
    vldrb.8 q3, [r5], #16
    vmladava.s8 r12, q1, q2
    vmladava.s8 r6, q0, q3
    vmladava.s8 lr, q1, q3
    .endr
    cmp   r1, r11
    bne   2b
    RELU  0
    add   r7, r7, #4
    ldr   r0, [sp, #END]
    cmp   r7, r0
    bne   1b
    LEAVE_RELU
    .size tmo_mve_relu_2, . - tmo_mve_relu_2

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
