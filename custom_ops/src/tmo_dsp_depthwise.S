/* The core of packed depthwise convolutions: tmo_dsp_depthwise of tmo/packed.h, bit for bit its twin in C.
 *
 * Four channels of one pixel at a time, three taps in a turn. All constants come as one stream, in the order in which they are wanted.
 *
 *   r0..r3   sums        r4..r6   addresses, then bytes of three taps        r7, r8   weights        r9   values
 *   r10      bytes to the first of the four channels      r11   end of the taps      r12   next constants      lr   next tap */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

    .syntax unified
    .thumb

    .equ TAPS, 0
    .equ OUT, 4
    .equ FRAME, 8
    .equ TURNS, FRAME + 36
    .equ CHANNELS, FRAME + 40

.macro TAP bytes
    ldrd  r7, r8, [r12], #8
    sxtb16 r9, \bytes
    sxtb16 \bytes, \bytes, ror #8
    smlabb r0, r9, r7, r0
    smlatt r2, r9, r7, r2
    smlabb r1, \bytes, r8, r1
    smlatt r3, \bytes, r8, r3
.endm

.macro SCALE sum
    ldmia r12!, {r4, r5, r6}
    add   r7, \sum, \sum, asr #31
    add   r7, r7, r5
    smmlar \sum, \sum, r4, r7
    asr   \sum, \sum, r6
    ssat  \sum, #8, \sum
.endm

    .section .text.tmo_dsp_depthwise, "ax", %progbits
    .balign 4
    .global tmo_dsp_depthwise
    .type tmo_dsp_depthwise, %function
    .thumb_func
tmo_dsp_depthwise:
    push  {r4-r11, lr}
    sub   sp, #FRAME
    sub   r2, r2, r3          /* so that out + r10 is where outputs go */
    strd  r0, r2, [sp, #TAPS]
    mov   r12, r1
    mov   r10, r3
    ldrd  r4, r5, [sp, #TURNS]
    add   r4, r4, r4, lsl #1
    add   r11, r0, r4, lsl #2
    add   r5, r5, r3          /* the last channels end here */
    str   r5, [sp, #CHANNELS]
1:  ldmia r12!, {r0-r3}
    ldr   lr, [sp, #TAPS]
2:  ldmia lr!, {r4-r6}
    ldr   r4, [r4, r10]
    ldr   r5, [r5, r10]
    ldr   r6, [r6, r10]
    TAP   r4
    TAP   r5
    TAP   r6
    cmp   lr, r11
    bne   2b
    SCALE r0
    SCALE r1
    SCALE r2
    SCALE r3
    bfi   r0, r1, #8, #8
    bfi   r2, r3, #8, #8
    pkhbt r0, r0, r2, lsl #16
    ldr   r4, [sp, #OUT]
    str   r0, [r4, r10]
    ldr   r5, [sp, #CHANNELS]
    add   r10, r10, #4
    subs  r6, r5, r10
    beq   3f
    cmp   r6, #4
    it    lt
    sublt r10, r5, #4         /* the last four overlap those before them */
    b     1b
3:  add   sp, #FRAME
    pop   {r4-r11, pc}
    .size tmo_dsp_depthwise, . - tmo_dsp_depthwise

#endif
