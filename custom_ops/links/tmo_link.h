/* SPDX-License-Identifier: Apache-2.0 */
/* With the functions of this header, devices that run one network together exchange rows of tensors. No other part of the library calls the functions
 * of this header.
 *
 * A message has a head of TMO_LINK_HEAD bytes and a row of a tensor. The head of a message names the program, the inference, the tensor and the row.
 * The programs of the sender and the receiver state the order of the messages, so the receiver compares each message with the expected message. The
 * run ends with an error status if a message is damaged, missing or late, or comes from another program. The receiver ignores repeated messages and
 * messages of earlier inferences. The next inference has a new number, so an error in one inference does not affect the next inference.
 *
 * A tmo_transport carries the bytes of messages to another device. A transport may deliver a message in several pieces. The code for links is C11,
 * allocates no memory and has no global variables. */
#ifndef TMO_LINK_H_
#define TMO_LINK_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_LINK_HEAD 24 /* size in bytes of the head that precedes each row */

/* Callbacks that carry the bytes of messages to and from other devices, in order. The callback poll() may wait. The callbacks send() and receive()
 * must return at once. */
typedef struct {
  /* Sends bytes to the device `peer` until all bytes are sent or the transport's buffer is full. send() returns the number of sent bytes, or a
   * negative number if the connection is broken. */
  int32_t (*send)(void *context, uint8_t peer, const uint8_t *bytes, uint32_t count);
  /* Copies bytes that have arrived from the device `peer`. receive() returns the number of copied bytes, or a negative number if the connection is
   * broken. */
  int32_t (*receive)(void *context, uint8_t peer, uint8_t *bytes, uint32_t room);
  /* Waits until bytes from the device `peer` arrive, but not longer than `milliseconds`. If the argument `sends` is true, poll() may also return as
   * soon as send() can probably take more bytes. poll() returns the number of milliseconds that have passed since the call. */
  uint32_t (*poll)(void *context, uint8_t peer, bool sends, uint32_t milliseconds);
  void *context;
} tmo_transport;

/* The state of the messages that a device exchanges with one other device. All fields of a tmo_peer are zero at the start. */
typedef struct {
  uint8_t head[TMO_LINK_HEAD];
  uint32_t have;    /* number of received bytes of the current message, including the message's head */
  uint32_t skip;    /* number of bytes that must still be received and discarded */
  uint32_t owed;    /* number of unsent bytes of a message that the previous inference did not complete */
  uint16_t came;    /* number of messages that were received from the device in this inference */
  uint16_t went;
} tmo_peer;

/* The connections of one device to all other devices. tmo_link_open() initializes the record. A program accesses the connections through the member
 * `messenger`. */
typedef struct {
  tmo_messenger messenger;
  const tmo_transport *transport;
  tmo_peer *peers;    /* array with one entry for each device; the entry of this device is unused */
  uint8_t device;
  uint8_t n_devices;
  bool joined;        /* whether the number `inference` is known; device 0 chooses the number, and all other devices read it from the first message */
  bool knows_last;    /* whether messages with the number of the previous inference may still arrive */
  uint16_t inference;
  uint32_t patience;  /* number of milliseconds to wait for a row, after which the other device is considered lost */
  uint32_t waited;    /* number of milliseconds that the run has already waited for the current row */
  uint8_t other;      /* index of the other device in the last exchange; tmo_link_wait() waits for this device */
  bool sends;
  uint32_t left;      /* number of unsent bytes of the message that is being sent */
  uint8_t to;         /* index of the device to which the message is being sent */
  uint8_t head[TMO_LINK_HEAD];
  uint32_t sent, received; /* how many message bytes were sent and received since the call of tmo_link_open() */
} tmo_link;

/* Initializes the connections of the device with the index `device`. The array `peers` has n_devices entries. The argument `patience` is the number
 * of milliseconds to wait for a row. The argument `first` is the number of the first inference. Only device 0 uses the argument `first`. After each
 * restart, device 0 must pass another value of `first`, so that the other devices detect the restart. */
void tmo_link_open(tmo_link *link, const tmo_transport *transport, tmo_peer *peers, uint8_t device, uint8_t n_devices, uint16_t first,
                   uint32_t patience);

/* Call tmo_link_begin() before each inference, even if the previous inference has failed. */
void tmo_link_begin(tmo_link *link);

/* Waits until bytes arrive from another device, after tmo_push() has returned TMO_WAIT. tmo_link_wait() returns TMO_OK if tmo_push() can be called
 * again. tmo_link_wait() returns TMO_ERROR_LINK if no bytes have arrived before the timeout. After TMO_ERROR_LINK, the caller must set the tmo_stream
 * of the run to zero. */
tmo_status tmo_link_wait(tmo_link *link);

/* Runs one inference, and waits for the rows of other devices. tmo_run_linked() calls tmo_link_begin(), and then calls tmo_push() until the inference
 * ends. */
tmo_status tmo_run_linked(const void *program, void *const *io, void *workspace, tmo_link *link);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_H_ */
