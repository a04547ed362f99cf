/* The guard finds a kernel that writes one byte too many, and names firing and byte. Linked with this kernel instead of the library's. */
#include <stdio.h>
#include <string.h>

#include "tmo/kernels.h"
#include "tmo_guard.h"

#define ROWS 4
#define ROW 6
#define FAULTY_ROW 2

void tmo_requant_row_s8(const tmo_kernel *k, const int8_t *const rows[], int8_t *out) {
  static int calls;
  memcpy(out, rows[0], (size_t)k->out_width * k->out_channels);
  if (calls++ == FAULTY_ROW) out[k->out_width * k->out_channels] ^= 1;
}

void tmo_add_row_s8(const tmo_kernel *k, const int8_t *const rows[], int8_t *out) {
  (void)k, (void)rows, (void)out;
}

static const struct {
  _Alignas(16) tmo_header header;
  tmo_tensor tensors[2];
  tmo_op op;
  tmo_block block;
  int32_t multiplier;
  int8_t shift;
} program = {
    .header = {TMO_MAGIC, TMO_VERSION, TMO_TARGET_GENERIC, sizeof program, ROWS, 2, 1, 1, 2, 1, 1, 0, 56, 56 + 32, 56 + 32 + 60, {0}},
    .tensors = {{0, 2, ROW / 2, ROWS, ROWS, 1, 0}, {0, 2, ROW / 2, ROWS, ROWS, 2, 0}},
    .op = {.kind = TMO_OP_REQUANT, .flags = TMO_FLAG_SINK, .act_min = -128, .act_max = 127, .n_inputs = 1, .input = {0}, .producer = {TMO_NONE},
           .output = 1, .kernel_h = 1, .kernel_w = 1, .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1,
           .multipliers = 56 + 32 + 60 + 8, .shifts = 56 + 32 + 60 + 8 + 4},
    .block = {0, 1, 0},
    .multiplier = 1 << 30,
    .shift = 1,
};

int main(void) {
  _Alignas(16) uint8_t memory[128];
  memset(memory, 7, sizeof memory);
  const uint32_t offsets[] = {16, 64}, sizes[] = {ROWS * ROW, ROWS * ROW};
  const tmo_arena arena = {memory, sizeof memory, 1, 1, offsets, sizes, 0, 2};
  tmo_guard_report report;

  const int result = tmo_run_guarded(&program, sizeof program, &arena, &report);
  printf("result %d, operator %u, firing %u, byte %d\n", result, report.op, report.firing, report.byte);
  const int32_t byte = 64 + (FAULTY_ROW + 1) * ROW;
  return result == TMO_GUARD_VIOLATION && report.op == 0 && report.firing == FAULTY_ROW && report.byte == byte ? 0 : 1;
}
