/* Sums of pooling for Helium. */
#include "tmo/packed.h"

#if TMO_CORE_MVE

#include <arm_mve.h>

void tmo_mve_add_pixels(int32_t *sums, const int8_t *pixels, uint32_t channels, uint32_t n) {
  int32_t left = (int32_t)channels;
  for (; left >= 16; left -= 16, sums += 16, pixels += 16) {
    const int8_t *pixel = pixels;
    int32x4_t a = vldrwq_s32(sums), b = vldrwq_s32(sums + 4), c = vldrwq_s32(sums + 8), d = vldrwq_s32(sums + 12);
    for (uint32_t i = n; i > 0; --i, pixel += channels) {
      a = vaddq_s32(a, vldrbq_s32(pixel));
      b = vaddq_s32(b, vldrbq_s32(pixel + 4));
      c = vaddq_s32(c, vldrbq_s32(pixel + 8));
      d = vaddq_s32(d, vldrbq_s32(pixel + 12));
    }
    vstrwq_s32(sums, a);
    vstrwq_s32(sums + 4, b);
    vstrwq_s32(sums + 8, c);
    vstrwq_s32(sums + 12, d);
  }
  for (; left > 0; left -= 4, sums += 4, pixels += 4) {
    const mve_pred16_t some = vctp32q((uint32_t)left);
    const int8_t *pixel = pixels;
    int32x4_t sum = vldrwq_z_s32(sums, some);
    for (uint32_t i = n; i > 0; --i, pixel += channels) sum = vaddq_s32(sum, vldrbq_z_s32(pixel, some));
    vstrwq_p_s32(sums, sum, some);
  }
}

#endif

typedef int tmo_pool_mve_is_not_empty; /* ISO C wants something in every file */
