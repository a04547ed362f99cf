/* SPDX-License-Identifier: Apache-2.0 */
/* With these functions, devices that run one network together exchange rows of tensors. No other part of the library calls the functions of this
 * header.
 *
 * A message has a head of TMO_LINK_HEAD bytes and a row of a tensor. The head of a message names the program, the inference, the tensor and the row.
 * The sender and the receiver both know from their programs which message comes next, so the receiver compares each message with the expected one.
 * The run ends with an error status if a message is damaged, missing or late, or comes from another program. The receiver ignores repeated messages
 * and messages of earlier inferences. The next inference has a new number, so an error in one inference does not affect it.
 *
 * A tmo_transport carries the bytes of messages to another device. A transport may deliver a message in several pieces. The code is C11, allocates no
 * memory and has no global variables. */
#ifndef TMO_LINK_H_
#define TMO_LINK_H_

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TMO_LINK_HEAD 24 /* number of bytes of the head that precedes each row */

/* Callbacks that carry the bytes of messages to and from other devices, in order. Only the callback poll() may wait. The callbacks send() and
 * receive() return at once. */
typedef struct {
  /* send() sends bytes to the device `peer` until all bytes are sent or its buffer is full. send() returns the number of bytes sent, or a negative
   * number if the connection is broken. */
  int32_t (*send)(void *context, uint8_t peer, const uint8_t *bytes, uint32_t count);
  /* receive() copies bytes that have arrived from the device `peer`. receive() returns the number of bytes copied, 0 if none have arrived, or a
   * negative number if the connection is broken. */
  int32_t (*receive)(void *context, uint8_t peer, uint8_t *bytes, uint32_t room);
  /* poll() waits until bytes from the device `peer` arrive, but at most `milliseconds`. If `sends` is true, poll() returns as soon as more bytes can
   * perhaps be sent. poll() returns the number of milliseconds that have passed. */
  uint32_t (*poll)(void *context, uint8_t peer, bool sends, uint32_t milliseconds);
  void *context;
} tmo_transport;

/* The state of the messages that a tmo_link exchanges with one other device. All fields of a tmo_peer are zero at the start. */
typedef struct {
  uint8_t head[TMO_LINK_HEAD];
  uint32_t have;    /* number of received bytes of the current message, including its head */
  uint32_t skip;    /* number of bytes that must still be received and discarded */
  uint32_t owed;    /* number of unsent bytes of a message that the previous inference did not complete */
  uint16_t came;    /* number of messages received from the device in this inference */
  uint16_t went;
} tmo_peer;

/* The connections of one device to all others. tmo_link_open() initializes the record. A program reaches the record through its member
 * `messenger`. */
typedef struct {
  tmo_messenger messenger;
  const tmo_transport *transport;
  tmo_peer *peers;    /* array with one entry for each device; the entry of this device is unused */
  uint8_t device;
  uint8_t n_devices;
  bool joined;        /* whether `inference` is known; device 0 chooses it, and other devices read it from the first message */
  bool knows_last;    /* whether late messages may still arrive with the number of the previous inference */
  uint16_t inference;
  uint32_t patience;  /* milliseconds to wait for a row before the other device is considered lost */
  uint32_t waited;    /* milliseconds that the run has already waited for the current row */
  uint8_t other;      /* number of the device of the last exchange, for which tmo_link_wait() waits */
  bool sends;
  uint32_t left;      /* number of unsent bytes of the message that is being sent */
  uint8_t to;         /* number of the device to which the message is being sent */
  uint8_t head[TMO_LINK_HEAD];
  uint32_t sent, received; /* number of bytes of all messages since tmo_link_open(), for statistics */
} tmo_link;

/* Initializes the connections of the device with the number `device`. `peers` is an array of n_devices entries. `first` is the number of the first
 * inference. `patience` is how many milliseconds to wait for a row. Only device 0 uses `first`, which should differ after each restart of the
 * device. */
void tmo_link_open(tmo_link *link, const tmo_transport *transport, tmo_peer *peers, uint8_t device, uint8_t n_devices, uint16_t first,
                   uint32_t patience);

/* Call tmo_link_begin() before each inference, also if the previous inference has failed. */
void tmo_link_begin(tmo_link *link);

/* Waits until bytes arrive from the other device, after tmo_push() has returned TMO_WAIT. Returns TMO_OK if tmo_push() can be called again. Returns
 * TMO_ERROR_LINK if the device has waited too long. The caller must then set the tmo_stream of the run to zero. */
tmo_status tmo_link_wait(tmo_link *link);

/* Runs one inference, and waits for the rows of other devices. The function calls tmo_link_begin(), and then tmo_push() until the inference ends. */
tmo_status tmo_run_linked(const void *program, void *const *io, void *workspace, tmo_link *link);

#ifdef __cplusplus
}
#endif

#endif /* TMO_LINK_H_ */
