/* SPDX-License-Identifier: Apache-2.0 */
/* This link connects devices by UARTs or other streams of bytes, with two callbacks for each link.
 *
 * Each message begins with a head that has its own CRC, so a receiver finds the next message after bytes were lost, added or damaged. A link needs no
 * flow control if the receiver's buffer is as large as `optimize --devices` prints for this link. */
#ifndef TMO_LINK_UART_H_
#define TMO_LINK_UART_H_

#include "tmo_link.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The UART link to one peer. Neither read() nor write() may wait. */
typedef struct {
  /* read() reads bytes and returns their number. read() returns 0 if there are no bytes now, or a negative number if the port is broken. */
  int32_t (*read)(void *port, uint8_t *bytes, uint32_t room);
  /* write() writes bytes and returns the number of bytes accepted. write() returns 0 if there is no space now, or a negative number if the port is
   * broken. */
  int32_t (*write)(void *port, const uint8_t *bytes, uint32_t count);
  void *port;
  uint8_t ahead; /* a byte that arrived while the run waited; the field is zero at the start */
  bool has_ahead;
} tmo_uart;

typedef struct {
  tmo_uart *links; /* link to each peer, indexed by device number; the entry of this device is unused */
  uint8_t n_devices;
  uint32_t (*milliseconds)(void); /* returns the time of a clock that may wrap, such as millis() */
} tmo_uarts;

tmo_transport tmo_uart_transport(tmo_uarts *uarts);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_UART_H_ */
