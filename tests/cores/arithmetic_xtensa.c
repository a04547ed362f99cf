/* What Debian's libgcc of the lx106 lacks: multiplication and division, which that core has not. Slow: for equal outputs, not for counting. */
#include <stdint.h>

uint64_t __umulsidi3(uint32_t a, uint32_t b);
int64_t __muldi3(int64_t a, int64_t b);
uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b);
uint32_t __udivsi3(uint32_t a, uint32_t b);
uint32_t __umodsi3(uint32_t a, uint32_t b);
int32_t __divsi3(int32_t a, int32_t b);

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
