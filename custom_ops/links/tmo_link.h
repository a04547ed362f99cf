/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between devices that run one network together. No other part of the library calls this file.
 *
 * A message is a head and a row of a tensor. The head names program, inference, tensor and row. Both sides know from their programs which
 * message comes next, so each message is checked. One that is missing, damaged, or of another program ends the run with a status; one that is
 * repeated or older is ignored. A row that does not arrive in time also ends the run. An error does not affect the next inference, which has
 * another number.
 *
 * A tmo_transport carries the bytes to a peer. A message may arrive in pieces. C11, no allocation, no globals. */
#ifndef TMO_LINK_H_
#define TMO_LINK_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_LINK_HEAD 24 /* bytes in front of each row */

/* Carries the bytes of a link to each peer, in order. Only poll() may wait. */
typedef struct {
  /* Sends as many of the bytes as there is space for. Returns their number, or a negative one when the link is broken. */
  int32_t (*send)(void *context, uint8_t peer, const uint8_t *bytes, uint32_t count);
  /* Copies received bytes. Returns their number, 0 if there are none now, or a negative number when the link is broken. */
  int32_t (*receive)(void *context, uint8_t peer, uint8_t *bytes, uint32_t room);
  /* Waits at most `milliseconds` until bytes arrive from a peer or, if it sends, there may be space. Returns the milliseconds that have passed. */
  uint32_t (*poll)(void *context, uint8_t peer, bool sends, uint32_t milliseconds);
  void *context;
} tmo_transport;

/* State of the messages with another device. All zero at the start. */
typedef struct {
  uint8_t head[TMO_LINK_HEAD];
  uint32_t have;    /* received bytes of a message: of its head, then of its row */
  uint32_t skip;    /* bytes of a row to ignore */
  uint32_t owed;    /* unsent bytes of an incomplete message */
  uint16_t came;    /* received messages of this inference */
  uint16_t went;
} tmo_peer;

/* One device's end of all links. tmo_link_open() initializes it. Pass its first member to a run. */
typedef struct {
  tmo_crosser crosser;
  const tmo_transport *transport;
  tmo_peer *peers;    /* indexed by device number; the own one is unused */
  uint8_t device;
  uint8_t n_devices;
  bool joined;        /* the inference has a number: device 0 gives it one, others take that of the first message */
  bool knows_last;    /* messages may still have the number `inference` */
  uint16_t inference;
  uint32_t patience;  /* timeout of a row in milliseconds, after which a peer is lost */
  uint32_t waited;    /* milliseconds waited for the current row */
  uint8_t other;      /* device it waits for */
  bool sends;
  uint32_t left;      /* unsent bytes of the current message */
  uint8_t to;         /* its receiver */
  uint8_t head[TMO_LINK_HEAD];
  uint32_t sent, received; /* bytes of messages since tmo_link_open(), for statistics */
} tmo_link;

/* peers: n_devices of them. first: number of the first inference, used by device 0. Choose a different one after each restart. */
void tmo_link_open(tmo_link *link, const tmo_transport *transport, tmo_peer *peers, uint8_t device, uint8_t n_devices, uint16_t first,
                   uint32_t patience);

/* Call this before each inference, also after a failed one. */
void tmo_link_begin(tmo_link *link);

/* After TMO_WAIT: waits for bytes. TMO_OK: continue; TMO_ERROR_LINK: none arrived in time, reset the run. */
tmo_status tmo_link_wait(tmo_link *link);

/* One inference, with waits: tmo_link_begin(), then tmo_push() until it is over. */
tmo_status tmo_run_linked(const void *program, void *const *io, void *workspace, tmo_link *link);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_H_ */
