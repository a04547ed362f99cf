/* SPDX-License-Identifier: Apache-2.0 */
/* Devices linked by datagrams: ESP-NOW and other radios, whose frames hold few bytes, come whole or not at all, and are acknowledged.
 *
 * A link sends one frame at a time and repeats it until it is acknowledged. Two bytes before its content, session and number, make sure that a
 * repeated frame counts once. So rows arrive as on a wire, only later. A lost peer is detected by the link's timeout.
 * An incomplete frame is sent as soon as the run waits or begins again. A device that does neither calls tmo_datagram_done(). */
#ifndef TMO_LINK_DATAGRAM_H_
#define TMO_LINK_DATAGRAM_H_

#include "tmo_link.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_DATAGRAM_HEAD 2
#define TMO_DATAGRAM_BYTES 250 /* of a frame, at the most: ESP_NOW_MAX_DATA_LEN */

/* The link to one peer. Set `ring` and `room`; all other fields must be zero at the start. */
typedef struct {
  uint8_t *ring;           /* received bytes that were not read */
  uint32_t room;           /* a power of two, at least `room_for_all` of the report: frames that find no room are lost */
  uint32_t written, read;  /* bytes since the start: written by the radio's task, read by the run */
  uint8_t frame[TMO_DATAGRAM_BYTES];
  uint8_t bytes;           /* bytes of the frame, including its head */
  uint8_t number;          /* number of the frame */
  uint8_t state;           /* being filled, sent, lost or acknowledged */
  uint8_t last[TMO_DATAGRAM_HEAD]; /* head of the last received frame */
  bool has_last;
} tmo_datagram_line;

typedef struct {
  /* Begins to send a frame to a peer. Call tmo_datagram_sent() when it has been sent or lost. False: it cannot send now. */
  bool (*send)(void *radio, uint8_t peer, const uint8_t *frame, uint32_t bytes);
  uint32_t (*milliseconds)(void); /* a clock that may wrap: millis() */
  void *radio;
  tmo_datagram_line *lines; /* indexed by device number; the own one is unused */
  uint8_t n_devices;
  uint8_t session;          /* random after each restart, to distinguish new frames from those before the restart */
} tmo_datagrams;

tmo_transport tmo_datagram_transport(tmo_datagrams *datagrams);

/* Sends the remaining bytes. False: some are not acknowledged yet, call it again. */
bool tmo_datagram_done(tmo_datagrams *datagrams);

/* Call this when a frame has arrived from a peer. The frame is copied, or dropped without space, which ends the inference with a status.
 * It can be called from the radio's task. */
void tmo_datagram_came(tmo_datagrams *datagrams, uint8_t peer, const uint8_t *frame, uint32_t bytes);

/* Call this when the frame to a peer has arrived or is lost. It can be called from the radio's task. */
void tmo_datagram_sent(tmo_datagrams *datagrams, uint8_t peer, bool acknowledged);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_DATAGRAM_H_ */
