/* SPDX-License-Identifier: Apache-2.0 */
/* This header has macros for Thumb functions in assembly. */
#ifndef TMO_FUNCTION_H_
#define TMO_FUNCTION_H_

    .syntax unified
    .thumb

/* Starts a function in a section of its own, which the linker can omit. If the argument `of` names another function, both functions share a section,
 * so the linker keeps both or omits both. */
.macro FUNCTION name, of
  .ifb \of
    .section .text.\name, "ax", %progbits
  .else
    .section .text.\of, "ax", %progbits
  .endif
    .balign 4
    .global \name
    .type \name, %function
    .thumb_func
\name:
.endm

/* Scales a sum to an int8 output by the scale's constants m2, c and e. The macro changes the register `spare` and the flags. With the width .w, all
 * instructions have 32 bits. */
.macro SCALE_BY m2, c, e, sum, spare, width
    add\width \spare, \sum, \sum, asr #31
    add\width \spare, \spare, \c
    smmlar \sum, \sum, \m2, \spare
    asrs\width \sum, \sum, \e
    ssat  \sum, #8, \sum
.endm

#endif
