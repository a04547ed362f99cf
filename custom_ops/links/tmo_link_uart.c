/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo_link_uart.h"

#include <stddef.h>

static tmo_uart *link_to(const tmo_uarts *uarts, uint8_t peer) { return peer < uarts->n_devices ? &uarts->links[peer] : NULL; }

static int32_t send_some(void *context, uint8_t peer, const uint8_t *bytes, uint32_t count) {
  tmo_uart *const link = link_to((const tmo_uarts *)context, peer);
  return link != NULL ? link->write(link->port, bytes, count) : -1;
}

static int32_t receive_some(void *context, uint8_t peer, uint8_t *bytes, uint32_t room) {
  tmo_uart *const link = link_to((const tmo_uarts *)context, peer);
  if (link == NULL) return -1;
  if (!link->has_ahead || room == 0) return link->read(link->port, bytes, room);
  bytes[0] = link->ahead;
  link->has_ahead = false;
  return 1;
}

/* Waits until a byte arrives, but at most `milliseconds` milliseconds. If the argument `sends` is true, the function waits at most one millisecond. */
static uint32_t wait_for(void *context, uint8_t peer, bool sends, uint32_t milliseconds) {
  const tmo_uarts *const uarts = (const tmo_uarts *)context;
  tmo_uart *const link = link_to(uarts, peer);
  const uint32_t begun = uarts->milliseconds(), most = sends && milliseconds > 1 ? 1 : milliseconds;
  uint32_t passed = 0;
  while (link != NULL && !link->has_ahead && passed < most) {
    const int32_t n = sends ? 0 : link->read(link->port, &link->ahead, 1);
    if (n < 0) break; /* the next call of receive() returns the error of read() */
    link->has_ahead = n > 0;
    passed = uarts->milliseconds() - begun;
  }
  return passed;
}

tmo_transport tmo_uart_transport(tmo_uarts *uarts) {
  const tmo_transport transport = {send_some, receive_some, wait_for, uarts};
  return transport;
}
