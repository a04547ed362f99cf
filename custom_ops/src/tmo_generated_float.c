/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/floats.h"

/* Kernels from descriptions (docs/kernel-language.md), for any core. Written by scripts/kernels.py. */
#include <stddef.h>

#include "tmo/build.h"
#include "tmo/elements.h"
#include "tmo/kernels.h"

void tmo_add_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 4;
  const int32_t low = tmo_float_low(k->op), high = tmo_float_high(k->op), x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4),
                x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  float r1 = tmo_as_float((int32_t)(low)), r2 = tmo_as_float((int32_t)(high));
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r3 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r4 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r5 = (r3 + r4), r6 = (r5 < r1 ? r1 : r5),
            r7 = (r2 < r6 ? r2 : r6);
      tmo_put_float32(&y[(int32_t)(4 * (c + channels * p))], r7);
    }
  }
}

void tmo_subtract_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 4;
  const int32_t low = tmo_float_low(k->op), high = tmo_float_high(k->op), x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4),
                x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  float r1 = tmo_as_float((int32_t)(low)), r2 = tmo_as_float((int32_t)(high));
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r3 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r4 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r5 = (r3 - r4), r6 = (r5 < r1 ? r1 : r5),
            r7 = (r2 < r6 ? r2 : r6);
      tmo_put_float32(&y[(int32_t)(4 * (c + channels * p))], r7);
    }
  }
}

void tmo_multiply_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 4;
  const int32_t low = tmo_float_low(k->op), high = tmo_float_high(k->op), x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4),
                x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  float r1 = tmo_as_float((int32_t)(low)), r2 = tmo_as_float((int32_t)(high));
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r3 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r4 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r5 = (r3 * r4), r6 = (r5 < r1 ? r1 : r5),
            r7 = (r2 < r6 ? r2 : r6);
      tmo_put_float32(&y[(int32_t)(4 * (c + channels * p))], r7);
    }
  }
}

void tmo_maximum_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 4;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r2 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r3 = (r2 < r1 ? r1 : r2);
      tmo_put_float32(&y[(int32_t)(4 * (c + channels * p))], r3);
    }
  }
}

void tmo_minimum_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 4;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r2 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r3 = (r1 < r2 ? r1 : r2);
      tmo_put_float32(&y[(int32_t)(4 * (c + channels * p))], r3);
    }
  }
}

void tmo_square_difference_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 4;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r2 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r3 = (r1 - r2), r4 = (r3 * r3);
      tmo_put_float32(&y[(int32_t)(4 * (c + channels * p))], r4);
    }
  }
}

void tmo_prelu_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 4;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r2 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r3 = (r1 * r2), r4 = tmo_as_float(0);
      int32_t r5 = (r4 <= r1);
      float r6 = (r5 ? r1 : r3);
      tmo_put_float32(&y[(int32_t)(4 * (c + channels * p))], r6);
    }
  }
}

void tmo_leaky_relu_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 4;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r2 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r3 = (r1 * r2), r4 = tmo_as_float(0);
      int32_t r5 = (r4 < r1);
      float r6 = (r5 ? r1 : r3);
      tmo_put_float32(&y[(int32_t)(4 * (c + channels * p))], r6);
    }
  }
}

void tmo_divide_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 4;
  const int32_t low = tmo_float_low(k->op), high = tmo_float_high(k->op), x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4),
                x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  float r1 = tmo_as_float((int32_t)(low)), r2 = tmo_as_float((int32_t)(high));
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r3 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r4 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r5 = (r3 / r4), r6 = (r5 < r1 ? r1 : r5),
            r7 = (r2 < r6 ? r2 : r6);
      tmo_put_float32(&y[(int32_t)(4 * (c + channels * p))], r7);
    }
  }
}

void tmo_floor_divide_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 4;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r2 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r3 = tmo_floor_divide(r1, r2);
      tmo_put_float32(&y[(int32_t)(4 * (c + channels * p))], r3);
    }
  }
}

void tmo_floor_modulo_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *const x = window->pixels[tmo_first_operand(k)];
  const int8_t *const other = window->pixels[1 - tmo_first_operand(k)];
  int8_t *const y = out;
  const uint32_t pixels = k->out_width, channels = k->out_channels / 4;
  const int32_t x_pixel = (int32_t)(k->pixel_step[tmo_first_operand(k)] / 4), x_channel = (int32_t)k->channel_step[tmo_first_operand(k)],
                other_pixel = (int32_t)(k->pixel_step[1 - tmo_first_operand(k)] / 4),
                other_channel = (int32_t)k->channel_step[1 - tmo_first_operand(k)];
  for (uint32_t p = 0; p < pixels; ++p) {
    for (uint32_t c = 0; c < channels; ++c) {
      float r1 = tmo_float32_at(&x[(int32_t)(4 * (c * x_channel + p * x_pixel))]),
            r2 = tmo_float32_at(&other[(int32_t)(4 * (c * other_channel + other_pixel * p))]), r3 = tmo_floor_modulo(r1, r2);
      tmo_put_float32(&y[(int32_t)(4 * (c + channels * p))], r3);
    }
  }
}
