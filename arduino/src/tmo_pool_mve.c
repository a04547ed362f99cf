/* Sums of pooling for Helium. */
#include "tmo/packed.h"

#if TMO_CORE_MVE

#include <arm_mve.h>

void tmo_mve_add_pixels(int32_t *sums, const int8_t *pixels, uint32_t channels, uint32_t n) {
  for (int32_t left = (int32_t)channels; left > 0; left -= 4, sums += 4, pixels += 4) {
    const mve_pred16_t some = vctp32q((uint32_t)left);
    const int8_t *pixel = pixels;
    int32x4_t sum = vldrwq_z_s32(sums, some);
    if (left >= 4) { /* the predicate of each load takes two instructions */
      for (uint32_t i = n; i > 0; --i, pixel += channels) sum = vaddq_s32(sum, vldrbq_s32(pixel));
    } else {
      for (uint32_t i = n; i > 0; --i, pixel += channels) sum = vaddq_s32(sum, vldrbq_z_s32(pixel, some));
    }
    vstrwq_p_s32(sums, sum, some);
  }
}

#endif

typedef int tmo_pool_mve_is_not_empty; /* ISO C wants something in every file */
