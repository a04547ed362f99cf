/* SPDX-License-Identifier: Apache-2.0 */
/* These assertions prove the layout of a program's structs. scripts/program_format.py writes this header. */
#include <stddef.h>

#include "tmo/program.h"

_Static_assert(sizeof(tmo_header) == 64 && offsetof(tmo_header, magic) == 0 && offsetof(tmo_header, version) == 4 &&
               offsetof(tmo_header, target) == 6 && offsetof(tmo_header, size) == 8 && offsetof(tmo_header, iterations) == 12 &&
               offsetof(tmo_header, workspace) == 16 && offsetof(tmo_header, n_inputs) == 20 && offsetof(tmo_header, n_outputs) == 22 &&
               offsetof(tmo_header, n_tensors) == 24 && offsetof(tmo_header, n_ops) == 26 && offsetof(tmo_header, n_groups) == 28 &&
               offsetof(tmo_header, input) == 30 && offsetof(tmo_header, pools) == 31 && offsetof(tmo_header, tensors) == 32 &&
               offsetof(tmo_header, ops) == 36 && offsetof(tmo_header, groups) == 40 && offsetof(tmo_header, cores) == 44 &&
               offsetof(tmo_header, state) == 48 && offsetof(tmo_header, rolling_buffers) == 52 && offsetof(tmo_header, parts) == 56, "tmo_header");
_Static_assert(sizeof(tmo_pool) == 4 && offsetof(tmo_pool, bytes) == 0, "tmo_pool");
_Static_assert(sizeof(tmo_rolling_buffer) == 16 && offsetof(tmo_rolling_buffer, offset) == 0 && offsetof(tmo_rolling_buffer, row) == 4 &&
               offsetof(tmo_rolling_buffer, depth) == 8 && offsetof(tmo_rolling_buffer, runs) == 8 && offsetof(tmo_rolling_buffer, advance) == 10 &&
               offsetof(tmo_rolling_buffer, fill) == 12 && offsetof(tmo_rolling_buffer, window) == 13 && offsetof(tmo_rolling_buffer, key) == 14,
               "tmo_rolling_buffer");
_Static_assert(sizeof(tmo_tensor) == 28 && offsetof(tmo_tensor, offset) == 0 && offsetof(tmo_tensor, constant) == 0 &&
               offsetof(tmo_tensor, channels) == 4 && offsetof(tmo_tensor, width) == 8 && offsetof(tmo_tensor, height) == 10 &&
               offsetof(tmo_tensor, depth) == 12 && offsetof(tmo_tensor, phase) == 12 && offsetof(tmo_tensor, base) == 14 &&
               offsetof(tmo_tensor, layout) == 15 && offsetof(tmo_tensor, column_windows) == 16 && offsetof(tmo_tensor, n_column_windows) == 20 &&
               offsetof(tmo_tensor, advance) == 22 && offsetof(tmo_tensor, end) == 24 && offsetof(tmo_tensor, rows) == 26 &&
               offsetof(tmo_tensor, pushed) == 26 && offsetof(tmo_tensor, older) == 26, "tmo_tensor");
_Static_assert(sizeof(tmo_column_window) == 12 && offsetof(tmo_column_window, offset) == 0 && offsetof(tmo_column_window, depth) == 4 &&
               offsetof(tmo_column_window, rows) == 8, "tmo_column_window");
_Static_assert(sizeof(tmo_access) == 16 && offsetof(tmo_access, add) == 0 && offsetof(tmo_access, mul) == 4 && offsetof(tmo_access, div) == 6 &&
               offsetof(tmo_access, extent) == 8 && offsetof(tmo_access, table) == 12, "tmo_access");
_Static_assert(sizeof(tmo_message) == 8 && offsetof(tmo_message, identity) == 0 && offsetof(tmo_message, step) == 4 &&
               offsetof(tmo_message, from) == 6 && offsetof(tmo_message, to) == 7, "tmo_message");
_Static_assert(sizeof(tmo_copy) == 4 && offsetof(tmo_copy, n_moves) == 0 && offsetof(tmo_copy, fills) == 2 && offsetof(tmo_copy, fill) == 3,
               "tmo_copy");
_Static_assert(sizeof(tmo_move) == 32 && offsetof(tmo_move, row) == 0 && offsetof(tmo_move, count) == 2 && offsetof(tmo_move, bytes) == 4 &&
               offsetof(tmo_move, source) == 8 && offsetof(tmo_move, source_step) == 12 && offsetof(tmo_move, phase_step) == 16 &&
               offsetof(tmo_move, target) == 20 && offsetof(tmo_move, target_step) == 24 && offsetof(tmo_move, period) == 28 &&
               offsetof(tmo_move, shift) == 30, "tmo_move");
_Static_assert(sizeof(tmo_copied) == 12 && offsetof(tmo_copied, weights) == 0 && offsetof(tmo_copied, bytes) == 4 && offsetof(tmo_copied, place) == 8,
               "tmo_copied");
_Static_assert(sizeof(tmo_op) == 72 && offsetof(tmo_op, kind) == 0 && offsetof(tmo_op, flags) == 1 && offsetof(tmo_op, input_zero_point) == 2 &&
               offsetof(tmo_op, output_zero_point) == 6 && offsetof(tmo_op, act_min) == 7 && offsetof(tmo_op, act_max) == 8 &&
               offsetof(tmo_op, n_inputs) == 9 && offsetof(tmo_op, input) == 10 && offsetof(tmo_op, output) == 18 && offsetof(tmo_op, tile) == 20 &&
               offsetof(tmo_op, kernel_h) == 22 && offsetof(tmo_op, kernel_w) == 24 && offsetof(tmo_op, stride_h) == 26 &&
               offsetof(tmo_op, scale_h) == 26 && offsetof(tmo_op, new_rows) == 26 && offsetof(tmo_op, rows_in) == 26 &&
               offsetof(tmo_op, stride_w) == 28 && offsetof(tmo_op, scale_w) == 28 && offsetof(tmo_op, rows_out) == 28 &&
               offsetof(tmo_op, dilation_h) == 30 && offsetof(tmo_op, dilation_w) == 32 && offsetof(tmo_op, pad_top) == 34 &&
               offsetof(tmo_op, pad_left) == 36 && offsetof(tmo_op, packing) == 38 && offsetof(tmo_op, left_shift) == 40 &&
               offsetof(tmo_op, wanted) == 40 && offsetof(tmo_op, smallest) == 40 && offsetof(tmo_op, least_difference) == 40 &&
               offsetof(tmo_op, sum_bytes) == 40 && offsetof(tmo_op, operand_bytes) == 40 && offsetof(tmo_op, range_s16) == 40 &&
               offsetof(tmo_op, cell_range) == 40 && offsetof(tmo_op, table_rows) == 40 && offsetof(tmo_op, half_pixel_centers) == 40 &&
               offsetof(tmo_op, resize_form) == 40 && offsetof(tmo_op, select_form) == 40 && offsetof(tmo_op, transposed) == 40 &&
               offsetof(tmo_op, tangent) == 40 && offsetof(tmo_op, float_form) == 40 && offsetof(tmo_op, beta_bits) == 40 &&
               offsetof(tmo_op, scale_bits) == 40 && offsetof(tmo_op, identity) == 40 && offsetof(tmo_op, at_once) == 40 &&
               offsetof(tmo_op, one_scale) == 40 && offsetof(tmo_op, weights) == 44 && offsetof(tmo_op, table) == 44 &&
               offsetof(tmo_op, message) == 44 && offsetof(tmo_op, copy) == 44 && offsetof(tmo_op, copied) == 44 && offsetof(tmo_op, bias) == 48 &&
               offsetof(tmo_op, curve) == 48 && offsetof(tmo_op, scales) == 48 && offsetof(tmo_op, multipliers) == 52 &&
               offsetof(tmo_op, shifts) == 56 && offsetof(tmo_op, accumulator) == 60 && offsetof(tmo_op, scratch) == 60 &&
               offsetof(tmo_op, channel_groups) == 64 && offsetof(tmo_op, group_channels) == 66 && offsetof(tmo_op, access) == 68, "tmo_op");
_Static_assert(sizeof(tmo_group) == 16 && offsetof(tmo_group, first_op) == 0 && offsetof(tmo_group, n_ops) == 2 &&
               offsetof(tmo_group, counters) == 4 && offsetof(tmo_group, stripes) == 8 && offsetof(tmo_group, whole) == 10 &&
               offsetof(tmo_group, loops) == 12, "tmo_group");
_Static_assert(sizeof(tmo_iteration) == 8 && offsetof(tmo_iteration, stripe) == 0 && offsetof(tmo_iteration, channel_group) == 2 &&
               offsetof(tmo_iteration, tile) == 4 && offsetof(tmo_iteration, row) == 6, "tmo_iteration");
_Static_assert(sizeof(tmo_sharding) == 8 && offsetof(tmo_sharding, kind) == 0 && offsetof(tmo_sharding, cut) == 2 &&
               offsetof(tmo_sharding, accumulator) == 4 && offsetof(tmo_sharding, scratch) == 4, "tmo_sharding");
_Static_assert(sizeof(tmo_cores) == 20 && offsetof(tmo_cores, shardings) == 0 && offsetof(tmo_cores, barriers) == 4 &&
               offsetof(tmo_cores, n_barriers) == 8 && offsetof(tmo_cores, serial) == 12 && offsetof(tmo_cores, counters) == 16, "tmo_cores");
