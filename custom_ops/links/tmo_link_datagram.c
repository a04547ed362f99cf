/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo_link_datagram.h"

#include <stddef.h>
#include <string.h>

/* States of the frame that a tmo_datagram_line sends. The run sets FILLING and ON_ITS_WAY, while the radio's task reports LOST or ACKNOWLEDGED. */
enum { FILLING, ON_ITS_WAY, LOST, ACKNOWLEDGED };

static uint8_t state_of(const tmo_datagram_line *line) { return __atomic_load_n(&line->state, __ATOMIC_ACQUIRE); }
static void set_state(tmo_datagram_line *line, uint8_t state) { __atomic_store_n(&line->state, state, __ATOMIC_RELEASE); }

static tmo_datagram_line *line_to(const tmo_datagrams *d, uint8_t peer) { return peer < d->n_devices ? &d->lines[peer] : NULL; }

static void begin(const tmo_datagrams *d, uint8_t peer, tmo_datagram_line *line) {
  const uint8_t before = state_of(line);
  set_state(line, ON_ITS_WAY); /* the radio's report may come before send() returns */
  if (!d->send(d->radio, peer, line->frame, line->bytes)) set_state(line, before);
}

/* Changes the state of a frame as the radio has reported. Returns whether more bytes fit into the frame. */
static bool settle(const tmo_datagrams *d, uint8_t peer, tmo_datagram_line *line) {
  const uint8_t state = state_of(line);
  if (state == LOST) begin(d, peer, line);
  if (state == ACKNOWLEDGED || line->bytes < TMO_DATAGRAM_HEAD) {
    if (state == ACKNOWLEDGED) ++line->number;
    line->frame[0] = d->session;
    line->frame[1] = line->number;
    line->bytes = TMO_DATAGRAM_HEAD;
    set_state(line, FILLING);
  }
  return state_of(line) == FILLING;
}

/* Begins to send the bytes collected in a frame so far. */
static void flush(const tmo_datagrams *d, uint8_t peer, tmo_datagram_line *line) {
  if (settle(d, peer, line) && line->bytes > TMO_DATAGRAM_HEAD) begin(d, peer, line);
}

/* Sends the frames of all lines, because a peer may wait for bytes of one line while this device waits on another line. Returns whether all bytes
 * have been sent. */
static bool flush_all(const tmo_datagrams *d) {
  bool done = true;
  for (uint8_t i = 0; i < d->n_devices; ++i) {
    tmo_datagram_line *const line = &d->lines[i];
    if (line->room == 0) continue;
    flush(d, i, line);
    done = done && line->bytes == TMO_DATAGRAM_HEAD;
  }
  return done;
}

static int32_t send_some(void *context, uint8_t peer, const uint8_t *bytes, uint32_t count) {
  const tmo_datagrams *const d = (const tmo_datagrams *)context;
  tmo_datagram_line *const line = line_to(d, peer);
  if (line == NULL) return -1;
  if (!settle(d, peer, line)) return 0;
  const uint32_t room = (uint32_t)(TMO_DATAGRAM_BYTES - line->bytes), taken = count < room ? count : room;
  memcpy(line->frame + line->bytes, bytes, taken);
  line->bytes = (uint8_t)(line->bytes + taken);
  if (line->bytes == TMO_DATAGRAM_BYTES) begin(d, peer, line);
  return (int32_t)taken;
}

static int32_t receive_some(void *context, uint8_t peer, uint8_t *bytes, uint32_t room) {
  const tmo_datagrams *const d = (const tmo_datagrams *)context;
  tmo_datagram_line *const line = line_to(d, peer);
  if (line == NULL) return -1;
  (void)flush_all(d);
  const uint32_t there = __atomic_load_n(&line->written, __ATOMIC_ACQUIRE) - line->read, count = there < room ? there : room;
  for (uint32_t i = 0; i < count; ++i) bytes[i] = line->ring[(line->read + i) & (line->room - 1)];
  __atomic_store_n(&line->read, line->read + count, __ATOMIC_RELEASE);
  return (int32_t)count;
}

/* Waits until a byte arrives. If `sends` is set, waiting also stops when more bytes fit into the frame. */
static uint32_t wait_for(void *context, uint8_t peer, bool sends, uint32_t milliseconds) {
  const tmo_datagrams *const d = (const tmo_datagrams *)context;
  tmo_datagram_line *const line = line_to(d, peer);
  const uint32_t begun = d->milliseconds();
  uint32_t passed = 0;
  while (line != NULL && passed < milliseconds) {
    (void)flush_all(d);
    const bool has_room = sends && settle(d, peer, line) && line->bytes < TMO_DATAGRAM_BYTES;
    if (has_room || (!sends && __atomic_load_n(&line->written, __ATOMIC_ACQUIRE) != line->read)) break;
    passed = d->milliseconds() - begun;
  }
  return passed;
}

void tmo_datagram_came(tmo_datagrams *datagrams, uint8_t peer, const uint8_t *frame, uint32_t bytes) {
  tmo_datagram_line *const line = line_to(datagrams, peer);
  if (line == NULL || bytes < TMO_DATAGRAM_HEAD) return;
  if (line->has_last && memcmp(line->last, frame, TMO_DATAGRAM_HEAD) == 0) return; /* this frame was received before, but its acknowledgement was lost */
  memcpy(line->last, frame, TMO_DATAGRAM_HEAD);
  line->has_last = true;
  const uint32_t count = bytes - TMO_DATAGRAM_HEAD, taken = line->written - __atomic_load_n(&line->read, __ATOMIC_ACQUIRE);
  if (count > line->room - taken) return;
  for (uint32_t i = 0; i < count; ++i) line->ring[(line->written + i) & (line->room - 1)] = frame[TMO_DATAGRAM_HEAD + i];
  __atomic_store_n(&line->written, line->written + count, __ATOMIC_RELEASE);
}

void tmo_datagram_sent(tmo_datagrams *datagrams, uint8_t peer, bool acknowledged) {
  tmo_datagram_line *const line = line_to(datagrams, peer);
  if (line != NULL && state_of(line) == ON_ITS_WAY) set_state(line, acknowledged ? ACKNOWLEDGED : LOST);
}

bool tmo_datagram_done(tmo_datagrams *datagrams) { return flush_all(datagrams); }

tmo_transport tmo_datagram_transport(tmo_datagrams *datagrams) {
  const tmo_transport transport = {send_some, receive_some, wait_for, datagrams};
  return transport;
}
