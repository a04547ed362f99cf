/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/floats.h"

/* Kernels from descriptions (docs/kernel-language.md), for any core. Written by scripts/kernels.py. */
#include <stddef.h>

#include "tmo/build.h"
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_equal_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r2 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]);
      int32_t r3 = (r1 == r2);
      y[(int32_t)(c + channels * p)] = (int8_t)r3;
    }
  }
}

void tmo_not_equal_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r2 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]);
      int32_t r3 = (r1 == r2), r4 = (int32_t)((uint32_t)1 - (uint32_t)r3);
      y[(int32_t)(c + channels * p)] = (int8_t)r4;
    }
  }
}

void tmo_less_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r2 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]);
      int32_t r3 = (r1 < r2);
      y[(int32_t)(c + channels * p)] = (int8_t)r3;
    }
  }
}

void tmo_less_equal_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r2 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]);
      int32_t r3 = (r1 <= r2);
      y[(int32_t)(c + channels * p)] = (int8_t)r3;
    }
  }
}

void tmo_equal_s32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = tmo_int32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
              r2 = tmo_int32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r3 = (r1 == r2);
      y[(int32_t)(c + channels * p)] = (int8_t)r3;
    }
  }
}

void tmo_not_equal_s32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = tmo_int32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
              r2 = tmo_int32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r3 = (r1 == r2),
              r4 = (int32_t)((uint32_t)1 - (uint32_t)r3);
      y[(int32_t)(c + channels * p)] = (int8_t)r4;
    }
  }
}

void tmo_less_s32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = tmo_int32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
              r2 = tmo_int32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r3 = (r1 < r2);
      y[(int32_t)(c + channels * p)] = (int8_t)r3;
    }
  }
}

void tmo_less_equal_s32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      int32_t r1 = tmo_int32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
              r2 = tmo_int32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r3 = (r1 <= r2);
      y[(int32_t)(c + channels * p)] = (int8_t)r3;
    }
  }
}
