/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes unpacked ADD, MUL and pooling operators with ESP-NN. ESP-NN's vector code runs only if all data are whole aligned vectors, for
 * which ESP-NN computes the same bytes as TFLM. Otherwise, the library's own C kernels run. For incomplete vectors, ESP-NN 1.2.3 on ESP32-S3 has two
 * faults: esp_nn_mul_elementwise_s8 may round differently, and esp_nn_max_pool_s8 may ignore the activation. */
#include "tmo/access.h"
#include "tmo/vectors.h"

#ifdef TMO_ESP_NN
#include "tmo/esp.h"

enum {
  VECTOR_BYTES = 16,
  MOST_AREA = 255, /* the sums of a pool with at most 255 taps fit int16 */
};

static bool is_vector(const void *at) { return (uintptr_t)at % VECTOR_BYTES == 0; }

/* Returns true if two operands and the output are whole vectors and output element i needs only element i of both operands. */
static bool are_vectors(const tmo_kernel *k, const int8_t *a, const int8_t *b, const int8_t *out) {
  const uint32_t n = k->out_width * k->out_channels;
  return tmo_is_elementwise(k) && n % VECTOR_BYTES == 0 && is_vector(a) && is_vector(b) && is_vector(out);
}

bool tmo_add_vectors(const tmo_kernel *k, const int8_t *a, const int8_t *b, int8_t *out) {
  const tmo_op *op = k->op;
  const bool left = k->shifts[0] > 0 || k->shifts[1] > 0 || k->shifts[2] > 0;
  if (op->kind != TMO_OP_ADD || left || !are_vectors(k, a, b, out)) return false;
  esp_nn_add_elementwise_s8(a, b, -op->input_zero_point[0], -op->input_zero_point[1], k->multipliers[0], k->multipliers[1], k->shifts[0],
                            k->shifts[1], op->left_shift, out, op->output_zero_point, k->multipliers[2], k->shifts[2], op->act_min,
                            op->act_max, (int32_t)(k->out_width * k->out_channels));
  return true;
}

bool tmo_mul_vectors(const tmo_kernel *k, const int8_t *a, const int8_t *b, int8_t *out) {
  const tmo_op *op = k->op;
  if (!are_vectors(k, a, b, out)) return false;
  esp_nn_mul_elementwise_s8(a, b, -op->input_zero_point[0], -op->input_zero_point[1], out, op->output_zero_point, k->multipliers[0],
                            k->shifts[0], op->act_min, op->act_max, (int32_t)(k->out_width * k->out_channels));
  return true;
}

/* Returns true if all input rows are adjacent in memory and each window has at least one input column. */
static bool is_image(const tmo_kernel *k, const tmo_window *rows) {
  const tmo_op *op = k->op;
  const uint32_t row = (uint32_t)k->in_width * k->in_channels;
  if (rows->count == 0 || op->pad_left >= op->kernel_w || (k->out_width - 1u) * op->stride_w >= (uint32_t)k->in_width + op->pad_left) return false;
  for (uint32_t r = 1; r < rows->count; ++r) {
    if (rows->pixels[r] != rows->pixels[r - 1] + row) return false;
  }
  return true;
}

bool tmo_pool_row_vectors(const tmo_kernel *k, const tmo_window *rows, int8_t *out) {
  const tmo_op *op = k->op;
  const bool is_maximum = op->kind == TMO_OP_MAX_POOL && !op->smallest;
  if ((!is_maximum && op->kind != TMO_OP_AVERAGE_POOL) || k->sums != NULL || !tmo_by_row(op) || op->kernel_h * op->kernel_w > MOST_AREA) return false;
  if (k->in_channels % VECTOR_BYTES != 0 || !is_image(k, rows) || !is_vector(rows->pixels[0]) || !is_vector(out)) return false;
  (is_maximum ? esp_nn_max_pool_s8 : esp_nn_avg_pool_s8)(rows->pixels[0], k->in_width, rows->count, out, k->out_width, 1, op->stride_w, 1,
                                                        op->kernel_w, rows->count, op->pad_left, 0, op->act_min, op->act_max,
                                                        (uint16_t)k->in_channels);
  return true;
}

#endif
