/* SPDX-License-Identifier: Apache-2.0 */
/* Devices linked by UARTs or other streams of bytes: two callbacks for each link.
 *
 * Messages need no additional framing. Each message begins with a head that has its own CRC, so a receiver finds the next message after
 * bytes were lost, added or damaged. A link needs no flow control if the receiver's buffer is as large as `optimize --devices` prints
 * for this link. */
#ifndef TMO_LINK_UART_H_
#define TMO_LINK_UART_H_

#include "tmo_link.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The link to one peer. Neither callback may wait. */
typedef struct {
  int32_t (*read)(void *port, uint8_t *bytes, uint32_t room);         /* reads bytes; returns their number, 0 if there are none now, or a negative number if the port is broken */
  int32_t (*write)(void *port, const uint8_t *bytes, uint32_t count); /* writes bytes; returns how many were accepted, 0 if there is no space now, or a negative number if the port is broken */
  void *port;
  uint8_t ahead; /* byte that arrived while the run waited; zero at the start */
  bool has_ahead;
} tmo_uart;

typedef struct {
  tmo_uart *lines; /* line to each peer, indexed by device number; this device's own entry is unused */
  uint8_t n_devices;
  uint32_t (*milliseconds)(void); /* returns the time of a clock that may wrap, such as millis() */
} tmo_uarts;

tmo_transport tmo_uart_transport(tmo_uarts *uarts);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_UART_H_ */
