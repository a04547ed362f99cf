/* This file replaces CMSIS-NN's header by functions that compute the same values as TFLM. */
#ifndef TESTS_ARM_NNSUPPORTFUNCTIONS_H_
#define TESTS_ARM_NNSUPPORTFUNCTIONS_H_

#include "vendor.h"

typedef enum { ARM_CMSIS_NN_SUCCESS = 0 } arm_cmsis_nn_status;

static inline arm_cmsis_nn_status arm_nn_vec_mat_mult_t_per_ch_s8(const int8_t *lhs, const int8_t *rhs, const int32_t *kernel_sum,
                                                                  const int32_t *bias, int8_t *dst, const int32_t lhs_offset,
                                                                  const int32_t dst_offset, const int32_t *dst_multiplier,
                                                                  const int32_t *dst_shift, const int32_t rhs_cols,
                                                                  const int32_t rhs_rows, const int32_t activation_min,
                                                                  const int32_t activation_max, const int32_t address_offset,
                                                                  const int32_t rhs_offset) {
  const vendor_layer layer = {lhs_offset, rhs_offset, dst_offset, activation_min, activation_max, bias, dst_multiplier, dst_shift};
  (void)kernel_sum;
  vendor_fully_connected(&layer, lhs, (uint32_t)rhs_cols, rhs, (uint32_t)rhs_rows, (uint32_t)address_offset, dst);
  return ARM_CMSIS_NN_SUCCESS;
}

#endif /* TESTS_ARM_NNSUPPORTFUNCTIONS_H_ */
