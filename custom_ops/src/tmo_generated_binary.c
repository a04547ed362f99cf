/* SPDX-License-Identifier: Apache-2.0 */
/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_add_scalars_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  const int8_t *const other = window->pixels[1];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)k->pixel_step[0], x_channel = (int32_t)k->channel_step[0], other_pixel = (int32_t)k->pixel_step[1],
                other_channel = (int32_t)k->channel_step[1], left = k->op->left_shift, zero_x = k->op->input_zero_point[0],
                scale_x = k->multipliers[0], shift_x = k->shifts[0], zero_other = k->op->input_zero_point[1],
                scale_other = k->multipliers[1], shift_other = k->shifts[1], sign = tmo_is_kind(k->op, TMO_OP_SUB) ? -1 : 1,
                scale_out = k->multipliers[2], shift_out = k->shifts[2], zero_out = k->op->output_zero_point, low = k->op->act_min,
                high = k->op->act_max;
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = x[(int32_t)(c * x_channel + p * x_pixel)], r2 = other[(int32_t)(c * other_channel + other_pixel * p)],
              r3 = (int32_t)((uint32_t)r1 - (uint32_t)(int32_t)(zero_x)), r4 = (int32_t)((uint32_t)r3 << (int32_t)(left)),
              r5 = tmo_rescale(r4, (int32_t)(scale_x), (int32_t)(shift_x)), r6 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_other)),
              r7 = (int32_t)((uint32_t)r6 << (int32_t)(left)), r8 = tmo_rescale(r7, (int32_t)(scale_other), (int32_t)(shift_other)),
              r9 = (int32_t)((uint32_t)r8 * (uint32_t)(int32_t)(sign)), r10 = (int32_t)((uint32_t)r5 + (uint32_t)r9),
              r11 = tmo_rescale(r10, (int32_t)(scale_out), (int32_t)(shift_out)),
              r12 = (int32_t)((uint32_t)r11 + (uint32_t)(int32_t)(zero_out)), r13 = (r12 > (int32_t)(low) ? r12 : (int32_t)(low)),
              r14 = (r13 < (int32_t)(high) ? r13 : (int32_t)(high)), r15 = r14;
      y[(int32_t)(c + channels * p)] = (int8_t)r15;
    }
  }
}

void tmo_squared_difference_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  const int8_t *const other = window->pixels[1];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)k->pixel_step[0], x_channel = (int32_t)k->channel_step[0], other_pixel = (int32_t)k->pixel_step[1],
                other_channel = (int32_t)k->channel_step[1], left = k->op->left_shift, zero_x = k->op->input_zero_point[0],
                scale_x = k->multipliers[0], shift_x = k->shifts[0], zero_other = k->op->input_zero_point[1],
                scale_other = k->multipliers[1], shift_other = k->shifts[1], scale_out = k->multipliers[2], shift_out = k->shifts[2],
                zero_out = k->op->output_zero_point, low = k->op->act_min, high = k->op->act_max;
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = x[(int32_t)(c * x_channel + p * x_pixel)], r2 = other[(int32_t)(c * other_channel + other_pixel * p)],
              r3 = (int32_t)((uint32_t)r1 - (uint32_t)(int32_t)(zero_x)), r4 = (int32_t)((uint32_t)r3 << (int32_t)(left)),
              r5 = tmo_rescale(r4, (int32_t)(scale_x), (int32_t)(shift_x)), r6 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_other)),
              r7 = (int32_t)((uint32_t)r6 << (int32_t)(left)), r8 = tmo_rescale(r7, (int32_t)(scale_other), (int32_t)(shift_other)),
              r9 = (int32_t)((uint32_t)r5 - (uint32_t)r8), r10 = (int32_t)((uint32_t)r9 * (uint32_t)r9),
              r11 = tmo_rescale(r10, (int32_t)(scale_out), (int32_t)(shift_out)),
              r12 = (int32_t)((uint32_t)r11 + (uint32_t)(int32_t)(zero_out)), r13 = (r12 > (int32_t)(low) ? r12 : (int32_t)(low)),
              r14 = (r13 < (int32_t)(high) ? r13 : (int32_t)(high)), r15 = r14;
      y[(int32_t)(c + channels * p)] = (int8_t)r15;
    }
  }
}

void tmo_mul_scalars_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  const int8_t *const other = window->pixels[1];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)k->pixel_step[0], x_channel = (int32_t)k->channel_step[0], other_pixel = (int32_t)k->pixel_step[1],
                other_channel = (int32_t)k->channel_step[1], zero_x = k->op->input_zero_point[0], zero_other = k->op->input_zero_point[1],
                scale_out = k->multipliers[0], shift_out = k->shifts[0], zero_out = k->op->output_zero_point, low = k->op->act_min,
                high = k->op->act_max;
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = x[(int32_t)(c * x_channel + p * x_pixel)], r2 = other[(int32_t)(c * other_channel + other_pixel * p)],
              r3 = (int32_t)((uint32_t)r1 - (uint32_t)(int32_t)(zero_x)), r4 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_other)),
              r5 = (int32_t)((uint32_t)r3 * (uint32_t)r4), r6 = tmo_rescale(r5, (int32_t)(scale_out), (int32_t)(shift_out)),
              r7 = (int32_t)((uint32_t)r6 + (uint32_t)(int32_t)(zero_out)), r8 = (r7 > (int32_t)(low) ? r7 : (int32_t)(low)),
              r9 = (r8 < (int32_t)(high) ? r8 : (int32_t)(high)), r10 = r9;
      y[(int32_t)(c + channels * p)] = (int8_t)r10;
    }
  }
}

void tmo_prelu_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  const int8_t *const other = window->pixels[1];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)k->pixel_step[0], x_channel = (int32_t)k->channel_step[0], other_pixel = (int32_t)k->pixel_step[1],
                other_channel = (int32_t)k->channel_step[1], zero_x = k->op->input_zero_point[0], zero_other = k->op->input_zero_point[1],
                scale_positive = k->multipliers[0], scale_negative = k->multipliers[1], shift_positive = k->shifts[0],
                shift_negative = k->shifts[1], zero_out = k->op->output_zero_point, low = k->op->act_min, high = k->op->act_max;
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = x[(int32_t)(c * x_channel + p * x_pixel)], r2 = other[(int32_t)(c * other_channel + other_pixel * p)],
              r3 = (int32_t)((uint32_t)r1 - (uint32_t)(int32_t)(zero_x)), r4 = (r3 < 0),
              r5 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_other)), r6 = (int32_t)((uint32_t)r3 * (uint32_t)r5),
              r7 = (r4 ? r6 : r3), r8 = (r4 ? (int32_t)(scale_negative) : (int32_t)(scale_positive)),
              r9 = (r4 ? (int32_t)(shift_negative) : (int32_t)(shift_positive)), r10 = tmo_rescale(r7, r8, r9),
              r11 = (int32_t)((uint32_t)r10 + (uint32_t)(int32_t)(zero_out)), r12 = (r11 > (int32_t)(low) ? r11 : (int32_t)(low)),
              r13 = (r12 < (int32_t)(high) ? r12 : (int32_t)(high)), r14 = r13;
      y[(int32_t)(c + channels * p)] = (int8_t)r14;
    }
  }
}

void tmo_compare_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  const int8_t *const other = window->pixels[1];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)k->pixel_step[0], x_channel = (int32_t)k->channel_step[0], other_pixel = (int32_t)k->pixel_step[1],
                other_channel = (int32_t)k->channel_step[1], left = 8, zero_x = k->op->input_zero_point[0], scale_x = k->multipliers[0],
                shift_x = k->shifts[0], zero_other = k->op->input_zero_point[1], scale_other = k->multipliers[1],
                shift_other = k->shifts[1], wanted = k->op->wanted;
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = x[(int32_t)(c * x_channel + p * x_pixel)], r2 = other[(int32_t)(c * other_channel + other_pixel * p)],
              r3 = (int32_t)((uint32_t)r1 - (uint32_t)(int32_t)(zero_x)), r4 = (int32_t)((uint32_t)r3 << (int32_t)(left)),
              r5 = tmo_rescale(r4, (int32_t)(scale_x), (int32_t)(shift_x)), r6 = (int32_t)((uint32_t)r2 - (uint32_t)(int32_t)(zero_other)),
              r7 = (int32_t)((uint32_t)r6 << (int32_t)(left)), r8 = tmo_rescale(r7, (int32_t)(scale_other), (int32_t)(shift_other)),
              r9 = (r8 < r5), r10 = (r5 < r8), r11 = (int32_t)((uint32_t)r9 - (uint32_t)r10), r12 = (int32_t)((uint32_t)r11 + (uint32_t)1),
              r13 = (int32_t)(wanted), r14 = (r13 >> r12), r15 = (r14 & 1);
      y[(int32_t)(c + channels * p)] = (int8_t)r15;
    }
  }
}

void tmo_add_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  const int8_t *const other = window->pixels[1];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 2;
  const int32_t x_pixel = (int32_t)(k->pixel_step[0] / 2), x_channel = (int32_t)k->channel_step[0],
                other_pixel = (int32_t)(k->pixel_step[1] / 2), other_channel = (int32_t)k->channel_step[1],
                low = (int16_t)(k->op->range_s16 & 0xFFFF), high = k->op->range_s16 >> 16, scale_x = k->multipliers[0],
                shift_x = k->shifts[0], scale_other = k->multipliers[1], shift_other = k->shifts[1],
                sign = tmo_is_kind(k->op, TMO_OP_SUB_S16) ? -1 : 1, scale_out = k->multipliers[2], shift_out = k->shifts[2];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = tmo_int16_at(&x[(int32_t)(2 * (c * x_channel + p * x_pixel))]),
              r2 = tmo_int16_at(&other[(int32_t)(2 * (c * other_channel + other_pixel * p))]), r3 = (int32_t)((uint32_t)r1 << 15),
              r4 = tmo_rescale(r3, (int32_t)(scale_x), (int32_t)(shift_x)), r5 = (int32_t)((uint32_t)r2 << 15),
              r6 = tmo_rescale(r5, (int32_t)(scale_other), (int32_t)(shift_other)),
              r7 = (int32_t)((uint32_t)r6 * (uint32_t)(int32_t)(sign)), r8 = (int32_t)((uint32_t)r4 + (uint32_t)r7),
              r9 = tmo_rescale(r8, (int32_t)(scale_out), (int32_t)(shift_out)), r10 = (r9 > (int32_t)(low) ? r9 : (int32_t)(low)),
              r11 = (r10 < (int32_t)(high) ? r10 : (int32_t)(high)), r12 = r11;
      tmo_put_int16(&y[(int32_t)(2 * (c + channels * p))], r12);
    }
  }
}

void tmo_mul_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[0];
  const int8_t *const other = window->pixels[1];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 2;
  const int32_t x_pixel = (int32_t)(k->pixel_step[0] / 2), x_channel = (int32_t)k->channel_step[0],
                other_pixel = (int32_t)(k->pixel_step[1] / 2), other_channel = (int32_t)k->channel_step[1], scale_out = k->multipliers[0],
                shift_out = k->shifts[0], low = (int16_t)(k->op->range_s16 & 0xFFFF), high = k->op->range_s16 >> 16;
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = tmo_int16_at(&x[(int32_t)(2 * (c * x_channel + p * x_pixel))]),
              r2 = tmo_int16_at(&other[(int32_t)(2 * (c * other_channel + other_pixel * p))]), r3 = (int32_t)((uint32_t)r1 - (uint32_t)0),
              r4 = (int32_t)((uint32_t)r2 - (uint32_t)0), r5 = (int32_t)((uint32_t)r3 * (uint32_t)r4),
              r6 = tmo_rescale(r5, (int32_t)(scale_out), (int32_t)(shift_out)), r7 = (int32_t)((uint32_t)r6 + (uint32_t)0),
              r8 = (r7 > (int32_t)(low) ? r7 : (int32_t)(low)), r9 = (r8 < (int32_t)(high) ? r8 : (int32_t)(high)), r10 = r9;
      tmo_put_int16(&y[(int32_t)(2 * (c + channels * p))], r10);
    }
  }
}
