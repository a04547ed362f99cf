/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a function in assembly for Thumb. */
#ifndef TMO_FUNCTION_H_
#define TMO_FUNCTION_H_

    .syntax unified
    .thumb

/* Begins a function in a section of its own, which the linker can leave out, or in that of another function. */
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

#endif
