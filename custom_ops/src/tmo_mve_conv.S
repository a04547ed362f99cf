/* SPDX-License-Identifier: Apache-2.0 */
/* These functions of tmo/packed.h compute packed convolutions on Helium, with the same bits as their twins in C. The functions tmo_mve_conv_1() and
 * tmo_mve_relu_1() compute eight channels of one pixel at once. The functions tmo_mve_conv_2() and tmo_mve_relu_2() compute four channels of two
 * pixels at once. The functions tmo_mve_copy() and tmo_mve_take() copy input values, and tmo_mve_fill() fills memory with a value.
 *
 * Eight sums are computed at once. All channels share a load of sixteen values, and all pixels share a load of sixteen weights. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

#include "tmo/function.h"

/* SCALES and the next symbols are offsets of fields in a tmo_mve_job. */
    .equ SCALES, 0
    .equ OUT, 4
    .equ OUT_STEP, 8
    .equ TURNS, 12
    .equ CHANNELS, 16
    .equ ZERO, 20
    .equ LEAST, 24
    .equ MOST, 28
    .equ PAIRS, 32

/* AGAIN and the next symbols are offsets in the stack frame. */
    .equ AGAIN, 0            /* initial values of r1 and r3 */
    .equ ENTRY, AGAIN + 8
    .equ END, 12             /* Register r9 is this address when all channels are done. */
    .equ OWN_ZERO, 16
    .equ PAIR, 20            /* number of pairs that are left, address of the job, and address of the weights */
    .equ FRAME, 32

    .section .text.tmo_mve_conv, "ax", %progbits
    .balign 4

/* enter() prepares registers and the stack frame. Registers r0 to r3 are the arguments of a tmo_mve_conv function. Register r8 is the address of the
 * loop's code, and r6 is the number of code bytes that multiply sixteen values. The function sets r4 to the number of channels.
 *
 * An iteration of the loop multiplies four times sixteen values. For other numbers of vectors, the first iteration begins at the address ENTRY,
 * which skips up to three vectors. */
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

/* Computes eight outputs in two vectors of four. Registers r0, r2, r4 and r6 hold the sums of the first vector, and r8, r10, r12 and lr hold the sums
 * of the second vector. Register q4 holds the distances at which the caller stores the bytes. The multipliers are at r9, and the shifts are at r9 +
 * 16. The scales of the second vector are `second` bytes further. The macro advances r9 to the next scales. If `relu` is 1, the macro omits `sums >>
 * 31`, because negative sums saturate to the zero point. */
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

/* This macro defines a function that computes eight channels of one pixel at once. Registers r0, r2, r4 and r6 hold the sums of the first four
 * channels, and r8, r10, r12 and lr hold the sums of the last four channels. Register r1 points to the next bytes, and r11 is the end of the bytes.
 * Register r5 points to the next weights of the first four channels, and r3 points to the next weights of the last four channels. Register r7 points
 * to the next outputs, and r9 points to the next scales. */
.macro ONE_PIXEL name, relu
    FUNCTION \name, tmo_mve_conv
    ENTER 17, \relu
    adr   r4, 8f
    vldrh.u16 q4, [r4]
    lsl   r3, r11, #2        /* The weights of four channels take this number of bytes. */
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

/* This macro defines a function that computes four channels of two pixels at once, for one pair of pixels after the other. Registers r1 and r3 point
 * to the next bytes of the two pixels, and r5 points to the next weights. */
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
    ldmia sp, {r1, r3, pc}   /* jumps to the address ENTRY */
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

/* tmo_mve_copy() has four loops. The code at label 2 copies rows of up to 16 bytes. The code at label 10 copies rows of a few whole vectors to
 * adjacent addresses. The code at label 6 copies other rows, and the code at label 8 copies single bytes.
 *
 * Register r0 points to the destination, and r1 points to the next row in the list of rows. Register r2 is the argument `offset`, and r3 is the
 * number of windows that are left. Registers r4 to r8 hold the fields of tmo_mve_rows in order. */
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
    sub   r9, r9, r6, lsr #1 /* Eight bytes of instructions copy sixteen bytes. */
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
8:  add   r9, r0, r5         /* The last store of four bytes may end after the last row. */
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

/* BASE and the next symbols are offsets in a tmo_mve_window from r1, which points to the field after `base`. */
    .equ BASE, -4
    .equ COLUMNS, 0          /* The next field is dilation_w. */
    .equ FIRST, 8            /* The next field is `end`. */
    .equ DILATION_H, 16      /* The next field is `gap`. */
    .equ WIDTH, 24

/* Moves from one row under a window to the next one, and jumps to label 1. Register lr holds the distance of both rows, and r1 to r4 have the meaning
 * that tmo_mve_take() states. */
.macro NEXT_ROW
20: ldrh  r12, [r2, #8]
    add   r4, r4, #1
    cmp   r4, r12
    blo   23f
21: mov   r4, #0
    ldrd  r8, r9, [r1, #FIRST]
    add   r2, r2, #12
    cmp   r2, r9
    bne   22f
    mov   r2, r8
    ldr   r12, [r1, #WIDTH]
    add   r3, r3, r12
22: ldrh  r12, [r2, #8]
    cmp   r12, #0
    beq   21b
23: subs  lr, lr, #1
    beq   1b
    b     20b
.endm

/* tmo_mve_take() has three loops. The code at label 6 copies the adjacent pixels of a row together. The code at label 2 copies pixels of a few whole
 * vectors, and the code at label 4 copies other pixels.
 *
 * Register r0 points to the destination. Register r2 points to the current column window. Register r3 is the column of the first pixel, and r4 is
 * the number of the row inside the column window. Register r5 is the number of rows that are left. Register r6 is the number of bytes of a pixel.
 * Register r7 is the address of the code that copies a pixel at label 2. Register r8 is the position of the next pixel in the rolling buffer, and r9
 * is the number of pixels in the rolling buffer. Register r10 is the distance between pixels. Register r11 is the address of the rolling buffer. */
    FUNCTION tmo_mve_take
    push  {r1, r4-r11, lr}
    adr   r7, 3f
    ldm   r1!, {r2-r6, r11}
    sub   r7, r7, r6, lsr #1 /* Eight bytes of instructions copy sixteen bytes. */
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
4:  str   lr, [sp]           /* number of pixels that are left */
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
    NEXT_ROW
12: pop   {r1, r4-r11, pc}
    .size tmo_mve_take, . - tmo_mve_take

/* tmo_mve_list() writes the addresses of pixels to the list at r0. The code at label 3 lists adjacent pixels of a column window with one row. The code
 * at label 2 lists other pixels.
 *
 * Registers r1 to r6 have the same meaning as in tmo_mve_take(), and r11 is the base address. At label 2, register r7 is the address of the next pixel,
 * and r10 is the distance between pixels in bytes. Register r8 is the end of the rolling buffer, and r9 is the size of the rolling buffer in bytes. */
    FUNCTION tmo_mve_list
    push  {r4-r11, lr}
    ldm   r1!, {r2-r6, r11}
    ldrh  r12, [r2, #8]
    cmp   r12, #1
    bne   11f
8:  ldrd  lr, r10, [r1, #COLUMNS]
    ldrd  r8, r9, [r2]
    cmp   r10, #1
    bne   1f
    add   r8, r8, r11
    udiv  r7, r3, r9
    mls   r12, r7, r9, r3
    add   r7, r0, lr, lsl #2
    dlstp.32 lr, lr
3:  viwdup.u32 q0, r12, r9, #1
    vmul.i32 q0, q0, r6
    vadd.i32 q0, q0, r8
    vstrw.32 q0, [r0], #16
    letp  lr, 3b
    subs  r5, r5, #1
    beq   6f
    ldrd  lr, r12, [r1, #DILATION_H]
    add   r0, r7, r12
9:  ldrd  r8, r9, [r1, #FIRST]
    add   r2, r2, #12
    cmp   r2, r9
    bne   10f
    mov   r2, r8
    ldr   r12, [r1, #WIDTH]
    add   r3, r3, r12
10: ldrh  r12, [r2, #8]
    cmp   r12, #1
    bne   22f
    subs  lr, lr, #1
    beq   8b
    b     9b
1:  ldrh  r12, [r2, #8]
11: ldrd  r8, r9, [r2]
    ldrd  lr, r10, [r1, #COLUMNS]
    add   r8, r8, r11
    mla   r7, r3, r12, r4
    mul   r10, r10, r12
    udiv  r12, r7, r9
    mls   r7, r12, r9, r7
    udiv  r12, r10, r9
    mls   r10, r12, r9, r10
    mla   r7, r7, r6, r8
    mul   r10, r10, r6
    mul   r9, r9, r6
    add   r8, r8, r9
    dls   lr, lr
2:  str   r7, [r0], #4
    add   r7, r7, r10
    cmp   r7, r8
    it    hs
    subhs r7, r7, r9
    le    lr, 2b
    subs  r5, r5, #1
    beq   6f
    ldrd  lr, r12, [r1, #DILATION_H]
    add   r0, r0, r12
    NEXT_ROW
6:  pop   {r4-r11, pc}
    .size tmo_mve_list, . - tmo_mve_list

    FUNCTION tmo_mve_fill
    push  {r4, lr}
    vdup.8 q0, r1
    dlstp.8 lr, r2
1:  vstrb.8 q0, [r0], #16
    letp  lr, 1b
    pop   {r4, pc}
    .size tmo_mve_fill, . - tmo_mve_fill

#endif
