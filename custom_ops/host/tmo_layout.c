#include "tmo_layout.h"

#include "tmo/program.h"

#define STRUCT(type) {#type, 0, sizeof(type)}
#define FIELD(type, field) {#type "." #field, offsetof(type, field), sizeof(((type *)0)->field)}

static const tmo_layout_entry layout[] = {
    STRUCT(tmo_header),
    FIELD(tmo_header, magic),
    FIELD(tmo_header, version),
    FIELD(tmo_header, target),
    FIELD(tmo_header, size),
    FIELD(tmo_header, firings),
    FIELD(tmo_header, workspace),
    FIELD(tmo_header, n_inputs),
    FIELD(tmo_header, n_outputs),
    FIELD(tmo_header, n_tensors),
    FIELD(tmo_header, n_ops),
    FIELD(tmo_header, n_blocks),
    FIELD(tmo_header, reserved0),
    FIELD(tmo_header, tensors),
    FIELD(tmo_header, ops),
    FIELD(tmo_header, blocks),
    FIELD(tmo_header, reserved1),
    STRUCT(tmo_tensor),
    FIELD(tmo_tensor, offset),
    FIELD(tmo_tensor, channels),
    FIELD(tmo_tensor, width),
    FIELD(tmo_tensor, height),
    FIELD(tmo_tensor, depth),
    FIELD(tmo_tensor, base),
    FIELD(tmo_tensor, layout),
    STRUCT(tmo_op),
    FIELD(tmo_op, kind),
    FIELD(tmo_op, flags),
    FIELD(tmo_op, input_zero_point),
    FIELD(tmo_op, output_zero_point),
    FIELD(tmo_op, act_min),
    FIELD(tmo_op, act_max),
    FIELD(tmo_op, n_inputs),
    FIELD(tmo_op, input),
    FIELD(tmo_op, producer),
    FIELD(tmo_op, output),
    FIELD(tmo_op, reserved0),
    FIELD(tmo_op, kernel_h),
    FIELD(tmo_op, kernel_w),
    FIELD(tmo_op, stride_h),
    FIELD(tmo_op, stride_w),
    FIELD(tmo_op, dilation_h),
    FIELD(tmo_op, dilation_w),
    FIELD(tmo_op, pad_top),
    FIELD(tmo_op, pad_left),
    FIELD(tmo_op, param),
    FIELD(tmo_op, weights),
    FIELD(tmo_op, bias),
    FIELD(tmo_op, multipliers),
    FIELD(tmo_op, shifts),
    FIELD(tmo_op, accumulator),
    STRUCT(tmo_block),
    FIELD(tmo_block, first_op),
    FIELD(tmo_block, n_ops),
    FIELD(tmo_block, counters),
};

const tmo_layout_entry *tmo_host_layout(size_t *n_entries) {
  *n_entries = sizeof layout / sizeof layout[0];
  return layout;
}
