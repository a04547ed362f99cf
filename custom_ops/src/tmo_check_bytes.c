/* SPDX-License-Identifier: Apache-2.0 */
/* This file checks that ranges of bytes are inside a program, its workspace and its buffers. */
#include "tmo/check.h"

TMO_OWN_FRAME uint32_t tmo_times(uint32_t a, uint32_t b) {
  const uint64_t product = (uint64_t)a * b;
  return product < TMO_TOO_MANY ? (uint32_t)product : TMO_TOO_MANY;
}

bool tmo_lies_in(uint32_t size, uint32_t offset, uint32_t bytes, uint32_t alignment) {
  return (offset & (alignment - 1)) == 0 && offset <= size && bytes <= size - offset && bytes != TMO_TOO_MANY;
}

bool tmo_in_workspace(const tmo_checker *c, uint32_t offset, uint32_t bytes, uint32_t alignment) {
  return tmo_lies_in(tmo_header_of(c->program)->workspace, offset, bytes, alignment);
}

bool tmo_has_constant(const tmo_checker *c, uint32_t offset, uint32_t bytes, uint32_t alignment) {
  return tmo_lies_in(tmo_header_of(c->program)->size, offset, offset == 0 ? TMO_TOO_MANY : bytes, alignment);
}

bool tmo_has_weights(const tmo_checker *c, const tmo_op *op, uint32_t bytes, uint32_t alignment) {
  if (!tmo_copies_weights(op)) return tmo_has_constant(c, op->weights, bytes, alignment);
  return bytes <= tmo_copied_of(c->program, op)->bytes; /* check_copied() has checked the record of the copied weights */
}

bool tmo_has_words(const tmo_checker *c, uint32_t offset, uint32_t n) { return tmo_has_constant(c, offset, tmo_times(4, n), 4); }
