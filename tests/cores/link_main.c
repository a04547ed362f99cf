/* Counts a message between devices, sent and received, over a line that has room and bytes at once: ticks for so many bytes of a row, beside
 * those of a loop of known length. */
#include <string.h>

#include "core.h"
#include "tmo_link.h"

#define LOOPS 100000u
#define ROW_BYTES 1008u

typedef struct {
  uint8_t bytes[TMO_LINK_HEAD + ROW_BYTES];
  uint32_t put, taken;
} line;

static int32_t send_all(void *context, uint8_t peer, const uint8_t *bytes, uint32_t count) {
  line *const to = (line *)context;
  (void)peer;
  memcpy(to->bytes + to->put, bytes, count);
  to->put += count;
  return (int32_t)count;
}

static int32_t receive_all(void *context, uint8_t peer, uint8_t *bytes, uint32_t room) {
  line *const from = (line *)context;
  (void)peer;
  memcpy(bytes, from->bytes + from->taken, room);
  from->taken += room;
  return (int32_t)room;
}

static uint32_t wait_never(void *context, uint8_t peer, bool sends, uint32_t milliseconds) {
  (void)context, (void)peer, (void)sends;
  return milliseconds;
}

static void write_number(uint32_t value) {
  char text[12], *end = text + sizeof text;
  *--end = 0;
  do *--end = (char)('0' + value % 10);
  while ((value /= 10) > 0);
  core_write(end);
  core_write(" ");
}

static line one;
static uint8_t row[ROW_BYTES];

/* Of one message of so many bytes, sent by device 0 or received by device 1. */
static uint32_t ticks_of(tmo_link *link, bool sent, uint32_t nbytes) {
  const tmo_crossing what = {7, 0, 0, 1};
  core_clock_start();
  const tmo_status status = link->crosser.cross(&link->crosser, &what, sent, 0, row, nbytes);
  const uint32_t ticks = (uint32_t)core_clock_stop();
  return status == TMO_OK ? ticks : 0;
}

int main(void) {
  static tmo_link links[2];
  static tmo_peer peers[2][2];
  const tmo_transport transport = {send_all, receive_all, wait_never, &one};
  const uint32_t sizes[] = {8, ROW_BYTES};
  uint32_t n = LOOPS; /* 2 * LOOPS instructions */
  core_clock_start();
#if defined(__riscv)
  __asm__ volatile("1: addi %0, %0, -1\n bnez %0, 1b" : "+r"(n));
#else
  __asm__ volatile(".syntax unified\n 1: subs %0, %0, #1\n bne 1b" : "+l"(n) : : "cc");
#endif
  write_number((uint32_t)core_clock_stop());
  for (int i = 0; i < 2; ++i) {
    one.put = one.taken = 0;
    for (int side = 0; side < 2; ++side) {
      tmo_link_open(&links[side], &transport, peers[side], (uint8_t)side, 2, 1, 1000);
      tmo_link_begin(&links[side]);
      write_number(ticks_of(&links[side], side == 0, sizes[i]));
    }
  }
  return 0;
}
