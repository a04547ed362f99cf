/* This file provides multiplication, division and float32, which Debian's libgcc lacks for the lx106. Programs that call this file's functions have
 * correct outputs, but take more instructions than on a chip. */
#include <stdint.h>
#include <string.h>

uint64_t __umulsidi3(uint32_t a, uint32_t b);
int64_t __muldi3(int64_t a, int64_t b);
uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b);
uint32_t __udivsi3(uint32_t a, uint32_t b);
uint32_t __umodsi3(uint32_t a, uint32_t b);
int32_t __divsi3(int32_t a, int32_t b);
float __floatsisf(int32_t x);
float __mulsf3(float a, float b);
float __subsf3(float a, float b);

int64_t __muldi3(int64_t a, int64_t b) {
  uint64_t left = (uint64_t)a, right = (uint64_t)b, product = 0;
  for (; right > 0; right >>= 1, left <<= 1) {
    if (right & 1) product += left;
  }
  return (int64_t)product;
}

uint64_t __umulsidi3(uint32_t a, uint32_t b) { return (uint64_t)__muldi3(a, b); }

static uint64_t divide(uint64_t a, uint64_t b, uint64_t *rest) {
  uint64_t quotient = 0;
  *rest = 0;
  for (int bit = 63; bit >= 0; --bit) {
    *rest = *rest << 1 | (a >> bit & 1);
    quotient <<= 1;
    if (*rest >= b) {
      *rest -= b;
      quotient |= 1;
    }
  }
  return quotient;
}

uint64_t __udivdi3(uint64_t a, uint64_t b) {
  uint64_t rest;
  return divide(a, b, &rest);
}

uint64_t __umoddi3(uint64_t a, uint64_t b) {
  uint64_t rest;
  divide(a, b, &rest);
  return rest;
}

uint32_t __udivsi3(uint32_t a, uint32_t b) { return (uint32_t)__udivdi3(a, b); }
uint32_t __umodsi3(uint32_t a, uint32_t b) { return (uint32_t)__umoddi3(a, b); }

int32_t __divsi3(int32_t a, int32_t b) {
  const uint32_t quotient = __udivsi3(a < 0 ? -(uint32_t)a : (uint32_t)a, b < 0 ? -(uint32_t)b : (uint32_t)b);
  return (int32_t)((a < 0) == (b < 0) ? quotient : -quotient);
}

/* A finite float32 number equals `value` times 2^`exponent`. No kernel computes with infinities or NaN. */
typedef struct {
  int64_t value;
  int exponent;
} number;

static number unpacked(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const int field = bits >> 23 & 0xff;
  const int64_t value = (bits & 0x7fffff) | (field ? 0x800000 : 0);
  return (number){bits >> 31 ? -value : value, field ? field - 150 : -149};
}

/* Rounds a number to the nearest float32 value. Of two equally near values, the even one is the result. */
static float packed(number x) {
  uint32_t bits = x.value < 0 ? 0x80000000u : 0;
  uint64_t value = x.value < 0 ? -(uint64_t)x.value : (uint64_t)x.value;
  int exponent = x.exponent;
  int sticky = 0, half = 0;
  while (value >= 1u << 24 || (value && exponent < -149)) {
    sticky |= half;
    half = value & 1;
    value >>= 1;
    ++exponent;
  }
  value += half && (sticky || value & 1);
  if (value == 1u << 24) {
    value >>= 1;
    ++exponent;
  }
  while (value && value < 1u << 23 && exponent > -149) {
    value <<= 1;
    --exponent;
  }
  if (value >= 1u << 23) bits |= exponent > 104 ? 0x7f800000u : (uint32_t)(exponent + 150) << 23 | ((uint32_t)value & 0x7fffff);
  else bits |= (uint32_t)value;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

float __floatsisf(int32_t x) { return packed((number){x, 0}); }

float __mulsf3(float a, float b) {
  const number x = unpacked(a), y = unpacked(b);
  return packed((number){__muldi3(x.value, y.value), x.exponent + y.exponent});
}

float __subsf3(float a, float b) {
  number x = unpacked(a), y = unpacked(b);
  if (x.value == 0) return packed((number){-y.value, y.exponent});
  if (y.value == 0) return a;
  number *const larger = x.exponent > y.exponent ? &x : &y;
  const int exponent = x.exponent < y.exponent ? x.exponent : y.exponent;
  larger->value *= (int64_t)1 << (larger->exponent - exponent);
  return packed((number){x.value - y.value, exponent});
}
