/* This file replaces the assembly of tmo_dsp_sums.S and tmo_dsp_wide.S on a host, so that tests can run the C code that
 * calls the assembly. */
#include <string.h>

#include "tmo/dsp.h"
#include "tmo/packed.h"

void tmo_dsp_sums(const tmo_runs *r, const int8_t *weights, uint32_t channels, uint32_t *totals) { tmo_conv_sums(r, weights, channels, totals); }

static void multiply(int32_t *sum, const int8_t *x, int32_t zero, const int8_t *w) { *sum = tmo_wrapping_add(*sum, (*x - zero) * *w); }

static void write_four(tmo_dsp_job *job, const int32_t *sums) {
  for (uint32_t c = 0; c < 4; ++c) {
    *job->out++ = (int8_t)tmo_saturated_byte(tmo_wrapping_add(tmo_rescale(sums[c], job->multipliers[c], job->shifts[c]), (job->rounding - 1) / 2));
  }
  job->multipliers += job->each ? 4 : 0;
  job->shifts += job->each ? 4 : 0;
  job->bias += 4;
  --job->groups;
}

static void write_few(const tmo_dsp_job *job, const int32_t *sums) {
  for (uint32_t c = 0; c < job->groups; ++c) {
    job->out[c] = (int8_t)tmo_saturated_byte(tmo_wrapping_add(tmo_rescale(sums[c], job->multipliers[c], job->shifts[c]), (job->rounding - 1) / 2));
  }
}

void tmo_dsp_few(const tmo_dsp_job *job, const tmo_runs *r) {
  int32_t sums[3];
  memcpy(sums, job->bias, job->groups * sizeof *sums);
  tmo_conv_sums(r, job->weights, job->groups, (uint32_t *)sums);
  write_few(job, sums);
}

void tmo_dsp_few_taps(const tmo_dsp_window_job *job) {
  const int8_t *w = job->job.weights;
  int32_t sums[3];
  memcpy(sums, job->job.bias, job->job.groups * sizeof *sums);
  for (uint32_t row = 0; row < job->rows; ++row, w += job->skipped) {
    for (uint32_t column = 0; column < job->columns; ++column, w += job->job.filter) {
      for (uint32_t c = 0; c < job->job.groups; ++c) multiply(&sums[c], job->taps[row] + (int32_t)(column * job->apart + job->offset + c), job->job.zero_in, w + c);
    }
  }
  write_few(&job->job, sums);
}

void tmo_dsp_outputs(tmo_dsp_job *job) {
  for (const int8_t *w = job->weights; job->groups > 0; w += 4 * job->filter) {
    int32_t sums[4];
    memcpy(sums, job->bias, sizeof sums);
    for (uint32_t i = 0; i < 4 * job->bytes; ++i) {
      multiply(&sums[i % 4], job->x + i / 4, job->zero_in, w + i % 4 * job->filter + i / 4);
    }
    write_four(job, sums);
  }
}

static void window_outputs(tmo_dsp_window_job *job, uint32_t channels) {
  for (; job->job.groups > 0; job->offset += channels == 4 ? 4 : 0, job->job.weights += 4) {
    const int8_t *w = job->job.weights;
    int32_t sums[4];
    memcpy(sums, job->job.bias, sizeof sums);
    for (uint32_t row = 0; row < job->rows; ++row, w += job->skipped) {
      for (uint32_t column = 0; column < job->columns; ++column, w += job->job.filter) {
        const int8_t *const tap = job->apart != 0 ? job->taps[row] + (int32_t)(column * job->apart) : job->taps[row * job->columns + column];
        for (uint32_t c = 0; c < 4; ++c) multiply(&sums[c], tap + job->offset + c % channels, job->job.zero_in, w + c);
      }
    }
    write_four(&job->job, sums);
  }
}

void tmo_dsp_window_outputs(tmo_dsp_window_job *job) { window_outputs(job, 4); }

void tmo_dsp_repeated_outputs(tmo_dsp_window_job *job) { window_outputs(job, 1); }

static int32_t add_four(int32_t sum, const int32_t *x, const int8_t *w) {
  return tmo_add_two(tmo_add_two(sum, tmo_even_bytes(0, tmo_word(w)), x[0]), tmo_odd_bytes(0, tmo_word(w)), x[1]);
}

/* Adds the products of all rows of one pixel to the sum of a channel. */
static int32_t add_rows(const tmo_wide_job *job, int32_t sum, const int8_t *w) {
  for (uint32_t r = 0; r < job->count; ++r, w += job->skip) {
    const int8_t *x = job->rows[r] + job->offset;
    for (uint32_t n = (job->fours + job->singles) / 2; n > 0; --n, x += 2, ++w) {
      int16_t value;
      memcpy(&value, x, sizeof value);
      sum = tmo_wrapping_add(sum, value * *w);
    }
  }
  return sum;
}

void tmo_dsp_wide_one(tmo_wide_job *job) {
  for (; job->channels > 0; job->channels -= 4, job->weights += 4 * job->filter) {
    if (job->first) memset(job->sums, 0, 4 * sizeof *job->sums);
    for (int32_t c = 0; c < 4; ++c) job->sums[c] = add_rows(job, job->sums[c], job->weights + (c < job->channels ? (uint32_t)c * job->filter : 0));
    if (job->last) job->rest(job, 1);
  }
}

void tmo_dsp_wide_two(tmo_wide_job *job) {
  for (; job->channels > 0; job->channels -= 2, job->weights += 2 * job->filter) {
    memset(job->sums, 0, 4 * sizeof *job->sums);
    const int8_t *w = job->weights;
    for (const int32_t *x = job->x; x != job->end; x += 2, w += 4) {
      for (int32_t i = 0; i < 4; ++i) {
        job->sums[i] = add_four(job->sums[i], x + i / 2 * TMO_WIDE_VALUES / 2, w + (i % 2 < job->channels ? (uint32_t)i % 2 * job->filter : 0));
      }
    }
    job->rest(job, 2);
  }
}

/* Returns false if a bias does not fit a byte, so that tests also run the C code for 64-bit sums. */
bool tmo_dsp_wide_taps(tmo_wide_taps *job) {
  for (int32_t c = 0; c < job->channels; ++c) {
    const int8_t *w = job->weights + c;
    int64_t sum;
    memcpy(&sum, job->bias + (job->biased ? 2 * c : 0), sizeof sum);
    if (sum != (int8_t)sum) return false;
    for (uint32_t row = 0; row < job->count; ++row, w += job->skipped) {
      for (uint32_t column = 0; column < job->columns; ++column, w += job->tap) {
        int16_t value;
        memcpy(&value, job->rows[row] + (int32_t)(job->offset + column * job->apart) + 2 * c, sizeof value);
        sum += value * *w;
      }
    }
    const int32_t scale = job->scaled ? c : 0, scaled = tmo_rescale_wide(sum, job->multipliers[scale], job->shifts[scale]);
    const int16_t limited = (int16_t)(scaled < job->low ? job->low : scaled > job->high ? job->high : scaled);
    memcpy(job->out + 2 * c, &limited, sizeof limited);
  }
  return true;
}
