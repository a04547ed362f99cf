/* SPDX-License-Identifier: Apache-2.0 */
/* A message between two devices consists of a head and a row of a tensor. */
#include "tmo_link.h"

#include <string.h>

/* Positions of the fields in a message's head. All numbers in the head are little-endian. The head has these fields in order: the bytes 'T' and 'M',
 * the sender, the receiver, the identity of the program, the number of the inference, the number of the message in the inference, the index of the
 * tensor, the index of the row, the size of the row, the CRC of the row, and half of a CRC of all other fields. */
enum { AT_FROM = 2, AT_TO = 3, AT_IDENTITY = 4, AT_INFERENCE = 8, AT_NUMBER = 10, AT_STEP = 12, AT_ROW = 14, AT_BYTES = 16, AT_CRC = 18, AT_CHECK = 22 };

/* Computes CRC-32 (IEEE 802.3), four bits at a time. */
static uint32_t crc32(uint32_t crc, const uint8_t *bytes, uint32_t count) {
  static const uint32_t table[16] = {0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
                                     0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu};
  crc = ~crc;
  for (uint32_t i = 0; i < count; ++i) {
    crc = table[(crc ^ bytes[i]) & 15] ^ crc >> 4;
    crc = table[(crc ^ (uint32_t)bytes[i] >> 4) & 15] ^ crc >> 4;
  }
  return ~crc;
}

static void put16(uint8_t *to, uint32_t value) {
  to[0] = (uint8_t)value;
  to[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *to, uint32_t value) {
  put16(to, value);
  put16(to + 2, value >> 16);
}

static uint16_t get16(const uint8_t *from) { return (uint16_t)(from[0] | from[1] << 8); }
static uint32_t get32(const uint8_t *from) { return get16(from) | (uint32_t)get16(from + 2) << 16; }

static uint16_t check_of(const uint8_t *head) { return (uint16_t)crc32(0, head, AT_CHECK); }

static bool is_head(const uint8_t *head) { return head[0] == 'T' && head[1] == 'M' && get16(head + AT_CHECK) == check_of(head); }

static int32_t take(tmo_link *link, uint8_t from, uint8_t *to, uint32_t room) {
  const int32_t n = link->transport->receive(link->transport->context, from, to, room);
  if (n > 0) link->received += (uint32_t)n;
  return n;
}

/* Discards received bytes until the first received byte begins a valid head. */
static tmo_status take_head(tmo_link *link, uint8_t from) {
  tmo_peer *const peer = &link->peers[from];
  for (;;) {
    while (peer->have < TMO_LINK_HEAD) {
      const int32_t n = take(link, from, peer->head + peer->have, TMO_LINK_HEAD - peer->have);
      if (n < 0) return TMO_ERROR_LINK;
      if (n == 0) return TMO_WAIT;
      peer->have += (uint32_t)n;
    }
    if (is_head(peer->head)) return TMO_OK;
    memmove(peer->head, peer->head + 1, --peer->have);
  }
}

/* Discards the remaining bytes of a row that the program does not expect. */
static tmo_status pass_over(tmo_link *link, uint8_t from) {
  tmo_peer *const peer = &link->peers[from];
  uint8_t nowhere[16];
  while (peer->skip > 0) {
    const int32_t n = take(link, from, nowhere, peer->skip < sizeof nowhere ? peer->skip : (uint32_t)sizeof nowhere);
    if (n < 0) return TMO_ERROR_LINK;
    if (n == 0) return TMO_WAIT;
    peer->skip -= (uint32_t)n;
  }
  return TMO_OK;
}

/* Compares the head of a message with the message that the program expects next. Returns TMO_OK for the expected message, TMO_MORE for a message to
 * skip, and an error for any other message. */
static tmo_status judge(tmo_link *link, const tmo_message *what, uint16_t row, uint32_t bytes) {
  const tmo_peer *const peer = &link->peers[what->from];
  const uint8_t *const head = peer->head;
  const uint16_t inference = get16(head + AT_INFERENCE), number = get16(head + AT_NUMBER);
  if (get32(head + AT_IDENTITY) != what->identity || head[AT_FROM] != what->from || head[AT_TO] != what->to) return TMO_ERROR_PEER;
  if (!link->joined) {
    if (number != 0 || (link->knows_last && inference == link->inference)) return TMO_MORE;
    link->joined = true;
    link->inference = inference;
  }
  const int16_t newer = (int16_t)(uint16_t)(inference - link->inference);
  if (newer != 0) return newer > 0 ? TMO_ERROR_LINK : TMO_MORE;
  if ((int16_t)(uint16_t)(number - peer->came) < 0) return TMO_MORE;
  const bool wanted = number == peer->came && get16(head + AT_STEP) == what->step && get16(head + AT_ROW) == row;
  return wanted && get16(head + AT_BYTES) == bytes ? TMO_OK : TMO_ERROR_LINK;
}

/* Receives a row directly into the arena. No operator reads the row before all bytes of the row have arrived. */
static tmo_status receive(tmo_link *link, const tmo_message *what, uint16_t row, uint8_t *data, uint32_t bytes) {
  tmo_peer *const peer = &link->peers[what->from];
  while (peer->have <= TMO_LINK_HEAD) {
    tmo_status status = pass_over(link, what->from);
    if (status == TMO_OK) status = take_head(link, what->from);
    if (status == TMO_OK) status = judge(link, what, row, bytes);
    if (status == TMO_OK) break;
    if (status == TMO_WAIT) return TMO_WAIT;
    peer->skip = peer->have == TMO_LINK_HEAD ? get16(peer->head + AT_BYTES) : 0;
    peer->have = 0;
    if (status != TMO_MORE) return status;
  }
  while (peer->have < TMO_LINK_HEAD + bytes) {
    const uint32_t done = peer->have - TMO_LINK_HEAD;
    const int32_t n = take(link, what->from, data + done, bytes - done);
    if (n < 0) return TMO_ERROR_LINK;
    if (n == 0) return TMO_WAIT;
    peer->have += (uint32_t)n;
  }
  peer->have = 0;
  ++peer->came;
  return crc32(0, data, bytes) == get32(peer->head + AT_CRC) ? TMO_OK : TMO_ERROR_LINK;
}

static void write_head(tmo_link *link, const tmo_message *what, uint16_t row, const uint8_t *data, uint32_t bytes) {
  uint8_t *const head = link->head;
  head[0] = 'T';
  head[1] = 'M';
  head[AT_FROM] = what->from;
  head[AT_TO] = what->to;
  put32(head + AT_IDENTITY, what->identity);
  put16(head + AT_INFERENCE, link->inference);
  put16(head + AT_NUMBER, link->peers[what->to].went);
  put16(head + AT_STEP, what->step);
  put16(head + AT_ROW, row);
  put16(head + AT_BYTES, bytes);
  put32(head + AT_CRC, crc32(0, data, bytes));
  put16(head + AT_CHECK, check_of(head));
  link->left = TMO_LINK_HEAD + bytes;
  link->to = what->to;
}

/* Completes a message that the previous inference did not send completely. end_message() sends zeros instead of the missing bytes, so that the
 * receiver finds the head of the next message. */
static tmo_status end_message(tmo_link *link, uint8_t to) {
  static const uint8_t zeros[16] = {0};
  tmo_peer *const peer = &link->peers[to];
  while (peer->owed > 0) {
    const uint32_t most = peer->owed < sizeof zeros ? peer->owed : (uint32_t)sizeof zeros;
    const int32_t n = link->transport->send(link->transport->context, to, zeros, most);
    if (n < 0) return TMO_ERROR_LINK;
    if (n == 0) return TMO_WAIT;
    peer->owed -= (uint32_t)n;
    link->sent += (uint32_t)n;
  }
  return TMO_OK;
}

static tmo_status send(tmo_link *link, const tmo_message *what, uint16_t row, const uint8_t *data, uint32_t bytes) {
  const tmo_transport *const transport = link->transport;
  if (!link->joined) return TMO_ERROR_LINK; /* The number of the inference is unknown until a message of the same program has arrived. */
  const tmo_status ended = end_message(link, what->to);
  if (ended != TMO_OK) return ended;
  if (link->left == 0) write_head(link, what, row, data, bytes);
  while (link->left > 0) {
    const bool in_head = link->left > bytes;
    const uint8_t *const from = in_head ? link->head + TMO_LINK_HEAD - (link->left - bytes) : data + bytes - link->left;
    const int32_t n = transport->send(transport->context, what->to, from, in_head ? link->left - bytes : link->left);
    if (n < 0) return TMO_ERROR_LINK;
    if (n == 0) return TMO_WAIT;
    link->left -= (uint32_t)n;
    link->sent += (uint32_t)n;
  }
  ++link->peers[what->to].went;
  return TMO_OK;
}

static tmo_status exchange(tmo_messenger *self, const tmo_message *what, bool sent, uint16_t row, void *data, uint32_t bytes) {
  tmo_link *const link = (tmo_link *)(void *)self;
  const uint8_t own = sent ? what->from : what->to, other = sent ? what->to : what->from;
  if (own != link->device || other >= link->n_devices || other == own) return TMO_ERROR_PEER;
  const tmo_status status = sent ? send(link, what, row, (const uint8_t *)data, bytes) : receive(link, what, row, (uint8_t *)data, bytes);
  if (status == TMO_OK) link->waited = 0;
  link->other = other;
  link->sends = sent;
  return status;
}

void tmo_link_open(tmo_link *link, const tmo_transport *transport, tmo_peer *peers, uint8_t device, uint8_t n_devices, uint16_t first,
                   uint32_t patience) {
  memset(link, 0, sizeof *link);
  memset(peers, 0, n_devices * sizeof *peers);
  link->messenger.exchange = exchange;
  link->transport = transport;
  link->peers = peers;
  link->device = device;
  link->n_devices = n_devices;
  link->inference = (uint16_t)(first - 1u);
  link->patience = patience;
}

void tmo_link_begin(tmo_link *link) {
  for (uint8_t i = 0; i < link->n_devices; ++i) {
    tmo_peer *const peer = &link->peers[i];
    if (peer->have > TMO_LINK_HEAD) { /* the previous inference ended before all bytes of a row had arrived */
      peer->skip = get16(peer->head + AT_BYTES) - (peer->have - TMO_LINK_HEAD);
      peer->have = 0;
    }
    peer->came = peer->went = 0;
    if (i == link->to) peer->owed += link->left;
  }
  link->knows_last = link->joined;
  link->joined = link->device == 0;
  if (link->joined) ++link->inference;
  link->waited = link->left = 0;
}

tmo_status tmo_link_wait(tmo_link *link) {
  const tmo_transport *const transport = link->transport;
  if (link->waited >= link->patience) {
    link->joined = false; /* The number of the next inference is not known yet. */
    return TMO_ERROR_LINK;
  }
  link->waited += transport->poll(transport->context, link->other, link->sends, link->patience - link->waited);
  return TMO_OK;
}

tmo_status tmo_run_linked(const void *program, void *const *io, void *workspace, tmo_link *link) {
  tmo_stream stream = {0, 0};
  tmo_link_begin(link);
  for (;;) {
    const tmo_status status = tmo_push(program, io, workspace, &stream);
    if (status != TMO_WAIT) return status;
    if (tmo_link_wait(link) != TMO_OK) return TMO_ERROR_LINK;
  }
}
