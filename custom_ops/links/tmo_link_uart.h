/* SPDX-License-Identifier: Apache-2.0 */
/* This header connects devices by UARTs or other streams of bytes. The application provides two callbacks for each other device.
 *
 * Each message begins with a head that has its own CRC, so the receiver finds the next message after bytes were lost, added or damaged. A UART needs
 * no flow control if the receiver's buffer has at least the size that `optimize --devices` prints for it. */
#ifndef TMO_LINK_UART_H_
#define TMO_LINK_UART_H_

#include "tmo_link.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The UART to one other device. Neither of the callbacks read() and write() may wait. */
typedef struct {
  /* read() reads bytes and returns their number. The result is 0 if no bytes have arrived, and negative if the port is broken. */
  int32_t (*read)(void *port, uint8_t *bytes, uint32_t room);
  /* write() writes bytes and returns how many it accepted. The result is 0 if the port's buffer is full, and negative if the port is broken. */
  int32_t (*write)(void *port, const uint8_t *bytes, uint32_t count);
  void *port;
  uint8_t ahead; /* byte that tmo_link_wait() has read before the run asked for it */
  bool has_ahead;
} tmo_uart;

typedef struct {
  tmo_uart *links; /* array with one entry for each device; the entry of this device is unused */
  uint8_t n_devices;
  uint32_t (*milliseconds)(void); /* function such as millis() that returns the time of a clock, which may wrap */
} tmo_uarts;

tmo_transport tmo_uart_transport(tmo_uarts *uarts);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_UART_H_ */
