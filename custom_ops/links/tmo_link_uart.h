/* SPDX-License-Identifier: Apache-2.0 */
/* Devices linked by UARTs, or by whatever else carries a stream of bytes: two callbacks for each line.
 *
 * No framing beside that of the messages: each begins with a head that has a CRC of its own, so that a receiver finds the next one behind bytes
 * that were lost, added or damaged. Lines need no flow control where a receiver's buffer holds what `optimize --devices` says a line holds. */
#ifndef TMO_LINK_UART_H_
#define TMO_LINK_UART_H_

#include "tmo_link.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The line to one peer. Neither callback waits. */
typedef struct {
  int32_t (*read)(void *port, uint8_t *bytes, uint32_t room);         /* how many came, 0: none now; negative: broken */
  int32_t (*write)(void *port, const uint8_t *bytes, uint32_t count); /* how many were taken, 0: no room now; negative: broken */
  void *port;
  uint8_t ahead; /* a byte that came while the run waited for it; all zero at first */
  bool has_ahead;
} tmo_uart;

typedef struct {
  tmo_uart *lines; /* by the peer's number; its own is not used */
  uint8_t n_devices;
  uint32_t (*milliseconds)(void); /* a clock that may wrap: millis() */
} tmo_uarts;

tmo_transport tmo_uart_transport(tmo_uarts *uarts);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_UART_H_ */
