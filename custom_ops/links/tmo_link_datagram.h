/* SPDX-License-Identifier: Apache-2.0 */
/* Devices linked by datagrams: ESP-NOW and other radios, whose frames hold few bytes, come whole or not at all, and are acknowledged.
 *
 * A line has one frame on its way at a time. It is sent again until it is acknowledged; one that came twice is taken once, by the two bytes in
 * front of its content: whose, and which. So rows arrive as on a wire, only later; a peer that is gone is found by the link's patience.
 * What does not fill a frame is sent as soon as the run waits, or begins again. A device that does neither calls tmo_datagram_done(). */
#ifndef TMO_LINK_DATAGRAM_H_
#define TMO_LINK_DATAGRAM_H_

#include "tmo_link.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_DATAGRAM_HEAD 2
#define TMO_DATAGRAM_BYTES 250 /* of a frame, at the most: ESP_NOW_MAX_DATA_LEN */

/* The line to one peer. Set `ring` and `room`; all else zero at first. */
typedef struct {
  uint8_t *ring;           /* what came and nobody has read */
  uint32_t room;           /* a power of two, at least what `optimize --devices` says a line holds */
  uint32_t written, read;  /* bytes ever: of the radio's task, and of the run */
  uint8_t frame[TMO_DATAGRAM_BYTES];
  uint8_t bytes;           /* of the frame, its head included */
  uint8_t number;          /* of the frame */
  uint8_t state;           /* of the frame: being filled, on its way, lost, acknowledged */
  uint8_t last[TMO_DATAGRAM_HEAD]; /* head of the frame that came last */
  bool has_last;
} tmo_datagram_line;

typedef struct {
  /* Begins to send a frame to a peer; how it ends tmo_datagram_sent() is told. False: not now. */
  bool (*send)(void *radio, uint8_t peer, const uint8_t *frame, uint32_t bytes);
  uint32_t (*milliseconds)(void); /* a clock that may wrap: millis() */
  void *radio;
  tmo_datagram_line *lines; /* by the peer's number; its own is not used */
  uint8_t n_devices;
  uint8_t session;          /* another one after each restart, at random: what tells the first frames of now from those of before */
} tmo_datagrams;

tmo_transport tmo_datagram_transport(tmo_datagrams *datagrams);

/* Sends what is left. False: not all of it is acknowledged yet, call it again. */
bool tmo_datagram_done(tmo_datagrams *datagrams);

/* A frame came from a peer. It is copied; one that finds no room is dropped, which ends an inference with a status. From the radio's own task, too. */
void tmo_datagram_came(tmo_datagrams *datagrams, uint8_t peer, const uint8_t *frame, uint32_t bytes);

/* The frame that was on its way to a peer has arrived, or not. From the radio's own task, too. */
void tmo_datagram_sent(tmo_datagrams *datagrams, uint8_t peer, bool acknowledged);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_DATAGRAM_H_ */
