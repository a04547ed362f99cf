/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo_link_uart.h"

#include <stddef.h>

static tmo_uart *line_to(const tmo_uarts *uarts, uint8_t peer) { return peer < uarts->n_devices ? &uarts->lines[peer] : NULL; }

static int32_t send_some(void *context, uint8_t peer, const uint8_t *bytes, uint32_t count) {
  tmo_uart *const line = line_to((const tmo_uarts *)context, peer);
  return line != NULL ? line->write(line->port, bytes, count) : -1;
}

static int32_t receive_some(void *context, uint8_t peer, uint8_t *bytes, uint32_t room) {
  tmo_uart *const line = line_to((const tmo_uarts *)context, peer);
  if (line == NULL) return -1;
  if (!line->has_ahead || room == 0) return line->read(line->port, bytes, room);
  bytes[0] = line->ahead;
  line->has_ahead = false;
  return 1;
}

/* Waits until a byte arrives. If `sends` is set, waiting also stops after a millisecond. */
static uint32_t wait_for(void *context, uint8_t peer, bool sends, uint32_t milliseconds) {
  const tmo_uarts *const uarts = (const tmo_uarts *)context;
  tmo_uart *const line = line_to(uarts, peer);
  const uint32_t begun = uarts->milliseconds(), most = sends && milliseconds > 1 ? 1 : milliseconds;
  uint32_t passed = 0;
  while (line != NULL && !line->has_ahead && passed < most) {
    const int32_t n = sends ? 0 : line->read(line->port, &line->ahead, 1);
    if (n < 0) break; /* the next call of receive() will return the error */
    line->has_ahead = n > 0;
    passed = uarts->milliseconds() - begun;
  }
  return passed;
}

tmo_transport tmo_uart_transport(tmo_uarts *uarts) {
  const tmo_transport transport = {send_some, receive_some, wait_for, uarts};
  return transport;
}
