/* Reads groups of three numbers: a value, a multiplier and a shift. For each group, the program writes the results of
 * tmo_high_mul() and tmo_rescale(). */
#include <stdio.h>

#include "tmo/fixed.h"

#if (defined(EXPECT_NARROW) && TMO_WIDE_MULTIPLY) || (defined(EXPECT_MIXED) && !TMO_MIXED_MULTIPLY) || \
    (defined(EXPECT_WIDE) && (TMO_MIXED_MULTIPLY || !TMO_WIDE_MULTIPLY))
#error "another multiplication than the one that is to be tested"
#endif

int main(void) {
  int32_t in[3], out[2];
  while (fread(in, sizeof in, 1, stdin) == 1) {
    out[0] = tmo_high_mul(in[0], in[1]);
    out[1] = tmo_rescale(in[0], in[1] & INT32_MAX, in[2]);
    if (fwrite(out, sizeof out, 1, stdout) != 1) return 1;
  }
  return 0;
}
