/* SPDX-License-Identifier: Apache-2.0 */
/* These functions exchange messages between devices that run one network together. No other part of the library calls the functions of this file.
 *
 * A message is a head and a row of a tensor. The head names the program, the inference, the tensor and the row. Both sides know from their programs
 * which message comes next, so each message can be compared with the expected one. A message that is missing, damaged, or from another program ends
 * the run with an error status, and so does a row that does not arrive in time. Repeated and older messages are ignored. An error does not affect the
 * next inference, which has another number.
 *
 * A tmo_transport carries the bytes to a peer. A message may arrive in several pieces. The links are C11 without allocation and without globals. */
#ifndef TMO_LINK_H_
#define TMO_LINK_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_LINK_HEAD 24 /* number of bytes of a head, which precedes each row */

/* Carries the bytes of a link to each peer, in order. Only poll() may wait; send() and receive() return at once. */
typedef struct {
  /* Sends bytes until all bytes are sent or no space is left. Returns the number of bytes sent, or a negative number if the link is broken. */
  int32_t (*send)(void *context, uint8_t peer, const uint8_t *bytes, uint32_t count);
  /* Copies the bytes that have been received. Returns the number of bytes copied, 0 if there are none now, or a negative number if the link is
   * broken. */
  int32_t (*receive)(void *context, uint8_t peer, uint8_t *bytes, uint32_t room);
  /* Waits at most `milliseconds` until bytes arrive from a peer. If `sends` is set, poll() also stops when there may be space to send. Returns the
   * milliseconds that have passed. */
  uint32_t (*poll)(void *context, uint8_t peer, bool sends, uint32_t milliseconds);
  void *context;
} tmo_transport;

/* State of the messages with another device. All fields are zero at the start. */
typedef struct {
  uint8_t head[TMO_LINK_HEAD];
  uint32_t have;    /* number of received bytes of the current message: of its head first, and then of its row */
  uint32_t skip;    /* number of bytes that are still to be received and discarded */
  uint32_t owed;    /* number of unsent bytes of an incomplete message */
  uint16_t came;    /* number of received messages in this inference */
  uint16_t went;
} tmo_peer;

/* All links of one device, which tmo_link_open() initializes. Pass a pointer to the member `messenger` to a run. */
typedef struct {
  tmo_messenger messenger;
  const tmo_transport *transport;
  tmo_peer *peers;    /* state of each peer, indexed by device number; the entry of this device is unused */
  uint8_t device;
  uint8_t n_devices;
  bool joined;        /* whether the number of the inference is known; device 0 chooses it, and other devices read it in the first message */
  bool knows_last;    /* whether messages with the previous inference's number may still arrive */
  uint16_t inference;
  uint32_t patience;  /* milliseconds without a row after which a peer is considered lost */
  uint32_t waited;    /* milliseconds for which the run has waited for the current row */
  uint8_t other;      /* number of the device whose row is awaited */
  bool sends;
  uint32_t left;      /* number of unsent bytes of the current message */
  uint8_t to;         /* number of the device that receives the current message */
  uint8_t head[TMO_LINK_HEAD];
  uint32_t sent, received; /* bytes of all messages since tmo_link_open(), for statistics */
} tmo_link;

/* Initializes a link. peers: array of n_devices. first: number of the first inference. Only device 0 uses `first`, which should be a different
 * number after each restart. */
void tmo_link_open(tmo_link *link, const tmo_transport *transport, tmo_peer *peers, uint8_t device, uint8_t n_devices, uint16_t first,
                   uint32_t patience);

/* Call tmo_link_begin() before each inference, also after a failed inference. */
void tmo_link_begin(tmo_link *link);

/* Waits for bytes after a push has returned TMO_WAIT. TMO_OK: continue. Returns TMO_ERROR_LINK if no bytes arrived in time; the run must then be
 * reset. */
tmo_status tmo_link_wait(tmo_link *link);

/* Runs one inference and waits for rows: tmo_link_begin(), then tmo_push() until the inference ends. */
tmo_status tmo_run_linked(const void *program, void *const *io, void *workspace, tmo_link *link);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_H_ */
