/* The guard detects a kernel that writes one byte too many, for rows and for tiles, and reports iteration and byte. This kernel replaces
 * the library's at link time. */
#include <stdio.h>
#include <string.h>

#include "tmo/kernels.h"
#include "tmo_guard.h"

#define ROWS 4
#define ROW 6
#define PIXEL 2
#define FAULTY_ROW 2

#define TENSORS sizeof(tmo_header)
#define OPS (TENSORS + 2 * sizeof(tmo_tensor))
#define GROUPS (OPS + sizeof(tmo_op))
#define CONSTANTS (GROUPS + sizeof(tmo_group))
#define LOOPS (CONSTANTS + TMO_TABLE_BYTES)

static int calls;

void tmo_lookup_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  memcpy(out, window->pixels[0], (size_t)k->out_width * k->out_channels);
  if (calls++ == FAULTY_ROW) out[k->out_width * k->out_channels] ^= 1;
}

static struct {
  _Alignas(16) tmo_header header;
  tmo_tensor tensors[2];
  tmo_op op;
  tmo_group group;
  int8_t table[TMO_TABLE_BYTES];
  uint8_t loops[6];
} program = {
    .header = {.magic = TMO_MAGIC, .version = TMO_VERSION, .target = TMO_TARGET_GENERIC, .size = sizeof program, .iterations = ROWS,
               .workspace = sizeof(tmo_unit), .n_inputs = 1, .n_outputs = 1, .n_tensors = 2, .n_ops = 1, .n_groups = 1, .tensors = TENSORS, .ops = OPS,
               .groups = GROUPS},
    .tensors = {{.channels = PIXEL, .width = ROW / PIXEL, .height = ROWS, .depth = ROWS, .base = 1},
                {.channels = PIXEL, .width = ROW / PIXEL, .height = ROWS, .depth = ROWS, .base = 2}},
    .op = {.kind = TMO_OP_LOOKUP, .act_min = -128, .act_max = 127, .n_inputs = 1, .input = {0},
           .output = 1, .kernel_h = 1, .kernel_w = 1, .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1,
           .weights = CONSTANTS},
    .group = {.n_ops = 1, .loops = LOOPS},
    .loops = {TMO_LOOP_REPEAT, ROWS, 0, 0, TMO_LOOP_END, TMO_LOOP_END},
};

static bool caught_at(int32_t byte) {
  _Alignas(16) uint8_t memory[128];
  memset(memory, 7, sizeof memory);
  calls = 0;
  const uint32_t offsets[] = {16, 64, 0, 0}, sizes[] = {ROWS * ROW, ROWS * ROW, 0, 0};
  const tmo_arena arena = {memory, sizeof memory, 1, 1, offsets, sizes, 0, sizeof(tmo_unit), NULL};
  tmo_guard_report report;

  const int result = tmo_run_guarded(&program, sizeof program, &arena, &report);
  printf("result %d, operator %u, row %u, byte %d\n", result, report.op, report.unit.row, report.byte);
  return result == TMO_GUARD_VIOLATION && report.op == 0 && report.unit.row == FAULTY_ROW && report.byte == byte;
}

int main(void) {
  const bool by_row = caught_at(64 + (FAULTY_ROW + 1) * ROW);
  program.loops[1] = ROWS * ROW / PIXEL;
  program.header.iterations = ROWS * ROW / PIXEL; /* one stripe, tiles of one column: the rows of the first column come first */
  program.tensors[1].advance = program.tensors[1].rows = program.tensors[1].end = ROWS;
  program.op.tile = 1;
  program.group.stripes = 1;
  const bool by_tile = caught_at(64 + FAULTY_ROW * ROW + PIXEL);
  return by_row && by_tile ? 0 : 1;
}
