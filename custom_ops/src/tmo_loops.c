/* SPDX-License-Identifier: Apache-2.0 */
/* This file counts the iterations of a group's loops, and finds the loop code after a given number of iterations. */
#include "tmo/loops.h"

#include "tmo/check.h"

tmo_loop_body tmo_read_loop(const uint8_t *at, const uint8_t *limit, uint32_t n_ops) {
  const tmo_loop_body damaged = {0, at};
  uint32_t turns[TMO_LOOP_DEPTH + 1]; /* for each open loop, the total number of times that its body runs */
  uint32_t iterations = 0, depth = 0;
  bool is_empty = true; /* false after the first operator of the innermost loop */
  turns[0] = 1;
  for (uint32_t bytes; at < limit; at += bytes) {
    const uint8_t code = *at;
    bytes = tmo_loop_bytes(code);
    if (bytes > (uint32_t)(limit - at)) return damaged;
    const uint32_t times = turns[depth], number = bytes == 1 ? code : tmo_loop_number(at + 1);
    if (code == TMO_LOOP_END) {
      const tmo_loop_body body = {iterations, at};
      if (is_empty) return damaged;
      if (depth-- == 0) return body;
    } else if (code == TMO_LOOP_REPEAT) {
      if (depth == TMO_LOOP_DEPTH) return damaged;
      turns[++depth] = tmo_times(times, number);
      is_empty = true;
    } else {
      if (number >= n_ops || times == 0 || times >= TMO_TOO_MANY - iterations) return damaged;
      iterations += times;
      is_empty = false;
    }
  }
  return damaged;
}

void tmo_seek(tmo_run_state *run, uint32_t done) {
  const uint8_t *const limit = run->program + tmo_header_of(run->program)->size;
  const uint8_t *at = tmo_loops(run->program, run->group);
  for (uint32_t all; (all = tmo_read_loop(at, limit, run->group->n_ops).iterations) <= done;) {
    done -= all;
    at = tmo_loops(run->program, ++run->group);
  }
  run->at = done == 0 ? NULL : at;
  run->depth = 0;
  while (done > 0) {
    const uint8_t code = *run->at;
    if (code < TMO_LOOP_REPEAT) {
      run->at += tmo_loop_bytes(code);
      --done;
      continue;
    }
    const uint8_t *const first = run->at + tmo_loop_bytes(code);
    const uint16_t times = tmo_loop_number(run->at + 1);
    const tmo_loop_body body = tmo_read_loop(first, limit, run->group->n_ops);
    const uint32_t whole = tmo_quotient(done, body.iterations);
    if (whole >= times) {
      done -= body.iterations * times;
      run->at = body.end + 1;
    } else {
      done -= body.iterations * whole;
      tmo_open_loop(run, first, (uint16_t)(times - whole));
    }
  }
}
