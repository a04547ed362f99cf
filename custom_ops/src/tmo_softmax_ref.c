/* Softmax and its logarithm over the channels of each pixel, as in TFLM: kernels/internal/reference/softmax.h and log_softmax.h with
 * gemmlowp's fixed point functions.
 *
 * Qm.n below has m integer and n fractional bits beside the sign. Exponentials are Q0.31 and at most 1, their sum is Q12.19: with at most
 * 4095 channels (tmo_check) it cannot overflow, and the maximum's own exponential keeps it above zero, whatever the parameters are. */
#include "tmo/build.h"
#include "tmo/kernels.h"

#define ONE_Q31 INT32_MAX

/* e^a for a in [-1/4, 0), Q0.31: Taylor's series around -1/8. */
static int32_t exp_small(int32_t a) {
  const int32_t exp_minus_eighth = 1895147668;
  const int32_t third = 715827883;
  const int32_t x = a + ((int32_t)1 << 28);
  const int32_t x2 = tmo_high_mul(x, x);
  const int32_t x3 = tmo_high_mul(x2, x);
  const int32_t x4 = tmo_high_mul(x2, x2);
  const int32_t cubic = tmo_high_mul(tmo_round_shift(x4, 2) + x3, third) + x2;
  return exp_minus_eighth + tmo_high_mul(exp_minus_eighth, x + tmo_round_shift(cubic, 1));
}

/* e^a for a <= 0, Q5.26 in, Q0.31 out: the part below 1/4 by the series, the rest by one factor for each bit. */
static int32_t exp_negative(int32_t a) {
  static const int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242}; /* e^(-1/4), e^(-1/2), .. e^-16 */
  if (a == 0) return ONE_Q31;
  const int32_t quarter = (int32_t)1 << 24;
  const int32_t fraction = (a & (quarter - 1)) - quarter;
  const uint32_t rest = (uint32_t)fraction - (uint32_t)a;
  int32_t result = exp_small(fraction * 32);
  for (uint32_t bit = 0; bit < sizeof factors / sizeof factors[0]; ++bit) {
    if (rest & ((uint32_t)quarter << bit)) result = tmo_high_mul(result, factors[bit]);
  }
  return result;
}

/* 1 / (1 + a) for a in [0, 1), Q0.31: three steps of Newton and Raphson on Q2.29. */
static int32_t reciprocal_of_one_plus(int32_t a) {
  const int32_t one = (int32_t)1 << 29;
  const int32_t half = (int32_t)(((int64_t)a + ONE_Q31 + 1) / 2);
  int32_t x = 1515870810 + tmo_high_mul(half, -1010580540); /* 48/17 - 32/17 * half */
  for (int step = 0; step < 3; ++step) {
    const int32_t error = one - tmo_high_mul(half, x);
    x = tmo_wrapping_add(x, tmo_shift_saturated(tmo_high_mul(x, error), 2));
  }
  return tmo_shift_saturated(x, 1);
}

/* exp(x - max), Q0.31; 0 when it is too small to count. */
static int32_t exp_of(const tmo_kernel *k, int8_t x, int8_t max) {
  const int32_t diff = x - max;
  return diff < k->op->param ? 0 : exp_negative(tmo_rescale(diff, k->multipliers[0], k->shifts[0]));
}

static int8_t max_of(const tmo_kernel *k, const int8_t *x) {
  int8_t max = INT8_MIN;
  for (uint32_t c = 0; c < k->out_channels; ++c) max = x[c] > max ? x[c] : max;
  return max;
}

/* Of the exponentials, Q12.19. */
static uint32_t sum_of(const tmo_kernel *k, const int8_t *x, int8_t max) {
  uint32_t sum = 0;
  for (uint32_t c = 0; c < k->out_channels; ++c) sum += (uint32_t)tmo_round_shift(exp_of(k, x[c], max), 12);
  return sum;
}

static void softmax_pixel(const tmo_kernel *k, const int8_t *x, int8_t *out) {
  const int8_t max = max_of(k, x);
  uint32_t sum = sum_of(k, x, max);

  uint32_t headroom = 0;
  for (; sum < (uint32_t)1 << 31; sum <<= 1) ++headroom;
  const int32_t scale = reciprocal_of_one_plus((int32_t)(sum - ((uint32_t)1 << 31)));
  /* 12 - headroom bits above 1, and 23 from Q0.31 to 1/256. TFLM aborts when that is more than 31 (more than 511 equal maxima). */
  const uint32_t exponent = headroom < 4 ? 31 : 35 - headroom;

  for (uint32_t c = 0; c < k->out_channels; ++c) {
    const int32_t share = tmo_round_shift(tmo_high_mul(scale, exp_of(k, x[c], max)), exponent);
    out[c] = tmo_clamp(share + INT8_MIN, INT8_MIN, INT8_MAX);
  }
}

void tmo_softmax_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  for (uint32_t x = 0; x < k->out_width; ++x) {
    softmax_pixel(k, window->pixels[0] + x * k->out_channels, out + x * k->out_channels);
  }
}

/* ln(a) for a >= 1, Q12.19 in, Q5.26 out. a is r * 2^n, r within a factor of 2^(1/4) of 2^(-1/4), which is where a quotient of polynomials
 * is near the logarithm. TFLM: log_x_for_x_greater_than_or_equal_to_1, kernels/internal/common.h. */
static int32_t log_of(uint32_t sum) {
  const int32_t ln_2 = 1488522236, sqrt_half = 1518500250, middle = 1805811301; /* Q0.31; the last one: 2^(-1/4) */
  const int32_t quarter = (int32_t)1 << 23, one = (int32_t)1 << 25;             /* Q6.25 */

  const int32_t a = sum > INT32_MAX ? INT32_MAX : (int32_t)sum; /* a damaged program's may be anything */

  /* With and without half a power of two more. */
  const uint32_t up = (uint32_t)tmo_zeros_above((uint32_t)a) - 1, up_half = (uint32_t)tmo_zeros_above((uint32_t)tmo_high_mul(a, sqrt_half)) - 1;
  const int32_t whole = tmo_shift_saturated(tmo_high_mul(tmo_shift_saturated(a, up), sqrt_half), 1);
  const int32_t half = tmo_shift_saturated(a, up_half);
  const int32_t r = whole < half ? whole : half;
  const int32_t power_whole = (11 - (int32_t)up) * one + quarter, power_half = (12 - (int32_t)up_half) * one - quarter;
  const int32_t power = power_whole > power_half ? power_whole : power_half;

  const int32_t p = (int32_t)(((uint32_t)r + (uint32_t)middle + 1) >> 1), q = (int32_t)(((uint32_t)r - (uint32_t)middle) * 2), q2 = tmo_high_mul(q, q);
  const int32_t numerator = tmo_wrapping_add(tmo_high_mul(q, r), tmo_high_mul(tmo_high_mul(q, q2), 117049297));
  const int32_t inner = tmo_wrapping_add(tmo_wrapping_add(1057819769, q), tmo_high_mul(127690142, q2));
  const int32_t denominator = tmo_wrapping_add(tmo_high_mul(p, inner), tmo_high_mul(638450708, q));
  const int32_t fraction = tmo_high_mul(tmo_round_shift(numerator, 6), reciprocal_of_one_plus(denominator));
  return tmo_shift_saturated(tmo_wrapping_add(tmo_high_mul(power, ln_2), fraction), 1);
}

static void log_softmax_pixel(const tmo_kernel *k, const int8_t *x, int8_t *out) {
  const int8_t max = max_of(k, x);
  const int32_t log_sum = log_of(sum_of(k, x, max));
  /* Differences above it have results that are an int32. */
  const int32_t least = tmo_rescale(tmo_wrapping_add(log_sum, INT32_MIN), k->multipliers[1], k->shifts[1]);
  for (uint32_t c = 0; c < k->out_channels; ++c) {
    const int32_t diff = x[c] - max;
    const int32_t scaled = tmo_rescale(diff, k->multipliers[0], k->shifts[0]);
    const int32_t value = tmo_round_shift((int32_t)((uint32_t)scaled - (uint32_t)log_sum), 22) + INT8_MAX;
    out[c] = diff > least && diff >= k->op->param ? tmo_clamp(value, INT8_MIN, INT8_MAX) : INT8_MIN;
  }
}

/* A build without it has the exponentials and their sum in SOFTMAX alone. */
void tmo_log_softmax_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  for (uint32_t x = 0; tmo_has_kind(TMO_OP_LOG_SOFTMAX) && x < k->out_width; ++x) {
    log_softmax_pixel(k, window->pixels[0] + x * k->out_channels, out + x * k->out_channels);
  }
}
