/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the loops of a block: their number of firings, and their position after some of them. */
#include "tmo/loops.h"

#include "tmo/check.h"

/* Bytes of a code that fires an operator. */
static uint32_t firing_bytes(uint8_t code) { return code < TMO_LOOP_NEAR ? 1 : code == TMO_LOOP_FAR ? 3 : 5; }

tmo_loop_body tmo_read_loop(const uint8_t *at, const uint8_t *limit, uint32_t n_ops) {
  const tmo_loop_body damaged = {0, at};
  uint32_t firings[TMO_LOOP_DEPTH + 1] = {0};
  uint16_t times[TMO_LOOP_DEPTH + 1] = {1};
  uint32_t depth = 0;
  for (;;) {
    const uint32_t left = (uint32_t)(limit - at);
    if (left < 1) return damaged;
    const uint8_t code = *at;
    if (code == TMO_LOOP_END) {
      const tmo_loop_body body = {tmo_times(firings[depth], times[depth]), at};
      if (depth == 0) return body;
      if (body.firings == 0 || body.firings >= TMO_TOO_MANY - firings[depth - 1]) return damaged;
      firings[--depth] += body.firings;
      ++at;
    } else if (code == TMO_LOOP_REPEAT) {
      if (left < TMO_LOOP_REPEAT_BYTES || depth == TMO_LOOP_DEPTH) return damaged;
      firings[++depth] = 0;
      times[depth] = tmo_loop_number(at + 1);
      at += TMO_LOOP_REPEAT_BYTES;
    } else {
      const uint32_t bytes = firing_bytes(code);
      if (left < bytes || (code < TMO_LOOP_NEAR ? code : tmo_loop_number(at + 1)) >= n_ops) return damaged;
      ++firings[depth];
      at += bytes;
    }
  }
}

void tmo_seek(tmo_run_state *run, uint32_t done) {
  const uint8_t *const limit = run->program + tmo_header_of(run->program)->size;
  const uint8_t *at = tmo_loops(run->program, run->block);
  for (uint32_t all; (all = tmo_read_loop(at, limit, run->block->n_ops).firings) <= done;) {
    done -= all;
    at = tmo_loops(run->program, ++run->block);
  }
  run->at = done == 0 ? NULL : at;
  run->depth = 0;
  while (done > 0) {
    const uint8_t code = *run->at;
    if (code < TMO_LOOP_REPEAT) {
      run->at += firing_bytes(code);
      --done;
      continue;
    }
    const uint8_t *const first = run->at + TMO_LOOP_REPEAT_BYTES;
    const uint16_t times = tmo_loop_number(run->at + 1);
    const tmo_loop_body body = tmo_read_loop(first, limit, run->block->n_ops);
    const uint32_t whole = tmo_quotient(done, body.firings);
    if (whole >= times) {
      done -= body.firings * times;
      run->at = body.end + 1;
    } else {
      done -= body.firings * whole;
      tmo_open_loop(run, first, (uint16_t)(times - whole));
    }
  }
}
