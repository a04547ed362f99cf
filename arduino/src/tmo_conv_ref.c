/* Convolutions, and fully connected layers, on any core: four output channels of a pixel at once share each byte that is read. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-reassoc", "no-schedule-insns", "no-tree-vectorize", "no-tree-slp-vectorize") /* sums stay in registers */
#endif

#include "tmo/backend.h"
#include "tmo/kernels.h"

enum { CHANNELS = 4 }; /* at once */

/* Arm's loads move their pointers on: there the longer loop is hardly faster. */
#if defined(__OPTIMIZE_SIZE__) && defined(__arm__)
#define UNROLLED 0
#else
#define UNROLLED 1
#endif

/* The bytes under a window, or a part of it: runs of them, whose weights lie side by side. */
typedef struct {
  const int8_t *const *at; /* the first byte of a run, and, */
  uint32_t stride;         /* so many pointers further, of the next */
  uint32_t count;          /* of these runs */
  uint32_t offset;         /* bytes from each pointer */
  uint32_t bytes;          /* of a run */
  uint32_t step;           /* from byte to byte, modulo 2^32 */
  uint32_t weights;        /* bytes between the weights of a run and those of the next */
} runs;

/* The core: adds the products with the weights of four channels to their sums. The last of `channels` stands in for those that are missing. */
#if TMO_EIGHT_REGISTERS

static void add_runs(const runs *r, const int8_t *w, uint32_t filter, uint32_t channels, int32_t zero_point, uint32_t sums[CHANNELS]) {
  const int8_t *of[CHANNELS] = {w, w, w, w};
  for (uint32_t c = 1; c < CHANNELS; ++c) of[c] = of[c - 1] + (c < channels ? filter : 0);
  const int8_t *const *at = r->at;
  for (uint32_t left = r->bytes > 0 ? r->count : 0; left > 0; --left, at += r->stride) {
    tmo_thumb_four(*at + r->offset, of, r->bytes, zero_point, (int32_t)r->step, sums);
    for (uint32_t c = 0; left > 1 && c < CHANNELS; ++c) of[c] += r->bytes + r->weights;
  }
}

#else

TMO_OWN_FRAME static void add_runs(const runs *r, const int8_t *w, uint32_t filter, uint32_t channels, int32_t zero_point,
                                   uint32_t sums[CHANNELS]) {
  const int8_t *a = w, *b = a + (channels > 1 ? filter : 0), *c = b + (channels > 2 ? filter : 0), *d = c + (channels > 3 ? filter : 0);
  const int8_t *const *at = r->at;
  uint32_t sum_a = sums[0], sum_b = sums[1], sum_c = sums[2], sum_d = sums[3];
#define ADD(i)                               \
  {                                          \
    const int32_t value = x[i] - zero_point; \
    sum_a += (uint32_t)(a[i] * value);       \
    sum_b += (uint32_t)(b[i] * value);       \
    sum_c += (uint32_t)(c[i] * value);       \
    sum_d += (uint32_t)(d[i] * value);       \
  }
  for (uint32_t left = r->count; left > 0; --left, at += r->stride) {
    const int8_t *x = *at + r->offset;
    uint32_t n = r->bytes;
#if UNROLLED
    if (r->step == 1) {
      const int8_t *const quads = x + n / 4 * 4;
      for (; x != quads; x += 4, a += 4, b += 4, c += 4, d += 4) {
        ADD(0) ADD(1) ADD(2) ADD(3)
      }
      n %= 4;
    }
#endif
    for (; n > 0; --n, x += (int32_t)r->step, ++a, ++b, ++c, ++d) ADD(0)
    a += r->weights, b += r->weights, c += r->weights, d += r->weights;
  }
#undef ADD
  sums[0] = sum_a, sums[1] = sum_b, sums[2] = sum_c, sums[3] = sum_d;
}

#endif

/* The distance of neighbouring pixels in each row of a window of `columns`; 0 where it is not the same for all. */
static uint32_t distance_of(const int8_t *const *pixels, uint32_t count, uint32_t columns) {
  uint32_t distance = 0;
  for (uint32_t i = 1, c = 1; i < count; ++i, ++c) {
    if (c == columns) c = 0;
    const uint32_t d = (uint32_t)((uintptr_t)pixels[i] - (uintptr_t)pixels[i - 1]);
    if (c > 0 && distance != 0 && d != distance) return 0;
    if (c > 0) distance = d;
  }
  return distance;
}

/* What lies under a window, in as few runs as can be, or the first part of it. The bytes of a row are one run if they lie side by side, or at
 * equal distances and pixels have only one. */
static runs find_runs(const tmo_kernel *k, const tmo_window *v) {
  const tmo_op *op = k->op;
  const bool by_row = op->tile == 0;
  const uint32_t channels = k->in_channels, row = op->kernel_w * k->tap_step;
  const uint32_t distance = by_row ? op->dilation_w * channels : distance_of(v->pixels, v->count, v->columns);
  runs r = {v->pixels, 1, v->columns > 0 ? v->count : 0, v->offset, channels, 1, (by_row ? row : k->tap_step) - channels};
  if (k->tap_step == channels && (distance == channels || (channels == 1 && distance != 0))) {
    if (!by_row) {
      r.stride = v->columns;
      r.count /= v->columns;
    }
    r.bytes = v->columns * channels;
    r.step = channels == 1 ? distance : 1;
    r.weights = row - r.bytes;
  } else if (!by_row && r.count > 0 && v->columns < op->kernel_w) {
    r.count = v->columns; /* the weights of the next row are further away */
  }
  return r;
}

/* The sums of up to four channels over the parts of a window that come after its first: a column or a row further. */
TMO_OWN_FRAME static void add_others(const tmo_kernel *k, const tmo_window *v, const runs *first, const int8_t *w, uint32_t filter,
                                     uint32_t channels, uint32_t sums[CHANNELS]) {
  const tmo_op *op = k->op;
  const int32_t zero_point = op->input_zero_point[0];
  runs r = *first;
  if (op->tile == 0) {
    for (uint32_t bytes = r.bytes; bytes < v->columns * k->in_channels; bytes += r.bytes) {
      r.offset += op->dilation_w * k->in_channels;
      w += k->tap_step;
      add_runs(&r, w, filter, channels, zero_point, sums);
    }
  } else {
    for (uint32_t pixels = r.count * r.stride; pixels > 0 && pixels < v->count; pixels += r.count) {
      r.at += r.count;
      w += op->kernel_w * k->tap_step;
      add_runs(&r, w, filter, channels, zero_point, sums);
    }
  }
}

/* One output pixel; its channels are outputs i, i + 1, ..
 * TFLM: ConvPerChannel, kernels/internal/reference/integer_ops/conv.h. */
static void conv(const tmo_kernel *k, const tmo_window *v, uint32_t i, int8_t *out) {
#if TMO_HAS_BACKEND
  if (tmo_is_run(k, v)) {
    tmo_conv_backend(k, v->pixels[0] + v->offset, out + i);
    return;
  }
#endif
  const uint32_t filter = k->op->kernel_h * k->op->kernel_w * k->tap_step;
  const int8_t *w = k->weights + tmo_first_tap(k, v);
  const runs r = find_runs(k, v);
  const bool whole = k->op->tile == 0 ? r.bytes >= v->columns * k->in_channels : r.count * r.stride >= v->count;
  for (uint32_t oc = 0; oc < k->out_channels; oc += CHANNELS, w += CHANNELS * filter) {
    const uint32_t left = k->out_channels - oc, n = left < CHANNELS ? left : CHANNELS;
    uint32_t sums[CHANNELS];
    tmo_begin_sums(k, sums, n, oc, i + oc);
    add_runs(&r, w, filter, n, k->op->input_zero_point[0], sums);
    if (!whole) add_others(k, v, &r, w, filter, n, sums);
    tmo_end_sums(k, sums, n, oc, i + oc, out);
  }
}

void tmo_conv_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, conv); }

void tmo_conv_pixel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { conv(k, window, 0, out); }
