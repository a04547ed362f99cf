/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes packed convolutions on Helium: tmo_mve_conv_1() and _2(), tmo_mve_relu_1() and _2(), tmo_mve_copy(), tmo_mve_take() and
 * tmo_mve_fill() of tmo/packed.h, with the same bits as their twins in C.
 *
 * Eight sums are computed at once, for four channels of two pixels or for eight channels of one pixel. Sixteen values of a pixel are loaded once for
 * all channels, and sixteen weights of a channel once for all pixels. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

#include "tmo/function.h"

/* A tmo_mve_job. */
    .equ SCALES, 0
    .equ OUT, 4
    .equ OUT_STEP, 8
    .equ TURNS, 12
    .equ CHANNELS, 16
    .equ ZERO, 20
    .equ LEAST, 24
    .equ MOST, 28
    .equ PAIRS, 32

/* The frame. */
    .equ AGAIN, 0            /* initial values of r1 and r3 */
    .equ ENTRY, AGAIN + 8
    .equ END, 12             /* end of r9 */
    .equ OWN_ZERO, 16
    .equ PAIR, 20            /* number of pairs left, the job, and the weights */
    .equ FRAME, 32

    .section .text.tmo_mve_conv, "ax", %progbits
    .balign 4

/* r0, r1: bytes as in tmo_mve_conv; r2: weights; r3: job; r6: bytes of a turn's instructions; r8: the first of them.
 *
 * A loop has four turns. If the number of turns is no multiple of four, ENTRY skips turns of the first iteration. r4 becomes the number of channels.
 * */
    .thumb_func
enter:
    ldrd  r9, r7, [r3, #SCALES]
    ldrd  r11, r4, [r3, #TURNS]
    add   r5, r4, r4, lsl #1
    add   r10, r9, r5, lsl #2
    mov   r5, r2
    rsb   r12, r11, #0
    and   r12, r12, #3
    mla   r8, r12, r6, r8
    orr   r8, r8, #1
    strd  r8, r10, [sp, #ENTRY]
    lsl   r11, r11, #4
    bx    lr

.macro ENTER words, relu
    push  {r4-r11, lr}
    vpush {d8-d13}
    sub   sp, #FRAME
    .if \relu
    ldr   r4, [r3, #LEAST]
    vdup.16 q5, r4
    .else
    ldrd  r4, r5, [r3, #LEAST]
    vdup.16 q5, r4
    vdup.16 q6, r5
    ldr   r4, [r3, #ZERO]
    str   r4, [sp, #OWN_ZERO]
    .endif
    adr   r8, 2f
    mov   r6, #4 * \words
    bl    enter
.endm

/* Computes eight outputs from their sums in r0 to lr, which belong to two vectors alternately. q4 says where the bytes go. Multipliers and shifts are
 * at r9 and r9 + 16. Those of the second vector are `second` bytes further. r9 advances to the next scales. With the range of a ReLU, negative sums
 * saturate to the zero point, so `sums >> 31` is omitted. */
.macro OUTPUTS second, relu
    vmov  q0[2], q0[0], r0, r4
    vmov  q0[3], q0[1], r2, r6
    vmov  q1[2], q1[0], r8, r12
    vmov  q1[3], q1[1], r10, lr
    .if \second
    vldrw.32 q3, [r9, #\second]
    vqrdmulh.s32 q3, q1, q3
    .endif
    vldrw.32 q2, [r9], #16
    .if \second == 0
    vqrdmulh.s32 q3, q1, q2
    .endif
    vqrdmulh.s32 q2, q0, q2
    .if \relu == 0
    vshr.s32 q0, q0, #31
    vadd.i32 q2, q2, q0
    vshr.s32 q1, q1, #31
    vadd.i32 q3, q3, q1
    .endif
    .if \second
    vldrw.32 q1, [r9, #\second]
    vrshl.s32 q3, q3, q1
    .endif
    vldrw.32 q0, [r9], #\second + 16
    .if \second == 0
    vrshl.s32 q3, q3, q0
    .endif
    vrshl.s32 q0, q2, q0
    vqmovnb.s32 q0, q0
    vqmovnt.s32 q0, q3
    .if \relu
    vqadd.s16 q0, q0, q5
    .else
    ldr   r0, [sp, #OWN_ZERO]
    vqadd.s16 q0, q0, r0
    vmax.s16 q0, q0, q5
    vmin.s16 q0, q0, q6
    .endif
    vqmovnb.s16 q0, q0
.endm

.macro LEAVE name
    add   sp, #FRAME
    vpop  {d8-d13}
    pop   {r4-r11, pc}
    .size \name, . - \name
.endm

/*   r0, r2, r4, r6   sums of the first four channels     r8, r10, r12, lr   of the second     r1   next bytes     r5   next weights of the first four
 *   r3   of the second     r7   next outputs     r9   next scales     r11   end of the bytes */
.macro ONE_PIXEL name, relu
    FUNCTION \name, tmo_mve_conv
    ENTER 17, \relu
    adr   r4, 8f
    vldrh.u16 q4, [r4]
    lsl   r3, r11, #2        /* number of bytes of the weights of four channels */
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
    OUTPUTS 48, \relu
    vstrb.16 q0, [r7, q4]
    add   r7, r7, #8
    ldr   r0, [sp, #END]
    cmp   r9, r0
    bne   1b
    LEAVE \name
    .balign 4
8:  .hword 0, 4, 1, 5, 2, 6, 3, 7
.endm

/* This macro computes pairs of pixels instead of four more channels. Bytes are at r1 and r3, and weights are at r5. One pair follows the other. */
.macro TWO_PIXELS name, relu
    FUNCTION \name, tmo_mve_conv
    ENTER 14, \relu
    ldr   r12, [r3, #OUT_STEP]
    mov   r6, #0
    vidup.u32 q4, r6, #1
    vidup.u32 q0, r12, #1
    vmovnt.i32 q4, q0
    ldr   r2, [r3, #PAIRS]
    add   r12, sp, #PAIR
    stm   r12, {r2, r3, r5}
    add   r1, r0, r1
3:  strd  r0, r1, [sp, #AGAIN]
    add   r11, r11, r0
1:  ldmia r9, {r0, r2, r4, r6}
    ldmia r9!, {r8, r10, r12, lr}
    ldmia sp, {r1, r3, pc}   /* jumps to the entry */
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
    OUTPUTS 0, \relu
    vstrb.16 q0, [r7, q4]
    add   r7, r7, #4
    ldr   r0, [sp, #END]
    cmp   r9, r0
    bne   1b
    add   r12, sp, #PAIR
    ldm   r12, {r2, r3, r5}
    subs  r2, r2, #1
    beq   4f
    str   r2, [r12]
    ldr   r9, [r3, #SCALES]
    ldrd  r2, r4, [r3, #OUT_STEP]
    ldr   r6, [r3, #CHANNELS]
    rsb   r2, r6, r2, lsl #1
    add   r7, r7, r2
    lsl   r11, r4, #4
    ldrd  r4, r6, [sp, #AGAIN]
    sub   r1, r6, r4
    add   r0, r6, r1
    add   r1, r1, r0
    b     3b
4:  LEAVE \name
.endm

    ONE_PIXEL tmo_mve_conv_1, 0
    TWO_PIXELS tmo_mve_conv_2, 0
    ONE_PIXEL tmo_mve_relu_1, 1
    TWO_PIXELS tmo_mve_relu_2, 1

/* Rows that fit a vector are copied at 2. Adjacent rows of a few whole vectors are copied at 10, other rows at 6, and single bytes at 8.
 *
 *   r0   to     r1   next row     r2   offset     r3   windows left     r4   all rows     r5   their number     r6   bytes     r7   step
 *   r8   apart */
    .equ UNROLLED, 12
    FUNCTION tmo_mve_copy
    push  {r4-r10, lr}
    ldm   r1, {r4-r8}
1:  mov   r1, r4
    cmp   r7, #1
    beq   8f
    cmp   r6, #16
    bhi   4f
    vctp.8 r6
2:  dls   lr, r5
3:  ldr   r12, [r1], #4
    add   r12, r12, r2
    vpstt
    vldrbt.8 q0, [r12]
    vstrbt.8 q0, [r0]
    add   r0, r0, r7
    le    lr, 3b
    add   r2, r2, r8
    mov   r1, r4
    subs  r3, r3, #1
    bne   2b
    pop   {r4-r10, pc}
4:  cmp   r6, r7
    bne   6f
    cmp   r6, #16 * UNROLLED
    bhi   6f
    tst   r6, #15
    bne   6f
    adr   r9, 5f
    sub   r9, r9, r6, lsr #1 /* eight bytes of instructions copy sixteen bytes */
    orr   r9, r9, #1
10: dls   lr, r5
9:  ldr   r12, [r1], #4
    add   r12, r12, r2
    bx    r9
    .balign 4
    .rept UNROLLED
    vldrb.8 q0, [r12], #16
    vstrb.8 q0, [r0], #16
    .endr
5:  le    lr, 9b
    add   r2, r2, r8
    mov   r1, r4
    subs  r3, r3, #1
    bne   10b
    pop   {r4-r10, pc}
6:  mov   r9, r5
7:  ldr   r12, [r1], #4
    add   r12, r12, r2
    mov   r10, r0
    dlstp.8 lr, r6
9:  vldrb.8 q0, [r12], #16
    vstrb.8 q0, [r10], #16
    letp  lr, 9b
    add   r0, r0, r7
    subs  r9, r9, #1
    bne   7b
    b     0f
8:  add   r9, r0, r5         /* the last four bytes may end after the last row */
    dlstp.32 lr, r5
9:  vldrw.u32 q0, [r1], #16
    vldrb.u32 q1, [r2, q0]
    vstrb.32 q1, [r0], #4
    letp  lr, 9b
    mov   r0, r9
0:  add   r2, r2, r8
    subs  r3, r3, #1
    bne   1b
    pop   {r4-r10, pc}
    .size tmo_mve_copy, . - tmo_mve_copy

/* Offsets in a tmo_mve_window from r1, which points behind `base`. */
    .equ BASE, -4
    .equ COLUMNS, 0          /* and dilation_w */
    .equ FIRST, 8            /* and end */
    .equ DILATION_H, 16      /* and gap */
    .equ WIDTH, 24

/* Adjacent pixels of a row are copied together at 6. Pixels of a few whole vectors are copied at 2, and other pixels at 4.
 *
 *   r0   to     r2   lane     r3   column     r4   row of the lane     r5   rows left     r6   bytes of a pixel     r7   instructions for one at 2
 *   r8   next pixel of the rolling buffer     r9   its depth     r10   step     r11   pixel 0 */
    FUNCTION tmo_mve_take
    push  {r1, r4-r11, lr}
    adr   r7, 3f
    ldm   r1!, {r2-r6, r11}
    sub   r7, r7, r6, lsr #1 /* eight bytes of instructions copy sixteen bytes */
    orr   r7, r7, #1
1:  ldrd  r11, r9, [r2]
    ldrh  r12, [r2, #8]
    ldrd  lr, r10, [r1, #COLUMNS]
    mla   r8, r3, r12, r4
    mul   r10, r10, r12
    udiv  r12, r8, r9
    mls   r8, r12, r9, r8
    udiv  r12, r10, r9
    mls   r10, r12, r9, r10
    ldr   r12, [r1, #BASE]
    add   r11, r11, r12
    cmp   r10, #1
    bne   8f
    add   r12, r8, lr
    cmp   r12, r9
    bls   6f
8:  tst   r6, #15
    bne   4f
    cmp   r6, #16 * UNROLLED
    bhi   4f
    dls   lr, lr
2:  mla   r12, r8, r6, r11
    bx    r7
    .balign 4
    .rept UNROLLED
    vldrb.8 q0, [r12], #16
    vstrb.8 q0, [r0], #16
    .endr
3:  add   r8, r8, r10
    cmp   r8, r9
    it    hs
    subhs r8, r8, r9
    le    lr, 2b
    b     7f
4:  str   lr, [sp]           /* pixels left */
    mla   r12, r8, r6, r11
    dlstp.8 lr, r6
5:  vldrb.8 q0, [r12], #16
    vstrb.8 q0, [r0], #16
    letp  lr, 5b
    rsb   r12, r6, #0
    and   r12, r12, #15
    sub   r0, r0, r12
    add   r8, r8, r10
    cmp   r8, r9
    it    hs
    subhs r8, r8, r9
    ldr   lr, [sp]
    subs  lr, lr, #1
    bne   4b
    b     7f
6:  mla   r12, r8, r6, r11
    mul   lr, lr, r6
    mov   r8, r0
    add   r0, r0, lr
    dlstp.8 lr, lr
9:  vldrb.8 q0, [r12], #16
    vstrb.8 q0, [r8], #16
    letp  lr, 9b
7:  ldrd  lr, r12, [r1, #DILATION_H]
    add   r0, r0, r12
    subs  r5, r5, #1
    beq   12f
10: ldrh  r12, [r2, #8]
    add   r4, r4, #1
    cmp   r4, r12
    blo   11f
13: mov   r4, #0
    ldrd  r8, r9, [r1, #FIRST]
    add   r2, r2, #12
    cmp   r2, r9
    bne   14f
    mov   r2, r8
    ldr   r12, [r1, #WIDTH]
    add   r3, r3, r12
14: ldrh  r12, [r2, #8]
    cmp   r12, #0
    beq   13b
11: subs  lr, lr, #1
    bne   10b
    b     1b
12: pop   {r1, r4-r11, pc}
    .size tmo_mve_take, . - tmo_mve_take

    FUNCTION tmo_mve_fill
    push  {r4, lr}
    vdup.8 q0, r1
    dlstp.8 lr, r2
1:  vstrb.8 q0, [r0], #16
    letp  lr, 1b
    pop   {r4, pc}
    .size tmo_mve_fill, . - tmo_mve_fill

#endif
