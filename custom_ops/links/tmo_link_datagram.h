/* SPDX-License-Identifier: Apache-2.0 */
/* This link connects devices by datagrams, as ESP-NOW and other radios do. A radio's frame holds few bytes, arrives whole or not at all, and is
 * acknowledged.
 *
 * A link sends one frame at a time and repeats the frame until it is acknowledged. Each frame begins with two bytes, session and number, so that
 * repeated frames are recognised and ignored. The receiver therefore gets all bytes once and in order. The link's timeout detects a lost peer. An
 * incomplete frame is sent as soon as the run waits or a new run begins. After the last run, call tmo_datagram_done() to send the remaining bytes. */
#ifndef TMO_LINK_DATAGRAM_H_
#define TMO_LINK_DATAGRAM_H_

#include "tmo_link.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_DATAGRAM_HEAD 2
#define TMO_DATAGRAM_BYTES 250 /* maximum size of a frame in bytes, as ESP_NOW_MAX_DATA_LEN */

/* The datagram link to one peer. Set `received` and `room`; all other fields must be zero at the start. */
typedef struct {
  uint8_t *received;       /* buffer for received bytes that were not read yet */
  uint32_t room;           /* bytes of `received`: a power of two, at least `room_for_all` of the report; frames that do not fit are lost */
  uint32_t written, read;  /* total bytes that the radio's task has written, and total bytes that the run has read */
  uint8_t frame[TMO_DATAGRAM_BYTES];
  uint8_t bytes;           /* number of bytes of the frame, including its head */
  uint8_t number;          /* number of the frame */
  uint8_t state;           /* state of the frame: being filled, on its way, lost or acknowledged */
  uint8_t last[TMO_DATAGRAM_HEAD]; /* head of the last received frame */
  bool has_last;
} tmo_datagram_link;

typedef struct {
  /* Begins to send a frame to a peer. Call tmo_datagram_sent() when the frame has arrived or is lost. Returns false if the radio cannot send now. */
  bool (*send)(void *radio, uint8_t peer, const uint8_t *frame, uint32_t bytes);
  uint32_t (*milliseconds)(void); /* returns the time of a clock that may wrap, such as millis() */
  void *radio;
  tmo_datagram_link *links; /* link to each peer, indexed by device number; the entry of this device is unused */
  uint8_t n_devices;
  uint8_t session;          /* random number that changes at each restart, so that frames from before the restart are recognised */
} tmo_datagrams;

tmo_transport tmo_datagram_transport(tmo_datagrams *datagrams);

/* Sends all bytes that remain. Returns false while some bytes are not acknowledged. Call tmo_datagram_done() until it returns true. */
bool tmo_datagram_done(tmo_datagrams *datagrams);

/* Call tmo_datagram_came() when a frame has arrived from a peer. tmo_datagram_came() copies the frame's bytes. If `received` is full,
 * tmo_datagram_came() drops the frame, and the inference ends with an error. The radio's task may call tmo_datagram_came(). */
void tmo_datagram_came(tmo_datagrams *datagrams, uint8_t peer, const uint8_t *frame, uint32_t bytes);

/* Call tmo_datagram_sent() when the frame to a peer has arrived or is lost. The radio's task may call tmo_datagram_sent(). */
void tmo_datagram_sent(tmo_datagrams *datagrams, uint8_t peer, bool acknowledged);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_DATAGRAM_H_ */
