/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tmo/kernels.h"

/* Loads and stores four bytes at once if the addresses of input and output have the same lowest two bits. */
void tmo_lookup_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *x = window->pixels[0];
  const uint8_t *const table = (const uint8_t *)k->weights;
  uint32_t n = k->out_width * k->out_channels;
  if (n < 8 || ((uintptr_t)x ^ (uintptr_t)out) % sizeof(uint32_t) != 0) {
    tmo_lookup_bytes(k, window, out);
    return;
  }
  for (; (uintptr_t)x % sizeof(uint32_t) != 0; --n) *out++ = (int8_t)table[128 + *x++];
  for (; n >= 4; n -= 4, x += 4, out += 4) {
    uint32_t from, to;
    memcpy(&from, TMO_WORDS(x), sizeof from);
    from ^= 0x80808080u; /* entry 0 of the table is the result for the value -128 */
    to = table[from & 255] | (uint32_t)table[from >> 8 & 255] << 8 | (uint32_t)table[from >> 16 & 255] << 16 | (uint32_t)table[from >> 24] << 24;
    memcpy(TMO_WORDS(out), &to, sizeof to);
  }
  for (; n > 0; --n) *out++ = (int8_t)table[128 + *x++];
}
