/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between devices that run one network together. For those alone: nothing else of the library calls it.
 *
 * A message is a row of a tensor behind a head that says which: whose program, inference, tensor and row. Both sides know from their programs
 * which message comes next, so that each is checked against what is expected: one that is missing, damaged, or of another program ends the run
 * with a status, one that is repeated or older is passed over. A row that does not come in time ends it, too. What went wrong once is over
 * with the next inference: it has another number.
 *
 * How bytes get to a peer is a tmo_transport's business; a message may arrive in pieces. C11, no allocation, no globals. */
#ifndef TMO_LINK_H_
#define TMO_LINK_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_LINK_HEAD 24 /* bytes in front of each row */

/* The bytes of a line to each peer, in order. Nothing here may wait, but poll(). */
typedef struct {
  /* Takes some of the bytes, as many as there is room for: their number, or a negative one when the line is broken. */
  int32_t (*send)(void *context, uint8_t peer, const uint8_t *bytes, uint32_t count);
  /* Gives some bytes that came: their number, 0: there are none now; negative: the line is broken. */
  int32_t (*receive)(void *context, uint8_t peer, uint8_t *bytes, uint32_t room);
  /* Waits until bytes came from a peer or, if it sends, there may be room for more, milliseconds at the longest. Gives how many have passed. */
  uint32_t (*poll)(void *context, uint8_t peer, bool sends, uint32_t milliseconds);
  void *context;
} tmo_transport;

/* What is known of another device. All zero at first. */
typedef struct {
  uint8_t head[TMO_LINK_HEAD];
  uint32_t have;    /* bytes of a message that came: of its head, then of its row */
  uint32_t skip;    /* bytes of a row that nobody wants */
  uint32_t owed;    /* bytes of a message that was not sent to its end */
  uint16_t came;    /* messages of this inference */
  uint16_t went;
} tmo_peer;

/* One device's end of all lines. tmo_link_open() sets it up; the first member is what a run is given. */
typedef struct {
  tmo_crosser crosser;
  const tmo_transport *transport;
  tmo_peer *peers;    /* by number; its own is not used */
  uint8_t device;
  uint8_t n_devices;
  bool joined;        /* the inference has a number: device 0 gives it one, others take that of the first message */
  bool knows_last;    /* `inference` was a number that messages may still have */
  uint16_t inference;
  uint32_t patience;  /* milliseconds that a row may take, after which a peer is lost */
  uint32_t waited;    /* of these, for the present row */
  uint8_t other;      /* for whom */
  bool sends;
  uint32_t left;      /* bytes of the message that is being sent */
  uint8_t to;         /* to whom */
  uint8_t head[TMO_LINK_HEAD];
  uint32_t sent, received; /* bytes of messages, since it was opened: for those who count */
} tmo_link;

/* peers: n_devices of them. first: the number of the first inference, on device 0; best another one after each restart. */
void tmo_link_open(tmo_link *link, const tmo_transport *transport, tmo_peer *peers, uint8_t device, uint8_t n_devices, uint16_t first,
                   uint32_t patience);

/* Before each inference, also after one that failed. */
void tmo_link_begin(tmo_link *link);

/* After TMO_WAIT: waits for bytes. TMO_OK: go on; TMO_ERROR_LINK: none came in time, reset the run. */
tmo_status tmo_link_wait(tmo_link *link);

/* One inference, with waits: tmo_link_begin(), then tmo_push() until it is over. */
tmo_status tmo_run_linked(const void *program, void *const *io, void *workspace, tmo_link *link);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_H_ */
