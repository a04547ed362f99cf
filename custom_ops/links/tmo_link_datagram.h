/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this header connect devices by datagrams, such as the frames of ESP-NOW and other radios. A frame of the radio holds few bytes,
 * and arrives completely or not at all. The receiving radio acknowledges each frame.
 *
 * At most one frame to each device is in transit. The library sends a frame again until the frame is acknowledged. Each frame begins with the numbers
 * of the session and of the frame, so the receiver recognises repeated frames and ignores them. The receiver gets all bytes exactly once and in
 * order. If the other device does not answer, the timeout `patience` of the tmo_link ends the run. A frame that is not full is sent when the run
 * waits or when a new run begins. After the last run, call tmo_datagram_done() to send the bytes of the last frame. */
#ifndef TMO_LINK_DATAGRAM_H_
#define TMO_LINK_DATAGRAM_H_

#include "tmo_link.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_DATAGRAM_HEAD 2
#define TMO_DATAGRAM_BYTES 250 /* largest size of a frame in bytes, which is ESP_NOW_MAX_DATA_LEN */

/* The connection to one other device. Before the first use, set the fields `received` and `room` of the tmo_datagram_link, and set all other fields
 * to zero. */
typedef struct {
  uint8_t *received;       /* ring buffer for bytes that were received but not yet read */
  uint32_t room;           /* size of `received` in bytes, a power of two; the size must be at least the report's `room_for_all` */
  uint32_t written, read;  /* total number of bytes written to `received` by the radio's task, and total number of bytes read by the run */
  uint8_t frame[TMO_DATAGRAM_BYTES];
  uint8_t bytes;           /* number of bytes in the frame, including the frame's head of two bytes */
  uint8_t number;          /* number of the frame, which the head of the frame contains */
  uint8_t state;           /* whether the frame is being filled, on its way, lost or acknowledged */
  uint8_t last[TMO_DATAGRAM_HEAD]; /* head of the frame that was received last */
  bool has_last;
} tmo_datagram_link;

typedef struct {
  /* Begins to send a frame to the device `peer`. send() returns false if the radio cannot send now. Call tmo_datagram_sent() when the radio
   * knows whether the frame has arrived. */
  bool (*send)(void *radio, uint8_t peer, const uint8_t *frame, uint32_t bytes);
  uint32_t (*milliseconds)(void); /* function such as millis() that returns a clock's time; the time may wrap */
  void *radio;
  tmo_datagram_link *links; /* array with one entry for each device; the entry of this device is unused */
  uint8_t n_devices;
  uint8_t session;          /* random number that differs after each restart, so that the receiver recognises older frames */
} tmo_datagrams;

tmo_transport tmo_datagram_transport(tmo_datagrams *datagrams);

/* Begins to send all frames that have unsent bytes. tmo_datagram_done() returns whether all frames have been acknowledged. Call tmo_datagram_done()
 * again until the result is true. */
bool tmo_datagram_done(tmo_datagrams *datagrams);

/* Call tmo_datagram_came() when a frame has arrived from the device `peer`. tmo_datagram_came() copies the frame's bytes. If the frame does not fit
 * into the buffer `received`, tmo_datagram_came() drops the frame, and the inference ends with an error. The task of the radio may call
 * tmo_datagram_came(). */
void tmo_datagram_came(tmo_datagrams *datagrams, uint8_t peer, const uint8_t *frame, uint32_t bytes);

/* Call tmo_datagram_sent() when the frame to the device `peer` has arrived or is lost. The task of the radio may call tmo_datagram_sent(). */
void tmo_datagram_sent(tmo_datagrams *datagrams, uint8_t peer, bool acknowledged);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_DATAGRAM_H_ */
