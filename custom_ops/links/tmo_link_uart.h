/* SPDX-License-Identifier: Apache-2.0 */
/* This header connects devices by UARTs or by any streams of bytes. The application provides two callbacks for each other device.
 *
 * Each message begins with a head that has its own CRC, so the receiver finds the next message after bytes were lost, added or damaged. A UART needs
 * no flow control if the receiver's buffer is at least as large as `optimize --devices` prints. */
#ifndef TMO_LINK_UART_H_
#define TMO_LINK_UART_H_

#include "tmo_link.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The UART to one other device. The callbacks read() and write() must not wait. */
typedef struct {
  /* Reads bytes and returns the number of bytes. read() returns 0 if no bytes have arrived, and a negative number if the port is broken. */
  int32_t (*read)(void *port, uint8_t *bytes, uint32_t room);
  /* Writes bytes and returns the number of accepted bytes. write() returns 0 if the port's buffer is full, and a negative number if the port is
   * broken. */
  int32_t (*write)(void *port, const uint8_t *bytes, uint32_t count);
  void *port;
  uint8_t ahead; /* byte that tmo_link_wait() has read from the port before tmo_push() needed it */
  bool has_ahead;
} tmo_uart;

typedef struct {
  tmo_uart *links; /* array with one entry for each device; the entry of this device is unused */
  uint8_t n_devices;
  uint32_t (*milliseconds)(void); /* function such as millis() that returns a clock's time; the time may wrap */
} tmo_uarts;

tmo_transport tmo_uart_transport(tmo_uarts *uarts);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_UART_H_ */
