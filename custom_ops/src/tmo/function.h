/* SPDX-License-Identifier: Apache-2.0 */
/* This header has a macro that begins a Thumb function in assembly. */
#ifndef TMO_FUNCTION_H_
#define TMO_FUNCTION_H_

    .syntax unified
    .thumb

/* Without the argument `of`, the function gets a section of its own, which the linker can leave out. The argument `of` names a function whose section
 * the new function shares. */
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
