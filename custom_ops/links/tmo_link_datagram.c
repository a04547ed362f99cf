/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo_link_datagram.h"

#include <stddef.h>
#include <string.h>

/* The task that runs the program sets the states FILLING and ON_ITS_WAY, and the task of the radio sets LOST and ACKNOWLEDGED. */
enum { FILLING, ON_ITS_WAY, LOST, ACKNOWLEDGED };

static uint8_t state_of(const tmo_datagram_link *link) { return __atomic_load_n(&link->state, __ATOMIC_ACQUIRE); }
static void set_state(tmo_datagram_link *link, uint8_t state) { __atomic_store_n(&link->state, state, __ATOMIC_RELEASE); }

static tmo_datagram_link *link_to(const tmo_datagrams *d, uint8_t peer) { return peer < d->n_devices ? &d->links[peer] : NULL; }

static void begin(const tmo_datagrams *d, uint8_t peer, tmo_datagram_link *link) {
  const uint8_t before = state_of(link);
  set_state(link, ON_ITS_WAY); /* the radio may report the result before send() returns */
  if (!d->send(d->radio, peer, link->frame, link->bytes)) set_state(link, before);
}

/* Sends a lost frame again, and begins a new frame after an acknowledged frame. Returns whether the frame has room for more bytes. */
static bool settle(const tmo_datagrams *d, uint8_t peer, tmo_datagram_link *link) {
  const uint8_t state = state_of(link);
  if (state == LOST) begin(d, peer, link);
  if (state == ACKNOWLEDGED || link->bytes < TMO_DATAGRAM_HEAD) {
    if (state == ACKNOWLEDGED) ++link->number;
    link->frame[0] = d->session;
    link->frame[1] = link->number;
    link->bytes = TMO_DATAGRAM_HEAD;
    set_state(link, FILLING);
  }
  return state_of(link) == FILLING;
}

static void flush(const tmo_datagrams *d, uint8_t peer, tmo_datagram_link *link) {
  if (settle(d, peer, link) && link->bytes > TMO_DATAGRAM_HEAD) begin(d, peer, link);
}

/* Sends the frames to all devices. While this device waits for one device, another device may wait for a frame of this device. Returns whether all
 * frames were sent and acknowledged. */
static bool flush_all(const tmo_datagrams *d) {
  bool done = true;
  for (uint8_t i = 0; i < d->n_devices; ++i) {
    tmo_datagram_link *const link = &d->links[i];
    if (link->room == 0) continue;
    flush(d, i, link);
    done = done && link->bytes == TMO_DATAGRAM_HEAD;
  }
  return done;
}

static int32_t send_some(void *context, uint8_t peer, const uint8_t *bytes, uint32_t count) {
  const tmo_datagrams *const d = (const tmo_datagrams *)context;
  tmo_datagram_link *const link = link_to(d, peer);
  if (link == NULL) return -1;
  if (!settle(d, peer, link)) return 0;
  const uint32_t room = (uint32_t)(TMO_DATAGRAM_BYTES - link->bytes), taken = count < room ? count : room;
  memcpy(link->frame + link->bytes, bytes, taken);
  link->bytes = (uint8_t)(link->bytes + taken);
  if (link->bytes == TMO_DATAGRAM_BYTES) begin(d, peer, link);
  return (int32_t)taken;
}

static int32_t receive_some(void *context, uint8_t peer, uint8_t *bytes, uint32_t room) {
  const tmo_datagrams *const d = (const tmo_datagrams *)context;
  tmo_datagram_link *const link = link_to(d, peer);
  if (link == NULL) return -1;
  (void)flush_all(d);
  const uint32_t there = __atomic_load_n(&link->written, __ATOMIC_ACQUIRE) - link->read, count = there < room ? there : room;
  for (uint32_t i = 0; i < count; ++i) bytes[i] = link->received[(link->read + i) & (link->room - 1)];
  __atomic_store_n(&link->read, link->read + count, __ATOMIC_RELEASE);
  return (int32_t)count;
}

/* Waits until a byte arrives. If the argument `sends` is true, wait_for() waits until the frame has room for more bytes. */
static uint32_t wait_for(void *context, uint8_t peer, bool sends, uint32_t milliseconds) {
  const tmo_datagrams *const d = (const tmo_datagrams *)context;
  tmo_datagram_link *const link = link_to(d, peer);
  const uint32_t begun = d->milliseconds();
  uint32_t passed = 0;
  while (link != NULL && passed < milliseconds) {
    (void)flush_all(d);
    const bool has_room = sends && settle(d, peer, link) && link->bytes < TMO_DATAGRAM_BYTES;
    if (has_room || (!sends && __atomic_load_n(&link->written, __ATOMIC_ACQUIRE) != link->read)) break;
    passed = d->milliseconds() - begun;
  }
  return passed;
}

void tmo_datagram_came(tmo_datagrams *datagrams, uint8_t peer, const uint8_t *frame, uint32_t bytes) {
  tmo_datagram_link *const link = link_to(datagrams, peer);
  if (link == NULL || bytes < TMO_DATAGRAM_HEAD) return;
  if (link->has_last && memcmp(link->last, frame, TMO_DATAGRAM_HEAD) == 0) return; /* the frame was repeated because its acknowledgement was lost */
  memcpy(link->last, frame, TMO_DATAGRAM_HEAD);
  link->has_last = true;
  const uint32_t count = bytes - TMO_DATAGRAM_HEAD, taken = link->written - __atomic_load_n(&link->read, __ATOMIC_ACQUIRE);
  if (count > link->room - taken) return;
  for (uint32_t i = 0; i < count; ++i) link->received[(link->written + i) & (link->room - 1)] = frame[TMO_DATAGRAM_HEAD + i];
  __atomic_store_n(&link->written, link->written + count, __ATOMIC_RELEASE);
}

void tmo_datagram_sent(tmo_datagrams *datagrams, uint8_t peer, bool acknowledged) {
  tmo_datagram_link *const link = link_to(datagrams, peer);
  if (link != NULL && state_of(link) == ON_ITS_WAY) set_state(link, acknowledged ? ACKNOWLEDGED : LOST);
}

bool tmo_datagram_done(tmo_datagrams *datagrams) { return flush_all(datagrams); }

tmo_transport tmo_datagram_transport(tmo_datagrams *datagrams) {
  const tmo_transport transport = {send_some, receive_some, wait_for, datagrams};
  return transport;
}
